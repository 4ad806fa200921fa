"""Fallbacks of tools in a plain turn: which failures they replace, and what the model and the caller learn of it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from toolparity.turns import Executor, Fallback, Tool, ToolFailed, Tools, Turn, dump, load
from toolparity.turns.errors import InvalidTool, TurnMisused
from toolparity.turns.events import CallStarted, Noted, ResultNeeded
from toolparity.turns.orchestration import Breakers, Coordinator

from . import playing
from .playing import Counting, Emulated, Say, assert_legal, at_once, call, on_every_wire, only, play, results, script
from .playing import turn_events as events


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
    [noted] = only(played, events.Noted)
    assert (noted.note, noted.data["tool"]) == ("fallback", "outline")
    assert noted.data["call"] == turn.state.rounds[0].calls[0].id
    assert_legal(turn)


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


def test_the_note_of_a_chain_names_each_failure_in_order() -> None:
    def second(course: str) -> str:
        raise ConnectionError("the mirror is down")

    provider = Emulated("openai.chat", script([call("search", course="mcp")], [Say("Done.")], tools=["search"]))
    tools = [Tool.of(search, fallback="second"), Tool.of(second, fallback=Fallback("outline", adapted)), outline]
    turn = Turn(provider, tools)
    [noted] = only(at_once(play(turn)), events.Noted)
    whys = "Tool 'search' failed: ConnectionError: the index is down"
    whys += ". second, tried in its place, failed: Tool 'second' failed: ConnectionError: the mirror is down"
    assert result_text(turn).startswith(f"[search failed: {whys}. outline(")
    assert noted.data["why"] == whys


def test_an_invalid_fallback_is_an_error_of_the_turn() -> None:
    provider = Emulated("openai.chat", script([Say("Hi.")]))
    with pytest.raises(InvalidTool, match="search: its fallback 'outline' is not declared"):
        Turn(provider, [Tool.of(search, fallback="outline")])
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


def test_a_fallback_that_fails_too_leaves_both_reasons() -> None:
    def broken(**_: Any) -> None:
        raise KeyError("down")

    turn = Turn(Emulated("openai.chat", ONE), elsewhere(Counting(count=broken)))
    at_once(play(turn))
    answered(turn, ToolFailed("the printer is off"))
    [(text, is_error)] = results(turn)
    assert is_error
    assert text.startswith("the printer is off\ncount, tried in its place, failed:")


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
    resumed = Turn(Emulated("openai.chat", ONE), elsewhere(counting), state=load(kept[0]))
    at_once(resumed.run())
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
