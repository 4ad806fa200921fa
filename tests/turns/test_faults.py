"""Faults in a turn: of each tool in each way, of the provider in each round, of an observer; fallbacks of tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.events import chat_body, chat_call
from toolparity import normalize
from toolparity.normalizer import json_codec
from toolparity.turns import (
    Executor,
    Fallback,
    NarratingProvider,
    Narrator,
    Tool,
    ToolFailed,
    Tools,
    Turn,
    answer_reader,
    dump,
    load,
)
from toolparity.turns import events as turn_events
from toolparity.turns.errors import InvalidTool, TurnMisused
from toolparity.turns.events import CallStarted, Noted, ResultNeeded, TurnFailed
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import Breakers, Coordinator
from toolparity.turns.testing import TOOL_FAULTS, FaultyTools

from . import playing
from .executing import OUTCOMES
from .playing import Counting, Emulated, Say, at_once, call, on_every_wire, only, play, results, script


@pytest.mark.thorough(keep=2, per="{fault}")
@pytest.mark.parametrize("fault", TOOL_FAULTS)
@pytest.mark.parametrize("tool", ["look", "count", "post"])
@pytest.mark.parametrize("wire", playing.WIRES)
def test_a_turn_ends_with_a_result_for_every_call_whatever_a_tool_does(wire: str, tool: str, fault: str) -> None:
    """003, Testing Approach: failures are injected into every tool."""
    tools = FaultyTools(Counting().tools(**{tool: {"timeout": 0.02}}), {tool: TOOL_FAULTS[fault]})
    turn = playing.finished(Turn(Emulated(wire, playing.LONG), tools, executor=Executor(tools, grace=0.01)))
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
@pytest.mark.parametrize("wire", playing.WIRES)
def test_a_provider_error_in_any_round_ends_the_turn_without_running_its_calls(
    wire: str, number: int, after: int
) -> None:
    counting = Counting()
    provider = Emulated(wire, playing.LONG, fails={number: ConnectionError("gone")}, after=after)
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
@pytest.mark.parametrize("wire", playing.WIRES)
def test_a_stream_that_breaks_after_a_call_runs_no_calls(wire: str, kind: Any) -> None:
    broken = playing.Round([Say("Wait."), call("look", at=1), call("count")], fault=playing.Fault(kind, after=2))
    counting = Counting()
    turn = Turn(Emulated(wire, script(broken)), counting.tools(), backoff=None)
    events = at_once(playing.play(turn))
    assert turn.outcome.termination in ("provider_failed", "incomplete")
    assert counting.ran == []
    assert only(events, CallStarted) == []
    assert isinstance(events[-1], TurnFailed) or turn.outcome.text == "Wait."
    playing.assert_legal(turn)


def test_a_provider_that_sends_no_or_invalid_data_ends_the_turn() -> None:
    class Sends(Failing):
        async def ask(self, _: Any) -> AsyncIterator[bytes]:
            if sent is not None:
                yield sent

    for sent in (None, b"", b"<html>502 Bad Gateway</html>", b"data: {oops\n\n", b'{"a": 1}'):
        turn = playing.finished(Turn(Sends()))
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

        provider = Emulated(wire, playing.LONG)
        turn = Turn(provider, counting.tools(), observers=[Full()])
        with pytest.raises(OSError, match="the disk is full"):
            at_once(turn.run("Go."))
        calls = [call_state for round in turn.state.rounds for call_state in round.calls]
        assert len(counting.ran) <= sum(call_state.status in ("started", "done") for call_state in calls)
        turn.cancel()
        playing.assert_legal(turn)


#: A malformed end of a stream; for xai.grpc, what the client yields for a status.
MALFORMED = {"xai.grpc": b'{"code": "INTERNAL", "details": ""}', "ollama.chat": b'{"model', "openai.chat": b"data: {"}


class EndsBadly(Emulated):
    """Sends whole answers, after which the connection ends as ``end`` says: in this error, not at all, or malformed."""

    end: Any = None

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        async for chunk in super().ask(body):
            yield chunk
        if self.end == "malformed":
            yield MALFORMED.get(self.wire, MALFORMED["openai.chat"])
        elif self.end == "page":
            yield {"xai.grpc": b""}.get(self.wire, b"<html>502 Bad Gateway</html>")
        elif self.end == "open":
            await asyncio.Event().wait()
        else:
            raise self.end


_BAD_ENDS = [EOFError("no last chunk"), ConnectionResetError(), "open", "malformed", "page"]


@pytest.mark.parametrize("end", _BAD_ENDS, ids=repr)
def test_a_whole_answer_counts_although_its_connection_ends_badly(end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_reader, "_AFTER_WHOLE", 0.1)
    for wire in set(playing.WIRES) - ({"google.gemini"} if end in ("malformed", "page") else set()):  # no last event
        turn = Turn(provider := EndsBadly(wire, script([Say("All done.")])), backoff=None)
        provider.end = end
        assert at_once(turn.run("Go.")).text == "All done.", wire


@pytest.mark.parametrize("late", [True, False])
def test_a_late_acknowledgement_is_not_reported_in_the_next_round(late: bool) -> None:
    begun, acknowledged = asyncio.Event(), asyncio.Event()

    async def look(**_: Any) -> None:
        if not late:  # it runs while the acknowledgement is written
            await acknowledged.wait()

    async def count(**_: Any) -> None:
        begun.set()
        for _ in range(20):
            await asyncio.sleep(0)

    async def write(calls: Any, tools: Any) -> str | None:
        if late:
            await begun.wait()
        return "I look." if calls[0].name == "look" else None

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


TEXT = "org-1234 exceeded its quota, see https://billing.example"
FAILURES = ["http", "raised", "stream"]


class Failing:
    """A provider that answers with a call first, and then fails in one of `FAILURES`."""

    wire, name, model = "openai.chat", "openai", "gpt-5-mini"

    def __init__(self, failure: str = "", *, calls: bool = False, text: str = TEXT) -> None:
        self.failure, self.calls, self.text = failure, calls, text

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        if self.calls and len(body["messages"]) == 1:
            yield json_codec.encode(chat_body(chat_call("c", "look", "{}")))
        elif self.failure == "raised":
            raise PermissionError(self.text)
        elif self.failure == "http":
            yield normalize({"error": {"type": self.text, "message": self.text}}, self.wire, status=403)
        else:
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "So far"}}]}\n\n'
            yield b"data: " + json_codec.encode({"error": {"type": "server_error", "message": self.text}}) + b"\n\n"


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
    what = "The model's answer broke off" if failure == "stream" else "The model gave no answer"
    assert outcome.text.startswith(f"{what}: provider failed.")
    assert ("look: seen" in outcome.text) == calls
    orchestrated = at_once(Coordinator(Failing(failure, calls=calls), Tools([look]), backoff=None).run("Go."))
    assert orchestrated.outcome.error is not None
    assert TEXT not in orchestrated.text + orchestrated.outcome.text
    assert ("seen" in orchestrated.text) == calls
    provider = NarratingProvider(Failing("raised", calls=True), Narrator(Failing(failure)))
    outcome = at_once(Turn(provider, Tools([look])).run("Go."))
    assert TEXT not in outcome.text
    assert "look: seen" in outcome.text


def search(course: str) -> str:
    raise ConnectionError("the index is down")


def outline(title: str) -> str:
    return f"the lessons of {title}"


def adapted(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"title": arguments["course"].upper()}


def turn_with(fallback: Fallback | str, wire: str = "openai.chat", arguments: Any = None, **options: Any) -> Turn:
    """A turn that calls `search`, with this fallback."""
    called = call("search", **(arguments or {"course": "mcp"}))
    provider = Emulated(wire, script([called], [Say("Done.")], tools=["search", "outline"]))
    tools = Tools([Tool.of(options.pop("function", search), name="search", fallback=fallback, **options)])
    tools.add(Tool.of(outline, approval=fallback == "outline"))
    return Turn(provider, tools)


def result_text(turn: Turn) -> str:
    return results(turn)[0][0]


@on_every_wire
def test_a_failed_tool_is_replaced_in_a_plain_turn_and_the_result_names_both(wire: str) -> None:
    turn = turn_with(Fallback("outline", adapted), wire)
    played = at_once(play(turn))
    assert not turn.state.rounds[0].tool_results[0].is_error
    assert "search failed: Tool 'search' failed: ConnectionError: the index is down" in result_text(turn)
    assert result_text(turn).endswith("the lessons of MCP")
    [noted] = only(played, Noted)
    assert (noted.note, noted.data["tool"]) == ("fallback", "outline")
    assert noted.data["call"] == turn.state.rounds[0].calls[0].id
    playing.assert_legal(turn)


async def hang(course: str) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("fallback", "options", "replaced", "why"),
    [
        (Fallback("outline", adapted), {"function": hang, "timeout": 0.01}, True, "timed out"),
        (Fallback("outline", adapted), {"arguments": {"course": 5}}, False, "do not fit its schema"),
        (Fallback("outline", adapted), {"arguments": {"town": "Horta"}}, False, "do not fit its schema"),
        ("outline", {}, False, "the index is down.*it needs approval"),
        (Fallback("outline", lambda arguments: arguments), {}, False, "the index is down.*do not fit its schema"),
        (Fallback("outline", lambda arguments: arguments["title"]), {}, False, "is down.*no arguments: KeyError"),
    ],
)
def test_a_call_that_fails_is_replaced_unless_it_was_wrong_or_the_fallback_cannot_run(
    fallback: Any, options: Any, replaced: bool, why: str
) -> None:
    turn = turn_with(fallback, **options)
    at_once(turn.run("Go."))
    [(text, is_error)] = results(turn)
    assert is_error != replaced
    assert re.search(why, text, re.DOTALL)
    assert ("the lessons of MCP" in text) == replaced
    assert turn.state.rounds[0].calls[0].outcome == "invalid_arguments" or "arguments" not in options


def test_the_note_of_a_chain_names_each_failure_in_order_and_each_fallback_must_be_declared() -> None:
    def second(course: str) -> str:
        raise ConnectionError("the mirror is down")

    provider = Emulated("openai.chat", script([call("search", course="mcp")], [Say("Done.")], tools=["search"]))
    tools = [Tool.of(search, fallback="second"), Tool.of(second, fallback=Fallback("outline", adapted)), outline]
    turn = Turn(provider, tools)
    [noted] = only(at_once(play(turn)), Noted)
    whys = "Tool 'search' failed: ConnectionError: the index is down"
    whys += ". second, tried in its place, failed: Tool 'second' failed: ConnectionError: the mirror is down"
    assert result_text(turn).startswith(f"[search failed: {whys}. outline(")
    assert noted.data["why"] == whys
    with pytest.raises(InvalidTool, match="search: its fallback 'outline' is not declared"):
        Turn(provider, [Tool.of(search, fallback="outline")])
    with pytest.raises(InvalidTool, match="it is parallel, but its fallback"):
        Turn(provider, [Tool.of(search, fallback="outline"), Tool.of(outline, parallel=False)])
    Turn(provider, executor=Executor(Tools([Tool.of(search, fallback="outline")])))  # it ignores fallbacks


ONE = script([call("post", text="a")], [Say("Done.")])
TROUBLES = [ToolFailed("the printer is off"), RuntimeError("broke"), object()]


def elsewhere(counting: Counting, fallback: str | None = "count") -> Tools:
    """The tools of a test. `post` runs elsewhere."""
    own = [tool for tool in counting.tools().values() if tool.name != "post"]
    return Tools([*own, Tool(name="post", fallback=fallback)])


def answered(turn: Turn, outcome: Any) -> list[Any]:
    """Supply the result of the one waiting call, and run the turn on."""
    [waiting] = turn.outcome.waiting
    turn.answer(waiting.id, outcome)
    return at_once(play(turn, None))


@pytest.mark.parametrize("outcome", TROUBLES)
def test_a_call_that_fails_elsewhere_is_replaced_by_its_fallback(outcome: Any) -> None:
    def count(text: str) -> str:
        with pytest.raises(TurnMisused):
            turn.answer(turn.state.rounds[0].calls[0].id, "late")
        return f"counted {text}"

    counting = Counting(count=count)
    turn = Turn(Emulated("openai.chat", ONE), elsewhere(counting))
    at_once(play(turn))
    events = answered(turn, outcome)
    [(text, is_error)] = results(turn)
    assert (text.endswith("counted a"), is_error) == (True, False)
    assert 'count({"text":"a"}) was run in its place' in text
    assert counting.ran == [("count", {"text": "a"})]
    assert [event.attempt for event in only(events, CallStarted)] == [2]
    assert [event.note for event in only(events, Noted)] == ["fallback"]
    assert (turn.outcome.text, turn.outcome.waiting) == ("Done.", [])
    playing.assert_legal(turn)


def test_a_fallback_that_was_interrupted_is_not_run_again_in_another_process() -> None:
    counting = Counting()
    turn = Turn(Emulated("openai.chat", ONE), elsewhere(counting))
    at_once(play(turn))
    turn.answer(turn.outcome.waiting[0].id, ToolFailed("off"))
    kept: list[bytes] = []

    def react(event: Any) -> None:
        if isinstance(event, CallStarted):
            kept.append(dump(turn.state))  # as a process that ends here leaves it

    at_once(play(turn, None, react))
    resumed = playing.finished(Turn(Emulated("openai.chat", ONE), elsewhere(counting), state=load(kept[0])), None)
    assert counting.names == ["count"]
    assert "whether it took effect is not known" in results(resumed)[0][0]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("fallback", [None, "count"])
def test_a_breaker_counts_failures_elsewhere_and_then_keeps_calls_from_being_handed_over(
    fallback: str | None, trouble: Any
) -> None:
    now = [0.0]
    breakers = Breakers(threshold=2, seconds=60, clock=lambda: now[0])

    def coordinator(counting: Counting) -> Coordinator:
        return Coordinator(Emulated("openai.chat", ONE), elsewhere(counting, fallback), breakers=breakers)

    for _ in range(2):
        failing = coordinator(Counting())
        at_once(failing.run("Go."))
        answered(failing.turn, trouble)
    assert breakers.state("tool", "post") == "open"

    counting = Counting(count=lambda text: f"counted {text}")
    rejected: Any = coordinator(counting)
    assert only(at_once(play(rejected)), ResultNeeded) == []
    [(text, is_error)] = results(rejected.turn)
    assert "failed 2 times in a row and is not tried for 60s" in text
    assert (is_error, counting.names) == ((True, []) if fallback is None else (False, ["count"]))

    now[0] = 61.0
    admitted = coordinator(Counting())
    at_once(admitted.run("Go."))
    answered(admitted.turn, "posted")
    assert results(admitted.turn) == [("posted", False)]
    assert breakers.state("tool", "post") == "closed"
