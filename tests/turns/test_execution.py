"""Execution: all calls at once or in order; exactly one result each, in call order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolparity import ToolCall
from toolparity.normalizer.conversation import JsonPart, MediaPart, TextPart, ToolResult
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.thread_limit import ThreadLimit
from toolparity.turns.execution.threads import Threads
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tool_results import ToolFailed, failure, rendered
from toolparity.turns.execution.tools import Tools
from toolparity.turns.turn import Turn

from .executing import asked, raising, ran, texts, tool
from .playing import Emulated, Say, at_once, call, finished, script

# concurrency


def test_under_all_calls_run_concurrently_and_results_are_in_call_order_whatever_ends_first() -> None:
    """000, Option 2; 002, Implementation Steps: three calls each wait until the other two have begun.

    In sequence they would never end.
    """
    barrier, in_threads = asyncio.Barrier(3), threading.Barrier(3, timeout=20)
    ended: list[str] = []

    async def meet(who: str) -> str:
        await barrier.wait()
        for _ in range(20 - 5 * int(who)):
            await asyncio.sleep(0)
        ended.append(who)
        return who

    def meet_in_threads(who: str) -> str:
        in_threads.wait()
        return who

    for function in (meet, meet_in_threads):
        finished_calls = ran([asked("meet", f"c{n}", who=f"{n}") for n in range(3)], tool(function, "meet"))
        assert texts(finished_calls) == [("returned", "0"), ("returned", "1"), ("returned", "2")]
    assert ended == ["2", "1", "0"]


def test_under_batch_calls_run_one_after_the_other_in_order() -> None:
    """000, Option 1, Recommendation: each with its result, in sequence, whatever their duration."""
    log: list[str] = []

    def logging(name: str) -> Callable[[], Any]:
        async def function() -> None:
            log.append(f"{name} begins")
            for _ in range(3):
                await asyncio.sleep(0)
            log.append(f"{name} ends")

        return function

    tools = [tool(logging(name), name) for name in "abc"]
    played = script([call("c"), call("a"), call("b")], [Say("Done.")], tools="abc")
    turn = finished(Turn(Emulated("openai.chat", played), tools, policy="batch"))
    assert log == ["c begins", "c ends", "a begins", "a ends", "b begins", "b ends"]
    assert [result.name for result in turn.state.rounds[0].tool_results] == ["c", "a", "b"]


# calls that do not run


def test_a_remote_schema_reference_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **_: fetched.append(given))
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}
    [(outcome, text)] = texts(ran([asked("remote", a=1)], tool(lambda a=None: a, "remote", parameters=schema)))
    assert (outcome, fetched) == ("invalid_arguments", [])
    assert "the schema has an unresolvable reference" in text


def test_a_call_that_admit_rejects_never_starts_and_gets_that_result() -> None:
    started: list[str] = []

    async def starting(call: ToolCall) -> bool:
        started.append(call.name)
        return True

    def admit(call: ToolCall) -> FinishedCall | None:
        return FinishedCall(call, failure(call, "too many today"), "skipped") if call.name != "two" else None

    tools = [tool(lambda: "ran", "one"), tool(lambda: "ran", "two"), Tool(name="elsewhere")]
    finished_calls = ran([asked(each.name) for each in tools], *tools, executor={"admit": admit}, on_start=starting)
    skipped = "skipped", "too many today"
    assert (texts(finished_calls), started) == ([skipped, ("returned", "ran"), skipped], ["two"])


# outcomes


NEST: list[Any] = []
NEST.append(NEST)

_FAILURES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "raises": (raising(KeyError("y")), "raised", "Tool 'bad' failed: KeyError: 'y'"),
    "fails in its own words": (raising(ToolFailed("File not found: /x")), "failed", "File not found: /x"),
    "exits": (raising(SystemExit(3)), "raised", "Tool 'bad' failed: SystemExit: 3"),
    "hangs in its thread": (lambda: threading.Event().wait(), "timeout", "Tool execution timed out after 0.05s."),
    "returns not a number": (lambda: float("nan"), "unsayable", "NaN and infinity are not JSON"),
    "returns a nest without end": (lambda: NEST, "unsayable", "The result of tool 'bad' is not JSON-serializable"),
    "returns bytes that are no text": (lambda: b"\xff\xfe", "unsayable", "returned 2 bytes that are not UTF-8"),
    "returns an error": (lambda: ToolResult("", [TextPart("offline")], is_error=True), "failed", "offline"),
    "takes other arguments inside": (lambda: len(1, 2), "raised", "TypeError"),  # type: ignore[arg-type, call-arg]
}


@pytest.mark.parametrize("case", _FAILURES)
def test_every_call_has_its_own_result_whatever_a_tool_does(case: str) -> None:
    function, outcome, message = _FAILURES[case]
    tools = [tool(lambda: "fine", "good"), tool(function, "bad", timeout=0.05)]
    calls = [asked("good", "c1"), asked("bad", "c2"), asked("good", "c3")]
    finished_calls = ran(calls, *tools)
    assert [finished.result.call_id for finished in finished_calls] == ["c1", "c2", "c3"]
    assert texts([finished_calls[0], finished_calls[2]]) == [("returned", "fine")] * 2
    assert finished_calls[1].outcome == outcome
    assert finished_calls[1].result.is_error
    assert message in texts(finished_calls)[1][1]


MIXED = [TextPart("a"), MediaPart("image", url="https://e.org/a.png")]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("words", [TextPart("words")]),
        (None, []),
        ([{"id": 1}], [JsonPart([{"id": 1}])]),
        ("é".encode(), [TextPart("é")]),
        (MIXED, MIXED),
        ("\ud800", [TextPart("\ud800")]),
        (2**70, [JsonPart(2**70)]),  # beyond 64 bits
    ],
    ids=["text", "nothing", "a value", "bytes that are text", "parts", "half an escape", "a large number"],
)
def test_the_return_value_of_a_tool_or_what_it_awaits_becomes_its_result(value: Any, parts: list[Any]) -> None:
    async def later() -> Any:
        return value

    for function in (lambda: value, lambda: later()):  # noqa: PLW0108
        (finished,) = ran([asked("give")], tool(function, "give"))
        assert (finished.outcome, finished.result.is_error, finished.result.parts) == ("returned", False, parts)


def test_a_result_beyond_the_size_limit_is_cut_with_a_note_and_its_further_parts_are_left_out() -> None:
    big = "x" * 5_000_000
    for value in (big, {"rows": [big]}, big.encode()):
        [(outcome, text)] = texts(
            ran([asked("give")], tool(lambda value=value: value, "give"), executor={"most": 1000})
        )
        assert (outcome, len(text) < 1100) == ("returned", True)
        assert "the first 1000 of 5000" in text
    parts = [TextPart("a" * 6), TextPart("b" * 6), MediaPart("image", data="c" * 6)]
    result, outcome = rendered(asked("give"), parts, 10)
    assert outcome == "returned"
    assert [getattr(part, "text", "") for part in result.parts] == [
        "aaaaaa",
        "bbbb\n[cut: these are the first 4 of 6 characters]",
        "[1 more parts were left out]",
    ]
    result, _ = rendered(asked("give"), [MediaPart("image", data="c" * 60)], 10)
    assert result.parts == [TextPart("[image of 60 characters left out: the limit is 10]")]
    result, _ = rendered(asked("give"), ValueError("x" * 5000), 100)
    assert len(result.parts[0].text) < 200  # type: ignore[union-attr]


# arguments


def test_tools_receive_arguments_as_keywords_a_mapping_or_text() -> None:
    received: list[Any] = []
    tools = [
        tool(lambda a, b=2: received.append((a, b)), "keywords"),
        tool(received.append, "mapping", mapping=True),
        tool(received.append, "custom", kind="custom"),
    ]
    free = ToolCall("c", "custom", None, "free text {", kind="custom")
    for made in (asked("keywords", a=1), asked("mapping", **{"no-name": 1}), free):
        ran([made], *tools)
    assert received == [(1, 2), {"no-name": 1}, "free text {"]


# abandoned work


def test_a_timeout_is_logged_in_one_line_and_a_failed_cleanup_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async def breaks() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("the cleanup failed")

    tools = Tools([tool(hang, timeout=0.01), tool(breaks, timeout=0.01)])
    finished = at_once(Executor(tools).run([asked("hang"), asked("breaks")]))
    assert [one.outcome for one in finished] == ["timeout"] * 2
    of_hang = [record for record in caplog.records if "hang" in record.getMessage()]
    assert [(one.getMessage(), one.exc_info) for one in of_hang] == [
        ("tool hang timed out after 0.01s: call call_hang", None)
    ]
    assert "RuntimeError: the cleanup failed" in caplog.text


def test_no_threads_are_started_when_too_many_hang() -> None:
    release = threading.Event()
    tools = Tools([tool(lambda: release.wait(20), "stuck", timeout=0.02), tool(lambda: "ran", "next")])

    async def run() -> list[FinishedCall]:
        executor = Executor(tools, threads=Threads(most=4, most_abandoned=1, limit=ThreadLimit()))
        await executor.run([asked("stuck")])
        return await executor.run([asked("next")])

    try:
        [(outcome, text)] = texts(at_once(run()))
        assert (outcome, "too many abandoned threads: 1" in text) == ("raised", True)
    finally:
        release.set()
