"""Interruption: Ctrl-C, a disconnected client, a new message. The history stays legal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolparity.normalizer.conversation import Assistant
from toolparity.turns import events as turn_events
from toolparity.turns.errors import TurnMisused
from toolparity.turns.machine import state as states
from toolparity.turns.testing import FaultyTools, Hang
from toolparity.turns.turn import Turn

from . import playing
from .playing import WIRES, Counting, Emulated, RecordingObserver, Say, at_once, call, only, script

#: The wires whose streams send each call whole.
WHOLE_CALLS = ("google.gemini", "ollama.chat")
TWO = script([Say("Let me see."), call("look", at=1), call("count", of="ducks")], [Say("Two ducks, and a goose.")])


def count_events(wire: str) -> int:
    """The number of events of a whole turn."""
    return len(at_once(playing.play(Turn(Emulated(wire, TWO), Counting().tools()))))


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_a_consumer_that_leaves_at_any_event_leaves_a_legal_history_and_no_running_task(wire: str) -> None:
    for at in range(count_events(wire) - 1):
        log = RecordingObserver()
        provider = Emulated(wire, TWO)
        turn = Turn(provider, Counting().tools(), observers=[log])

        async def run(turn: Turn = turn, at: int = at) -> None:
            stream = turn.stream("Go.")
            number = 0
            async for _ in stream:
                if number == at:
                    break
                number += 1
            await stream.aclose()
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

        at_once(run())
        assert turn.outcome.termination in ("cancelled", "natural_completion"), at
        assert provider.closed == len(provider.bodies), at
        assert states.load(log.states[-1]).termination == turn.outcome.termination  # it was also stored
        playing.assert_legal(turn)
        for round in turn.state.rounds:
            assert not round.calls or len(round.tool_results) == 2


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_cancelling_the_task_at_any_event_ends_it_with_a_legal_history(wire: str) -> None:
    class Interrupts(RecordingObserver):
        task: asyncio.Task[Any]
        at = 0

        async def event(self, event: Any) -> None:
            await super().event(event)
            if len(self.events) == self.at + 1:
                self.task.cancel()

        async def run(self, turn: Turn) -> None:
            self.task = asyncio.create_task(turn.run("Go."))
            await asyncio.wait([self.task])

    for at in range(0, count_events(wire) - 1, 3):
        log = Interrupts()
        log.at = at
        turn = Turn(Emulated(wire, TWO), Counting().tools(), observers=[log])
        at_once(log.run(turn))
        assert turn.outcome.termination in ("cancelled", "natural_completion")
        assert log.task.cancelled() or turn.outcome.termination == "natural_completion"
        playing.assert_legal(turn)


def test_a_returned_result_is_kept_if_the_consumer_leaves_before_its_event() -> None:
    """A call that returned has certainly taken effect."""
    counting = Counting()
    turn = Turn(Emulated("openai.chat", TWO), counting.tools())

    async def run() -> None:
        stream = turn.stream("Go.")
        async for event in stream:
            if isinstance(event, turn_events.CallStarted):
                for _ in range(20):
                    await asyncio.sleep(0)  # the call returns meanwhile
                break
        await stream.aclose()

    at_once(run())
    assert turn.outcome.termination == "cancelled"
    assert counting.names == ["look"]
    assert [c.outcome for c in turn.state.rounds[0].calls] == ["returned", "skipped"]
    playing.assert_legal(turn)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("interrupted", [True, False])
@pytest.mark.parametrize("wire", ["openai.chat", "xai.grpc"])
def test_a_complete_answer_is_kept_if_the_turn_is_cancelled_before_its_end_is_read(
    wire: str, interrupted: bool
) -> None:
    """On these wires the last block stops at the end of the answer, and the turn is cancelled there."""
    played = script([Say("Let me see."), call("look", at=1)], [Say("It is there.")])
    texts: list[str] = []
    for at in range(count_events(wire)):
        log, counting = RecordingObserver(), Counting()
        turn = Turn(Emulated(wire, played), counting.tools(), observers=[log])

        async def run(turn: Turn = turn, at: int = at) -> Any:
            stream, seen = turn.stream("Go."), 0
            event: Any = None
            async for current in stream:
                event, seen = current, seen + 1
                if seen > at:
                    break
            for _ in range(50):  # pending chunks arrive
                await asyncio.sleep(0)
            if interrupted:
                await stream.aclose()
            elif turn.state.phase != "over":
                turn.cancel("enough")
            async for _ in stream:
                pass
            return event

        last, round = at_once(run()), turn.state.rounds[-1]
        playing.assert_legal(turn)
        if isinstance(last, turn_events.TurnBlockStop) and round.answer is not None and round.answer.complete:
            assert turn.state.termination == "cancelled"
            assert isinstance(round.messages[0], Assistant)
            texts.append(round.answer.choices[0].text)
            ids = [
                [row[3]["tool_use_id"] for row in playing.rows(log.events) if row[1] == kind]
                for kind in ("tool_use", "tool_result")
            ]
            assert ids[0] == ids[1]
            assert "the turn was cancelled" in str(playing.rows(log.events)[-1]) or not round.answer.calls
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
    stops = only(events, turn_events.TurnBlockStop)
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
