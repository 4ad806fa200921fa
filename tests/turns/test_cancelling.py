"""Interruption: Ctrl-C, a disconnected client, a new message. The history stays legal."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
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


@pytest.mark.thorough(keep=1, per="{how}")
@pytest.mark.parametrize("how", ["leaves", "cancels the task"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_interrupted_at_any_event_leaves_a_legal_history_and_no_running_task(wire: str, how: str) -> None:
    class Interrupting(RecordingObserver):
        async def event(self, event: Any) -> None:
            await super().event(event)
            if how == "cancels the task" and len(self.events) == at + 1:
                task.cancel()

    async def consume() -> None:
        async with aclosing(turn.stream("Go.")) as stream:  # type: ignore[type-var]
            async for _ in stream:
                if how == "leaves" and len(log.events) > at:
                    break

    async def run() -> None:
        nonlocal task
        task = asyncio.create_task(consume())
        await asyncio.wait([task])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    task: Any = None
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
            stream: Any = turn.stream("Go.")
            event: Any = None
            for _ in range(at + 1):
                event = await anext(stream, event)
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
            rows = playing.rows(log.events)
            asked, answered = (
                [row[3]["tool_use_id"] for row in rows if row[1] == f"tool_{k}"] for k in ("use", "result")
            )
            assert asked == answered
            assert "the turn was cancelled" in str(rows[-1]) or not round.answer.calls
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
