"""Fallbacks of tools in a plain turn: which failures they replace, and what the model and the caller learn of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolparity.turns import Executor, Fallback, Tool, Tools, Turn
from toolparity.turns.errors import InvalidTool

from .playing import Emulated, Say, assert_legal, at_once, call, on_every_wire, only, play, script
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
    return "".join(part.text for part in turn.state.rounds[0].tool_results[0].parts)  # type: ignore[union-attr]


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


def test_a_tool_that_times_out_is_replaced() -> None:
    async def hang(course: str) -> str:
        await asyncio.Event().wait()
        return ""

    turn = turn_with(Fallback("outline", adapted), function=hang, timeout=0.01)
    at_once(turn.run("Go."))
    assert result_text(turn).endswith("the lessons of MCP")


@pytest.mark.parametrize("arguments", [{"course": 5}, {"town": "Horta"}])
def test_arguments_that_do_not_fit_are_not_given_to_the_fallback(arguments: dict[str, Any]) -> None:
    turn = turn_with(Fallback("outline", adapted), arguments=arguments)
    at_once(turn.run("Go."))
    assert turn.state.rounds[0].calls[0].outcome == "invalid_arguments"
    assert "lessons" not in result_text(turn)


@pytest.mark.parametrize(
    ("fallback", "why"),
    [
        ("outline", "it needs approval"),
        (Fallback("outline", lambda arguments: arguments), "do not fit its schema"),
        (Fallback("outline", lambda arguments: arguments["title"]), "no arguments: KeyError"),
    ],
)
def test_a_fallback_that_cannot_run_leaves_the_failure_with_the_reason(fallback: Any, why: str) -> None:
    turn = turn_with(fallback)
    at_once(turn.run("Go."))
    assert turn.state.rounds[0].tool_results[0].is_error
    assert "the index is down" in result_text(turn)
    assert why in result_text(turn)


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
