"""Execution: all calls at once or in order; exactly one result each, in call order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolparity import ToolCall, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import ToolResults
from toolparity.normalizer.turns.execution.executor import FinishedCall
from toolparity.normalizer.turns.execution.tool_results import failure
from toolparity.normalizer.turns.execution.tools import Tool
from toolparity.normalizer.turns.turn import Turn

from .executing import asked, raising, ran, texts, tool
from .playing import Emulated, Say, at_once, call, script

# who runs beside whom


def test_under_all_calls_run_at_once_each_waits_for_the_others() -> None:
    """000, Option 2; 002, Implementation Steps: three tools that all wait until the other two have begun.

    Run one after the other they would never end.
    """
    met = asyncio.Barrier(3)

    async def meet(who: str) -> str:
        await met.wait()
        return who

    found = ran([asked("meet", f"c{n}", who=f"{n}") for n in range(3)], tool(meet))
    assert texts(found) == [("returned", "0"), ("returned", "1"), ("returned", "2")]


def test_under_all_blocking_tools_run_at_once_in_threads() -> None:
    met = threading.Barrier(3, timeout=20)

    def meet(who: str) -> str:
        met.wait()
        return who

    found = ran([asked("meet", f"c{n}", who=f"{n}") for n in range(3)], tool(meet))
    assert [how for how, _ in texts(found)] == ["returned"] * 3


def test_results_stand_in_call_order_whichever_comes_first() -> None:
    later = asyncio.Event()

    async def slow() -> str:
        await later.wait()
        return "slow"

    async def fast() -> str:
        later.set()
        return "fast"

    assert texts(ran([asked("slow"), asked("fast")], tool(slow), tool(fast))) == [
        ("returned", "slow"),
        ("returned", "fast"),
    ]


def _log(into: list[str], name: str) -> Callable[[], Any]:
    async def function() -> str:
        into.append(f"{name} begins")
        for _ in range(3):
            await asyncio.sleep(0)
        into.append(f"{name} ends")
        return name

    return function


def test_under_batch_calls_run_one_after_the_other_in_order() -> None:
    """000, Option 1, Recommendation: in sequence, whatever each of them takes."""
    seen: list[str] = []
    tools = [tool(_log(seen, name), name) for name in "abc"]
    played = script([call("c"), call("a"), call("b")], [Say("Done.")], tools="abc")
    turn = Turn(Emulated("openai.chat", played), tools, policy="batch")
    at_once(turn.run("Go."))
    assert seen == ["c begins", "c ends", "a begins", "a ends", "b begins", "b ends"]
    assert [result.name for result in turn.state.rounds[0].tool_results] == ["c", "a", "b"]


def test_batch_02_a_tool_that_is_not_parallel_is_a_barrier_in_the_order_of_the_calls() -> None:
    seen: list[str] = []
    tools = [tool(_log(seen, name), name, parallel=name != "alone") for name in ("f1", "f2", "alone", "f3", "f4")]
    ran([asked(name) for name in ("f1", "f2", "alone", "f3", "f4")], *tools)
    assert sorted(seen[:2]) == ["f1 begins", "f2 begins"]
    place = seen.index("alone begins")
    assert sorted(seen[:place]) == ["f1 begins", "f1 ends", "f2 begins", "f2 ends"]
    assert seen[place + 1] == "alone ends"
    assert sorted(seen[place + 2 : place + 4]) == ["f3 begins", "f4 begins"]


# what is not run


def test_name_06_an_unknown_tool_is_answered_with_the_known_ones_and_its_siblings_run() -> None:
    """004, 3. Executor Calls Tool: the result of a call of an unknown tool says so."""
    found = ran([asked("fly"), asked("go")], tool(lambda: "went", "go"), tool(lambda: "", "stop"))
    assert texts(found) == [
        ("unknown_tool", "No tool is called 'fly'. Known tools: go, stop."),
        ("returned", "went"),
    ]


def test_arguments_that_do_not_fit_are_answered_with_what_is_wrong_and_nothing_runs() -> None:
    started: list[str] = []
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city"],
        "additionalProperties": False,
    }
    weather = tool(lambda **given: started.append("ran"), "weather", parameters=schema)
    (one,) = ran([asked("weather", days=0, country="PT")], weather)
    assert one.outcome == "invalid_arguments"
    said = texts([one])[0][1]
    assert "'city' is a required property" in said
    assert "days: 0 is less than the minimum of 1" in said
    assert "'country' was unexpected" in said
    assert started == []


def test_what_a_schema_refers_to_is_fetched_from_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **_: fetched.append(given))
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}
    (one,) = ran([asked("odd", a=1)], tool(lambda a=None: a, "odd", parameters=schema))
    assert one.outcome == "invalid_arguments"
    assert "the schema has an unresolvable reference" in texts([one])[0][1]
    assert fetched == []


def test_trunc_01_a_call_that_is_no_whole_call_is_not_run() -> None:
    cut = ToolCall("c", "go", None, '{"a": ', "truncated")
    (one,) = ran([cut], tool(lambda: "went", "go"))
    assert one.outcome == "invalid_arguments"


def test_a_call_that_somebody_forbids_as_it_starts_is_not_run() -> None:
    seen: list[str] = []

    async def starting(call: ToolCall) -> bool:
        return call.id != "c2"

    found = ran([asked("go", "c1"), asked("go", "c2")], tool(lambda: seen.append("ran"), "go"), on_start=starting)
    assert [one.outcome for one in found] == ["returned", "skipped"]
    assert seen == ["ran"]


# around


def test_whoever_wraps_calls_can_put_another_tool_in_the_place_of_one_that_fails() -> None:
    async def around(call: ToolCall, run: Any) -> FinishedCall:
        first: FinishedCall = await run(call)
        if not first.result.is_error:
            return first
        other: FinishedCall = await run(asked("outline", call.id, course="x"))
        return other

    tools = [tool(raising(RuntimeError("down")), "search"), tool(lambda course: f"outline of {course}", "outline")]
    (one,) = ran([asked("search", "c1")], *tools, executor={"around": around})
    assert texts([one]) == [("returned", "outline of x")]
    assert (one.result.call_id, one.result.name) == ("c1", "search")


def test_a_wrapper_that_fails_is_a_failing_call() -> None:
    async def around(call: ToolCall, run: Any) -> FinishedCall:
        raise LookupError("the breaker broke")

    (one,) = ran([asked("go")], tool(lambda: "went", "go"), executor={"around": around})
    assert (one.outcome, one.result.is_error) == ("raised", True)


# in pieces: execution without a turn


def test_a_gateway_takes_the_execution_and_nothing_else() -> None:
    body = {
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": f"c{n}", "type": "function", "function": {"name": "go", "arguments": f'{{"n": {n}}}'}}
                        for n in range(3)
                    ],
                },
            }
        ]
    }
    response = normalize(body, wire="openai.chat")
    selection = select(response, limit=2)
    found = ran(selection.calls, tool(lambda n: n * 10, "go"))
    turns = answer(response, selection, [one.result for one in found])
    assert isinstance(turns[1], ToolResults)
    assert [result.call_id for result in turns[1].results] == ["c0", "c1", "c2"]
    assert [result.is_error for result in turns[1].results] == [False, False, True]


def test_a_call_that_is_not_admitted_never_starts_and_is_answered_with_what_kept_it() -> None:
    started: list[str] = []

    async def starting(call: ToolCall) -> bool:
        started.append(call.name)
        return True

    def admit(call: ToolCall) -> FinishedCall | None:
        return FinishedCall(call, failure(call, "too many today"), "skipped") if call.name == "one" else None

    tools = tool(lambda: "ran", "one"), tool(lambda: "ran", "two")
    found = ran([asked("one"), asked("two")], *tools, executor={"admit": admit}, on_start=starting)
    assert texts(found) == [("skipped", "too many today"), ("returned", "ran")]
    assert started == ["two"]
    found = ran([asked("one")], Tool(name="one"), executor={"admit": admit})  # nor is it said to be run elsewhere
    assert texts(found) == [("skipped", "too many today")]
