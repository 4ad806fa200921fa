"""Faults in a turn: of each tool in each way, of the provider in each round and mid-stream, of an observer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.events import chat_body, chat_call
from toolparity import normalize
from toolparity.normalizer import json_codec
from toolparity.turns import NarratingProvider, Narrator, Tools, Turn
from toolparity.turns import events as turn_events
from toolparity.turns.events import TurnFailed
from toolparity.turns.execution.executor import Executor
from toolparity.turns.narration.acknowledge import hints_of
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.testing import TOOL_FAULTS, FaultyTools

from . import playing
from .executing import OUTCOMES
from .playing import WIRES, Counting, Emulated, Fault, Round, Say, at_once, call, on_every_wire, only, play, script

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
    assert isinstance(events[-1], TurnFailed)
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
    assert isinstance(events[-1], TurnFailed) or turn.outcome.text == "Wait."
    playing.assert_legal(turn)


def test_a_provider_that_sends_no_or_invalid_data_ends_the_turn() -> None:
    class Sends(Failing):
        async def ask(self, _: Any) -> AsyncIterator[bytes]:
            if sent is not None:
                yield sent

    for sent in (None, b"", b"<html>502 Bad Gateway</html>", b"data: {oops\n\n", b'{"a": 1}'):
        turn = Turn(Sends())
        at_once(turn.run("Go."))
        assert turn.outcome.termination in ("provider_failed", "incomplete"), sent
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
        calls = [call_state for round in turn.state.rounds for call_state in round.calls]
        assert len(counting.ran) <= sum(call_state.status in ("started", "done") for call_state in calls)
        turn.cancel()
        playing.assert_legal(turn)


@pytest.mark.parametrize("late", [True, False])
def test_a_late_acknowledgement_is_not_reported_in_the_next_round(late: bool) -> None:
    written, acknowledged = asyncio.Event(), asyncio.Event()

    async def look(**_: Any) -> None:
        if not late:  # it runs while the acknowledgement is written
            written.set()
            await acknowledged.wait()

    async def count(**_: Any) -> None:
        written.set()
        for _ in range(20):
            await asyncio.sleep(0)

    async def write(calls: Any, tools: Any) -> str | None:
        if calls[0].name != "look":
            return None
        await written.wait()
        return "I look."

    played = script([call("look", at=1)], [call("count")], [Say("All done.")])
    turn = Turn(Emulated("openai.chat", played), Counting(look=look, count=count).tools(), acknowledge=write)
    texts: list[tuple[int, str]] = []

    def react(event: Any) -> None:
        if isinstance(event, turn_events.Acknowledged):
            texts.append((event.round, event.text))
            acknowledged.set()

    at_once(playing.play(turn, react=react))
    assert texts == ([] if late else [(1, "I look.")])
    assert turn.outcome.text == "All done."


def test_an_acknowledgement_precedes_all_calls() -> None:
    def hints(calls: Any, tools: Any) -> str:
        return "Sure: " + " and ".join(hints_of(calls, tools))

    tools = Counting().tools(look={"waiting_hint": "looking"}, count={"waiting_hint": "counting"})
    events = at_once(playing.play(Turn(Emulated("openai.chat", LONG), tools, acknowledge=hints)))
    (first, second) = only(events, turn_events.Acknowledged)
    assert (first.text, first.spoken) == ("First.", True)  # the model's own text beside its calls
    assert (second.text, second.spoken) == ("Sure: looking", False)
    known, started = only(events, turn_events.CallsKnown)[0], only(events, turn_events.CallStarted)[0]
    assert known.seq < first.seq < started.seq


TEXT = "org-1234 exceeded its quota, see https://billing.example"
FAILURES = ["http", "raised", "stream"]


class Failing:
    """A provider that answers with a call first, and then fails in one of `FAILURES`."""

    wire, name, model = "openai.chat", "openai", "gpt-5-mini"

    def __init__(self, failure: str = "", *, calls: bool = False) -> None:
        self.failure, self.calls = failure, calls

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        if self.calls and len(body["messages"]) == 1:
            yield json_codec.encode(chat_body(chat_call("c", "look", "{}")))
        elif self.failure == "raised":
            raise PermissionError(TEXT)
        elif self.failure == "http":
            yield normalize({"error": {"type": TEXT, "message": TEXT}}, self.wire, status=403)
        else:
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "So far"}}]}\n\n'
            yield b"data: " + json_codec.encode({"error": {"type": "server_error", "message": TEXT}}) + b"\n\n"


def look() -> str:
    return "seen"


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_turn_keeps_the_text_of_an_error_of_its_provider_or_narrator_out_of_its_answer(
    failure: str, calls: bool
) -> None:
    turn = Turn(Failing(failure, calls=calls), Tools([look]), backoff=None)
    [failed] = only(at_once(play(turn)), TurnFailed)
    outcome: Any = turn.outcome
    assert outcome.error.message == TEXT
    assert TEXT not in outcome.text + failed.text
    assert outcome.text.startswith("The model gave no answer: provider failed.")
    assert ("look: seen" in outcome.text) == calls
    orchestrated = at_once(Coordinator(Failing(failure, calls=calls), Tools([look]), backoff=None).run("Go."))
    assert orchestrated.outcome.error is not None
    assert TEXT not in orchestrated.text + orchestrated.outcome.text
    assert ("seen" in orchestrated.text) == calls
    provider = NarratingProvider(Failing("raised", calls=True), Narrator(Failing(failure)))
    outcome = at_once(Turn(provider, Tools([look])).run("Go."))
    assert TEXT not in outcome.text
    assert "look: seen" in outcome.text
