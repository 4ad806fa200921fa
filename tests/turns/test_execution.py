"""Execution: all calls at once or in order; exactly one result each, in call order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.building import chat_body, chat_call
from toolparity import ToolCall, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import ToolResults
from toolparity.turns.execution.executor import FinishedCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tool_results import failure
from toolparity.turns.turn import Turn

from .executing import asked, raising, ran, texts, tool
from .playing import Emulated, Say, at_once, call, script

# concurrency


def test_under_all_the_calls_of_a_round_run_concurrently() -> None:
    """000, Option 2; 002, Implementation Steps: three calls each wait until the other two have begun.

    In sequence they would never end.
    """
    barrier = asyncio.Barrier(3)

    async def meet(who: str) -> str:
        await barrier.wait()
        return who

    in_threads = threading.Barrier(3, timeout=20)

    def meet_in_threads(who: str) -> str:
        in_threads.wait()
        return who

    for function in (meet, meet_in_threads):
        finished_calls = ran([asked("meet", f"c{n}", who=f"{n}") for n in range(3)], tool(function, "meet"))
        assert texts(finished_calls) == [("returned", "0"), ("returned", "1"), ("returned", "2")]


def test_results_are_in_call_order_whatever_order_the_calls_finish_in() -> None:
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
    """000, Option 1, Recommendation: each with its result, in sequence, whatever their duration."""
    log: list[str] = []
    tools = [tool(_log(log, name), name) for name in "abc"]
    played = script([call("c"), call("a"), call("b")], [Say("Done.")], tools="abc")
    turn = Turn(Emulated("openai.chat", played), tools, policy="batch")
    at_once(turn.run("Go."))
    assert log == ["c begins", "c ends", "a begins", "a ends", "b begins", "b ends"]
    assert [result.name for result in turn.state.rounds[0].tool_results] == ["c", "a", "b"]


# calls that do not run


def test_invalid_arguments_are_answered_with_the_problems_and_not_run() -> None:
    started: list[str] = []
    properties = {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}
    schema = {"type": "object", "properties": properties, "required": ["city"], "additionalProperties": False}
    weather = tool(lambda **given: started.append("ran"), "weather", parameters=schema)
    cut = ToolCall("c", "weather", None, '{"city": ', "truncated")
    finished_calls = ran([asked("weather", days=0, country="PT"), cut], weather)
    assert [finished.outcome for finished in finished_calls] == ["invalid_arguments"] * 2
    message = texts(finished_calls)[0][1]
    assert "'city' is a required property" in message
    assert "days: 0 is less than the minimum of 1" in message
    assert "'country' was unexpected" in message
    assert started == []


def test_a_remote_schema_reference_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **_: fetched.append(given))
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}
    (finished,) = ran([asked("odd", a=1)], tool(lambda a=None: a, "odd", parameters=schema))
    assert finished.outcome == "invalid_arguments"
    assert "the schema has an unresolvable reference" in texts([finished])[0][1]
    assert fetched == []


# wrappers


def test_a_wrapper_can_replace_a_failed_call_with_another_tool() -> None:
    async def around(call: ToolCall, run: Any) -> FinishedCall:
        first: FinishedCall = await run(call)
        if not first.result.is_error:
            return first
        substitute: FinishedCall = await run(asked("outline", call.id, course="x"))
        return substitute

    tools = [tool(raising(RuntimeError("down")), "search"), tool(lambda course: f"outline of {course}", "outline")]
    (finished,) = ran([asked("search", "c1")], *tools, executor={"around": around})
    assert texts([finished]) == [("returned", "outline of x")]
    assert (finished.result.call_id, finished.result.name) == ("c1", "search")


def test_a_wrapper_that_raises_makes_the_call_fail() -> None:
    async def around(call: ToolCall, run: Any) -> FinishedCall:
        raise LookupError("the breaker broke")

    (finished,) = ran([asked("go")], tool(lambda: "went", "go"), executor={"around": around})
    assert (finished.outcome, finished.result.is_error) == ("raised", True)


# execution without a turn


def test_the_executor_can_be_used_without_a_turn() -> None:
    calls = [chat_call(f"c{n}", "go", f'{{"n": {n}}}') for n in range(3)]
    response = normalize(chat_body(*calls), wire="openai.chat")
    selection = select(response, limit=2)
    finished_calls = ran(selection.calls, tool(lambda n: n * 10, "go"))
    turns = answer(response, selection, [finished.result for finished in finished_calls])
    assert isinstance(turns[1], ToolResults)
    assert [result.call_id for result in turns[1].results] == ["c0", "c1", "c2"]
    assert [result.is_error for result in turns[1].results] == [False, False, True]


def test_a_call_that_admit_rejects_never_starts_and_gets_that_result() -> None:
    started: list[str] = []

    async def starting(call: ToolCall) -> bool:
        started.append(call.name)
        return True

    def admit(call: ToolCall) -> FinishedCall | None:
        return FinishedCall(call, failure(call, "too many today"), "skipped") if call.name == "one" else None

    tools = tool(lambda: "ran", "one"), tool(lambda: "ran", "two")
    finished_calls = ran([asked("one"), asked("two")], *tools, executor={"admit": admit}, on_start=starting)
    assert texts(finished_calls) == [("skipped", "too many today"), ("returned", "ran")]
    assert started == ["two"]
    finished_calls = ran([asked("one")], Tool(name="one"), executor={"admit": admit})  # the result is that of `admit`
    assert texts(finished_calls) == [("skipped", "too many today")]
