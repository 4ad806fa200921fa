"""Turns that are killed, left or cancelled: their history stays legal, no call runs twice, and each has a result.

The program ends at every save of the state and at every event between: the turn resumes in a new one from the last
saved JSON.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant
from toolparity.turns import events as turn_events
from toolparity.turns.errors import InvalidState, TurnMisused
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import replay
from toolparity.turns.testing import FaultyTools, Hang
from toolparity.turns.turn import Turn

from . import playing
from .playing import LONG, WIRES, Counting, Emulated, RecordingObserver, Say, at_once, call, script


class Killed(BaseException):
    """Raised in place of killing the program."""


class Dies(RecordingObserver):
    """Raises at the n-th notification, or at an event of this kind; keeps the earlier ones."""

    def __init__(self, at: int, block: str | None = None) -> None:
        super().__init__()
        self.at, self.block = at, block

    def _live(self, event: Any = None) -> None:
        at = isinstance(event, turn_events.TurnBlockStop) and event.block.block_type == self.block
        if at or len(self.events) + len(self.states) == self.at:
            raise Killed

    async def event(self, event: Any) -> None:
        self._live(event)
        await super().event(event)

    async def save(self, state: Any) -> None:
        self._live()
        await super().save(state)


def _whole(wire: str, policy: str) -> tuple[Turn, RecordingObserver]:
    recorder = RecordingObserver()
    turn = playing.finished(
        Turn(Emulated(wire, LONG), Counting().tools(), observers=[recorder], policy=policy, id="turn-1")
    )
    return turn, recorder


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("policy", ["all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_killed_at_any_point_resumes_and_runs_no_call_twice(wire: str, policy: str) -> None:
    whole, log = _whole(wire, policy)
    points = len(log.events) + len(log.states)
    resumptions = unknown = 0
    every = 1 if (wire, policy) == ("anthropic.messages", "all") else 3
    for at in range(0, points, every):
        counting, killer, provider = Counting(), Dies(at), Emulated(wire, LONG)
        turn = Turn(provider, counting.tools(), observers=[killer], policy=policy, id="turn-1")
        with pytest.raises(Killed):
            at_once(turn.run("Go."))
        if not killer.states:
            assert counting.ran == []  # no state was saved, so no call may have run
            continue
        resumptions += 1
        after = RecordingObserver()
        resumed = Turn(provider, counting.tools(), observers=[after], state=states.load(killer.states[-1]))
        outcome = at_once(resumed.run())
        assert outcome.termination == "natural_completion", (at, outcome)
        assert outcome.text == "All done."
        assert len(counting.ran) == len({str(call_made) for call_made in counting.ran}), at  # no call is run twice
        for round in outcome.state.rounds[:2]:
            assert len(round.tool_results) == 2
            for call_state in round.calls:
                unknown += call_state.outcome == "unknown_outcome"
                assert call_state.outcome in ("returned", "unknown_outcome")
        playing.assert_legal(resumed)
        block_rows = playing.rows([*killer.events, *after.events])
        assert [row[:2] for row in block_rows] == [row[:2] for row in playing.rows(log.events)], at
    assert resumptions > points // every // 2
    assert unknown > 0  # some were started without a recorded result
    assert whole.outcome.termination == "natural_completion"


def test_a_repeated_round_reports_its_attempt_and_reuses_its_block_numbers() -> None:
    killer = Dies(-1, "tool_use")
    provider = Emulated("anthropic.messages", LONG)
    with pytest.raises(Killed):
        at_once(Turn(provider, Counting().tools(), observers=[killer]).run("Go."))
    kept = states.load(killer.states[-1])
    assert kept.phase == "asking"
    events = at_once(playing.play(Turn(provider, Counting().tools(), state=kept), None))
    first = playing.only(events, turn_events.RoundStarted)[0]
    assert (first.round, first.attempt, first.first_block) == (1, 2, 0)
    assert [row[0] for row in playing.rows(events)] == list(range(10))


def test_a_turn_can_resume_with_another_provider_and_resuming_a_finished_turn_changes_nothing() -> None:
    _, log = _whole("openai.chat", "all")
    asking = next(s for s in map(states.load, log.states) if s.phase == "asking" and len(s.rounds) == 2)
    second = Emulated("anthropic.messages", LONG)
    turn = playing.finished(Turn(second, Counting().tools(), state=asking), None)
    assert (turn.outcome.termination, len(second.bodies)) == ("natural_completion", 2)
    playing.assert_legal(turn)
    resumed = Turn(second, Counting().tools(), state=states.load(states.dump(turn.state)))
    assert (at_once(playing.play(resumed, None)), len(second.bodies)) == ([], 2)
    assert resumed.outcome.text == turn.outcome.text


# JSON


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}", "not a turn state"),
        (b"[]", "version of a turn state: None"),
        (b"{", "not JSON"),
        (b'{"version": 99}', "version of a turn state: 99"),
        (b'{"version": 1, "id": 3}', "not a turn state"),
    ],
)
def test_an_invalid_state_is_rejected_with_the_reason(text: bytes, message: str) -> None:
    with pytest.raises(InvalidState, match=message):
        states.load(text)


#: Written by commit 347ef11: a turn that waits for a decision, the same turn when it was over, and its recording.
FOLDER = Path(__file__).parent / "states"
WAITING, OVER = (FOLDER / f"v2_{name}.json" for name in ("waiting", "over"))
RECORDING = FOLDER / "v1_recording.jsonl"


@pytest.mark.parametrize("path", [WAITING, OVER])
@pytest.mark.parametrize("version", [1, 2])
def test_a_state_of_an_earlier_version_can_be_loaded_and_dumped(path: Path, version: int) -> None:
    """Version 1 had the same members, without the handed-over calls of version 2."""
    text = path.read_bytes().replace(b'"version":2', b'"version":%d' % version)
    state = states.load(text)
    assert state.version == states.VERSION
    assert len(state.history()) >= 3
    assert [call.outcome for call in state.rounds[0].calls] == ["returned", "returned"]
    assert all(call.submitted for call in state.rounds[0].calls)
    assert states.dump(state, version) == text
    assert states.load(states.dump(state)) == state
    members = json_codec.text([json_codec.decode(states.dump(state))[name] for name in ("request", "rounds")])
    assert not any(f'"{name}":' in members for name in ("turns", "how", "given"))


def test_a_recording_of_an_earlier_version_is_replayed() -> None:
    """Its inputs have other types, and its digests were computed from states of the earlier version."""
    replayed = replay(RECORDING.read_bytes())
    assert replayed.difference is None
    assert replayed.state == states.load(OVER.read_bytes())
    lines = RECORDING.read_bytes().splitlines()
    last_line = json_codec.decode(lines[-1])
    difference = replay(b"\n".join([*lines[:-1], json_codec.encode({**last_line, "state": "0" * 64})])).difference
    assert difference is not None
    assert (difference.step, difference.path) == (len(lines) - 1, "state")


#: The wires whose streams send each call whole.
WHOLE_CALLS = ("google.gemini", "ollama.chat")
TWO = script([Say("Let me see."), call("look", at=1), call("count", of="ducks")], [Say("Two ducks, and a goose.")])


def count_events(wire: str) -> int:
    """The number of events of a whole turn."""
    return len(at_once(playing.play(Turn(Emulated(wire, TWO), Counting().tools()))))


@pytest.mark.thorough(keep=1, per="{how}")
@pytest.mark.parametrize("how", ["leaves", "cancels the task"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_interrupted_at_any_event_leaves_a_legal_history_and_no_running_task(wire: str, how: str) -> None:
    task: Any = None

    class Interrupting(RecordingObserver):
        async def event(self, event: Any) -> None:
            await super().event(event)
            if how == "cancels the task" and len(self.events) == at + 1:
                task.cancel()

    async def consume() -> None:
        delivered = 0
        async with aclosing(turn.stream("Go.")) as stream:  # type: ignore[type-var]
            async for _ in stream:
                delivered += 1
                if how == "leaves" and delivered > at:
                    break

    async def run() -> None:
        nonlocal task
        task = asyncio.create_task(consume())
        await asyncio.wait([task])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    for at in range(0, count_events(wire) - 1, 1 if how == "leaves" else 3):
        log, provider = Interrupting(), Emulated(wire, TWO)
        turn = Turn(provider, Counting().tools(), observers=[log])
        at_once(run())
        termination = turn.outcome.termination
        assert termination in ("cancelled", "natural_completion"), at
        assert task.cancelled() or how == "leaves" or termination == "natural_completion"
        assert provider.closed == len(provider.bodies), at
        assert states.load(log.states[-1]).termination == termination  # it was also stored
        playing.assert_legal(turn)
        for round in turn.state.rounds:
            assert not round.calls or len(round.tool_results) == 2


def test_a_returned_result_is_kept_if_the_consumer_leaves_before_its_event() -> None:
    """A call that returned has certainly taken effect."""
    counting = Counting()
    turn = Turn(Emulated("openai.chat", TWO), counting.tools())

    async def when(event: Any) -> bool:
        for _ in range(20):
            await asyncio.sleep(0)  # the call returns meanwhile
        return isinstance(event, turn_events.CallStarted)

    playing.interrupted(turn, "aclose", when)
    assert turn.outcome.termination == "cancelled"
    assert counting.names == ["look"]
    assert [c.outcome for c in turn.state.rounds[0].calls] == ["returned", "skipped"]
    playing.assert_legal(turn)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("how", ["aclose", "cancel"])
@pytest.mark.parametrize("wire", ["openai.chat", "xai.grpc"])
def test_a_complete_answer_is_kept_if_the_turn_is_cancelled_before_its_end_is_read(wire: str, how: str) -> None:
    """On these wires the last block stops at the end of the answer. A call then does not start; the last answer ends
    the turn.
    """
    played = script([Say("Let me see."), call("look", at=1)], [Say("It is there.")])
    texts: list[str] = []
    for at in range(count_events(wire)):
        log = RecordingObserver()
        seen: list[Any] = []
        turn = Turn(Emulated(wire, played), Counting().tools(), observers=[log])

        async def when(event: Any, seen: list[Any] = seen, at: int = at) -> bool:
            seen.append(event)
            for _ in range(50):  # pending chunks arrive
                await asyncio.sleep(0)
            return len(seen) == at + 1

        playing.interrupted(turn, how, when)
        round = turn.state.rounds[-1]
        playing.assert_legal(turn)
        stopped = isinstance(seen[min(at, len(seen) - 1)], turn_events.TurnBlockStop)
        if stopped and round.answer is not None and round.answer.complete:
            assert turn.state.termination == ("cancelled" if round.answer.calls else "natural_completion")
            assert isinstance(round.messages[0], Assistant)
            texts.append(round.answer.choices[0].text)
            kept = playing.rows(log.events)
            asked, answered = (
                [row[3]["tool_use_id"] for row in kept if row[1] == f"tool_{k}"] for k in ("use", "result")
            )
            assert asked == answered
            assert "not executed: the turn was cancelled" in str(kept[-1]) or not round.answer.calls
    assert texts == ["Let me see.", "It is there."]


def test_one_call_can_be_cancelled_while_the_turn_continues() -> None:
    turn = Turn(Emulated("openai.responses", TWO), FaultyTools(Counting().tools(), {"look": Hang()}))

    def react(event: Any) -> None:
        if isinstance(event, turn_events.CallFinished) and event.name == "count":
            turn.cancel(call_id=turn.state.rounds[0].calls[0].id)

    at_once(playing.play(turn, react=react))
    assert turn.outcome.text == "Two ducks, and a goose."
    assert turn.state.rounds[0].calls[0].outcome == "cancelled"
    with pytest.raises(TurnMisused, match="is not running here"):
        turn.cancel(call_id="call_1")


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in WHOLE_CALLS])
def test_CANC_02_shown_text_stays_in_the_history_and_an_incomplete_call_is_neither_kept_nor_run(wire: str) -> None:
    counting = Counting()
    turn = Turn(Emulated(wire, TWO), counting.tools())
    first_call = 2 if wire == "cohere.chat" else 1  # after the plan and the text

    def react(event: Any) -> None:
        if isinstance(event, turn_events.TurnBlockDelta) and event.sequence == first_call:
            turn.cancel()

    events = at_once(playing.play(turn, react=react))
    assert turn.outcome.termination == "cancelled"
    (answer,) = turn.state.history()[1:]
    assert isinstance(answer, Assistant)
    assert answer.response.text == "Let me see."
    assert (answer.response.calls, counting.ran) == ([], [])
    stops = playing.only(events, turn_events.TurnBlockStop)
    assert [stop.block.block_type for stop in stops if stop.cut][-1] == "tool_use"
    playing.assert_legal(turn)


def test_a_turn_cannot_run_twice_at_once_or_begin_twice() -> None:
    turn = Turn(Emulated("openai.chat", TWO), Counting().tools())

    async def run() -> None:
        async for _ in turn.stream("Go."):
            with pytest.raises(TurnMisused, match="is running"):
                await turn.run("Go.")

    at_once(run())
    with pytest.raises(TurnMisused, match="already begun"):
        at_once(turn.run("Go."))
    with pytest.raises(TurnMisused, match="has not begun"):
        at_once(Turn(Emulated("openai.chat", TWO)).run())
