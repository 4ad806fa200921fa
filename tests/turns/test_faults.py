"""Faults in a turn: of each tool in each way, of the provider in each round and mid-stream, of an observer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from toolparity.normalizer.model import Error
from toolparity.turns import events as turn_events
from toolparity.turns.execution.executor import Executor
from toolparity.turns.narration.acknowledge import hints_of
from toolparity.turns.observer import Observer
from toolparity.turns.testing import TOOL_FAULTS, FaultyTools
from toolparity.turns.turn import Turn

from . import playing
from .executing import OUTCOMES
from .playing import WIRES, Counting, Emulated, Fault, Round, Say, at_once, call, only, script

LONG = script(
    [Say("First."), call("look", at=1), call("count", of="ducks")],
    [call("post", text="x"), call("look", at=2)],
    [Say("All done.")],
)


@pytest.mark.thorough(keep=2, per="{fault}")
@pytest.mark.parametrize("fault", TOOL_FAULTS)
@pytest.mark.parametrize("tool", ["look", "count", "post"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_ends_with_a_result_for_every_call_whatever_a_tool_does(wire: str, tool: str, fault: str) -> None:
    """003, Testing Approach: failures are injected into every tool."""
    tools = FaultyTools(Counting().tools(**{tool: {"timeout": 0.02}}), {tool: TOOL_FAULTS[fault]})
    turn = Turn(Emulated(wire, LONG), tools, executor=Executor(tools, grace=0.01))
    at_once(turn.run("Go."))
    assert (turn.outcome.termination, turn.outcome.text) == ("natural_completion", "All done.")
    calls = [call_state for round in turn.state.rounds for call_state in round.calls]
    assert [call_state.outcome for call_state in calls] == [
        OUTCOMES[fault] if call_state.name == tool else "returned" for call_state in calls
    ]
    assert len(tools.injected) == sum(call_state.name == tool for call_state in calls) > 0
    results = [result for round in turn.state.rounds for result in round.tool_results]
    assert [result.call_id for result in results] == [call_state.id for call_state in calls]
    playing.assert_legal(turn)


@pytest.mark.thorough(keep=1, per="{number}/{after}")
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_error_in_any_round_ends_the_turn_without_running_its_calls(
    wire: str, number: int, after: int
) -> None:
    counting = Counting()
    provider = Emulated(wire, LONG, fails={number: ConnectionError("gone")}, after=after)
    turn = Turn(provider, counting.tools())
    events = at_once(playing.play(turn))
    assert turn.outcome.termination == "provider_failed"
    assert turn.outcome.error is not None
    assert (turn.outcome.error.type, turn.outcome.error.message) == ("ConnectionError", "gone")
    assert len(counting.ran) == 2 * number
    assert ("look ran" in turn.outcome.text) == bool(number)  # the text contains the known results
    assert isinstance(events[-1], turn_events.TurnFailed)
    started = [(e.round, e.sequence) for e in only(events, turn_events.TurnBlockStart)]
    stopped = [(e.round, e.block.sequence) for e in only(events, turn_events.TurnBlockStop)]
    assert sorted(started) == sorted(stopped)  # no block is left open
    assert provider.closed == len(provider.bodies) == number + 1
    playing.assert_legal(turn)


@pytest.mark.thorough(keep=2, per="{kind}")
@pytest.mark.parametrize("kind", ["cut", "reset", "server_error", "overloaded"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_after_a_call_runs_no_calls(wire: str, kind: Any) -> None:
    broken = Round([Say("Wait."), call("look", at=1), call("count")], fault=Fault(kind, after=2))
    counting = Counting()
    turn = Turn(Emulated(wire, script(broken)), counting.tools(), backoff=None)
    events = at_once(playing.play(turn))
    assert turn.outcome.termination in ("provider_failed", "incomplete")
    assert counting.ran == []
    assert only(events, turn_events.CallStarted) == []
    assert isinstance(events[-1], turn_events.TurnFailed) or turn.outcome.text == "Wait."
    playing.assert_legal(turn)


def test_a_provider_that_sends_no_or_invalid_data_ends_the_turn() -> None:
    class Sends:
        wire, name, model = "openai.chat", "openai", "gpt-5-mini"

        def __init__(self, *pieces: bytes) -> None:
            self._pieces = pieces

        async def ask(self, _: Any) -> Any:
            for piece in self._pieces:
                yield piece

    for pieces in ((), (b"",), (b"<html>502 Bad Gateway</html>",), (b"data: {oops\n\n",), (b'{"a": 1}',)):
        turn = Turn(Sends(*pieces))
        at_once(turn.run("Go."))
        assert turn.outcome.termination in ("provider_failed", "incomplete"), pieces
        assert turn.outcome.text != ""
        playing.assert_legal(turn)


@on_every_wire
def test_a_failing_observer_stops_the_turn_before_any_unrecorded_step(wire: str) -> None:
    for at in range(0, 30, 3):
        counting = Counting()

        class Full(Observer):
            left = at

            async def record(self, events: Any, state: Any) -> None:
                self.left -= 1
                if self.left < 0:
                    raise OSError("the disk is full")

        provider = Emulated(wire, LONG)
        turn = Turn(provider, counting.tools(), observers=[Full()])
        with pytest.raises(OSError, match="the disk is full"):
            at_once(turn.run("Go."))
        begun = sum(
            call_state.status in ("started", "done") for round in turn.state.rounds for call_state in round.calls
        )
        assert len(counting.ran) <= begun
        turn.cancel()
        playing.assert_legal(turn)


def test_a_late_acknowledgement_is_not_reported_in_the_next_round() -> None:
    played = script([call("look", at=1)], [call("count")], [Say("All done.")])
    for late in (True, False):
        written, may_end = asyncio.Event(), asyncio.Event()

        async def count(written: asyncio.Event = written, **_: Any) -> str:
            written.set()
            for _ in range(20):
                await asyncio.sleep(0)
            return "counted"

        async def look(may_end: asyncio.Event = may_end, late: bool = late, **_: Any) -> str:
            if not late:
                await may_end.wait()
            return "looked"

        async def write(calls: Any, tools: Any, written: asyncio.Event = written, late: bool = late) -> str | None:
            if calls[0].name != "look":
                return None
            if late:
                await written.wait()
            return "I look."

        turn = Turn(Emulated("openai.chat", played), Counting(look=look, count=count).tools(), acknowledge=write)
        acknowledgements: list[turn_events.Acknowledged] = []

        async def run(
            turn: Turn = turn, may_end: asyncio.Event = may_end, acknowledgements: list[Any] = acknowledgements
        ) -> None:
            async for event in turn.stream("Go."):
                if isinstance(event, turn_events.Acknowledged):
                    acknowledgements.append(event)
                    may_end.set()

        at_once(run())
        assert [(event.round, event.text) for event in acknowledgements] == ([] if late else [(1, "I look.")])
        assert turn.outcome.text == "All done."


def test_an_acknowledgement_precedes_all_calls_and_is_omitted_if_it_fails() -> None:
    def hints(calls: Any, tools: Any) -> str:
        return "Sure: " + " and ".join(hints_of(calls, tools))

    counting = Counting()
    tools = counting.tools(look={"waiting_hint": "looking"}, count={"waiting_hint": "counting"})
    events = at_once(playing.play(Turn(Emulated("openai.chat", LONG), tools, acknowledge=hints)))
    (first, second) = only(events, turn_events.Acknowledged)
    assert (first.text, first.spoken) == ("First.", True)  # the model's own text beside its calls
    assert (second.text, second.spoken) == ("Sure: looking", False)
    starts = [event.seq for event in only(events, turn_events.CallStarted)]
    known = [event.seq for event in only(events, turn_events.CallsKnown)]
    assert known[0] < first.seq < starts[0]

    def broken(calls: Any, tools: Any) -> str:
        raise RuntimeError("no words")

    async def broken_too(calls: Any, tools: Any) -> str:
        raise RuntimeError("no words")

    async def gone(calls: Any, tools: Any) -> str:
        raise asyncio.CancelledError

    for writer in (broken, broken_too, gone):
        turn = Turn(Emulated("openai.chat", LONG), Counting().tools(), acknowledge=writer)
        events = at_once(playing.play(turn))
        assert [event.spoken for event in only(events, turn_events.Acknowledged)] == [True]  # the model's own text
        assert turn.outcome.text == "All done."


def test_a_slow_acknowledgement_does_not_delay_the_tools() -> None:
    async def run() -> list[Any]:
        ran = asyncio.Event()

        async def write(calls: Any, tools: Any) -> str:
            await ran.wait()
            return "I am looking."

        async def look(**_: Any) -> str:
            ran.set()
            while not acknowledged.is_set():
                await asyncio.sleep(0)
            return "seen"

        acknowledged = asyncio.Event()
        turn = Turn(
            Emulated("openai.chat", script([call("look")], [Say("Done.")])),
            Counting(look=look).tools(),
            acknowledge=write,
        )
        events = []
        async for event in turn.stream("Go."):
            events.append(event)
            if isinstance(event, turn_events.Acknowledged):
                acknowledged.set()
        return events

    events = at_once(run())
    assert [event.text for event in only(events, turn_events.Acknowledged)] == ["I am looking."]


