"""Results of tools: one result with a known outcome for every call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolparity import ToolCall
from toolparity.normalizer.conversation import JsonPart, MediaPart, TextPart, ToolResult
from toolparity.normalizer.turns.execution.executor import Executor, FinishedCall
from toolparity.normalizer.turns.execution.invoke import current_call
from toolparity.normalizer.turns.execution.tool_results import ToolFailed, rendered
from toolparity.normalizer.turns.execution.tools import Tools

from .executing import asked, raising, ran, texts, tool
from .playing import at_once

# what tools do


async def _hang() -> None:
    await asyncio.Event().wait()


def _hang_in_thread() -> None:
    threading.Event().wait()


def _raise_async(error: BaseException) -> Callable[[], Any]:
    async def function() -> None:
        await asyncio.sleep(0)
        raise error

    return function


class _Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


def _nest() -> list[Any]:
    nest: list[Any] = []
    nest.append(nest)
    return nest


def _takes_others(**given: Any) -> Any:
    return _hang_in_thread(**given, more=1)  # type: ignore[call-arg]


_FAILURES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "raises": (raising(KeyError("y")), "raised", "Tool 'bad' failed: KeyError: 'y'"),
    "raises async": (_raise_async(ValueError("no")), "raised", "Tool 'bad' failed: ValueError: no"),
    "fails in its own words": (raising(ToolFailed("File not found: /x")), "failed", "File not found: /x"),
    "exits": (raising(SystemExit(3)), "raised", "Tool 'bad' failed: SystemExit: 3"),
    "exits async": (_raise_async(SystemExit(3)), "raised", "Tool 'bad' failed: SystemExit: 3"),
    "interrupts": (raising(KeyboardInterrupt()), "raised", "Tool 'bad' failed: KeyboardInterrupt"),
    "interrupts async": (_raise_async(KeyboardInterrupt()), "raised", "Tool 'bad' failed: KeyboardInterrupt"),
    "cancels itself": (_raise_async(asyncio.CancelledError()), "raised", "Tool 'bad' failed: CancelledError"),
    "stops an iteration": (raising(StopIteration("x")), "raised", "Tool 'bad' failed: StopIteration: x"),
    "raises what cannot be read": (raising(_Unreadable()), "raised", "Tool 'bad' failed: _Unreadable"),
    "hangs async": (_hang, "timeout", "Tool execution timed out after 0.05s."),
    "hangs in its thread": (_hang_in_thread, "timeout", "Tool execution timed out after 0.05s."),
    "returns an object": (object, "unsayable", "The result of tool 'bad' is not JSON-serializable"),
    "returns not a number": (lambda: float("nan"), "unsayable", "NaN and infinity are not JSON"),
    "returns a nest without end": (_nest, "unsayable", "The result of tool 'bad' is not JSON-serializable"),
    "returns bytes that are no text": (lambda: b"\xff\xfe", "unsayable", "returned 2 bytes that are not UTF-8"),
    "returns an error": (
        lambda: ToolResult("", [TextPart("the index is offline")], is_error=True),
        "failed",
        "the index is offline",
    ),
    "takes other arguments inside": (_takes_others, "raised", "TypeError"),
}


@pytest.mark.parametrize("case", _FAILURES)
def test_whatever_one_tool_does_every_call_has_its_own_result(case: str) -> None:
    function, how, said = _FAILURES[case]
    tools = [tool(lambda: "fine", "good"), tool(function, "bad", timeout=0.05)]
    calls = [asked("good", "c1"), asked("bad", "c2"), asked("good", "c3")]
    found = ran(calls, *tools)
    assert [one.result.call_id for one in found] == ["c1", "c2", "c3"]
    assert texts([found[0], found[2]]) == [("returned", "fine")] * 2
    assert found[1].outcome == how
    assert found[1].result.is_error
    assert said in texts(found)[1][1]


_GOOD: dict[str, tuple[Any, list[Any]]] = {
    "text": ("words", [TextPart("words")]),
    "nothing": (None, []),
    "a value": ([{"id": 1}], [JsonPart([{"id": 1}])]),
    "bytes that are text": ("é".encode(), [TextPart("é")]),
    "parts": ([TextPart("a"), MediaPart("image", url="https://e.org/a.png")], None),
    "half an escape": ("\ud800", [TextPart("\ud800")]),
    "a number beyond 64 bits": (2**70, [JsonPart(2**70)]),
}


@pytest.mark.parametrize("case", _GOOD)
def test_what_tools_return_is_told_as_it_is(case: str) -> None:
    value, parts = _GOOD[case]
    (one,) = ran([asked("give")], tool(lambda: value, "give"))
    assert one.outcome == "returned"
    assert not one.result.is_error
    assert one.result.parts == (value if parts is None else parts)


def test_fifty_megabytes_are_cut_and_the_cut_is_told() -> None:
    big = "x" * 50_000_000
    for value in (big, {"rows": [big]}, big.encode()):
        (one,) = ran([asked("give")], tool(lambda value=value: value, "give"), executor={"most": 1000})
        (part,) = one.result.parts
        assert isinstance(part, TextPart)
        assert one.outcome == "returned"
        assert len(part.text) < 1100
        assert "the first 1000 of 5000" in part.text or "the first 1000 of 50000000 characters" in part.text


def test_of_many_parts_those_that_fit_are_kept() -> None:
    parts = [TextPart("a" * 6), TextPart("b" * 6), MediaPart("image", data="c" * 6)]
    result, how = rendered(asked("give"), parts, 10)
    assert how == "returned"
    assert [getattr(part, "text", "") for part in result.parts] == [
        "aaaaaa",
        "bbbb\n[cut: these are the first 4 of 6 characters]",
        "[1 more parts were left out]",
    ]
    result, _ = rendered(asked("give"), [MediaPart("image", data="c" * 60)], 10)
    assert result.parts == [TextPart("[image of 60 characters left out: the limit is 10]")]


def test_an_error_as_long_as_a_book_is_cut_too() -> None:
    result, _ = rendered(asked("give"), ValueError("x" * 5000), 100)
    assert len(result.parts[0].text) < 200  # type: ignore[union-attr]


# what tools get


def test_arguments_come_as_keywords_as_a_mapping_or_as_text() -> None:
    got: list[Any] = []
    tools = [
        tool(lambda a, b=2: got.append((a, b)), "keywords"),
        tool(got.append, "mapping", mapping=True),
        tool(got.append, "custom", kind="custom"),
    ]
    free = ToolCall("c", "custom", None, "free text {", kind="custom")
    for call in (asked("keywords", a=1), asked("mapping", **{"no-name": 1}), free):
        ran([call], *tools)
    assert got == [(1, 2), {"no-name": 1}, "free text {"]


def test_a_tool_that_changes_its_arguments_changes_no_history() -> None:
    def spoil(items: list[int]) -> None:
        items.clear()

    call = asked("spoil", items=[1, 2])
    ran([call], tool(spoil))
    assert call.arguments == {"items": [1, 2]}


def test_every_kind_of_function_is_a_tool() -> None:
    import functools

    class Callable_:  # noqa: N801
        async def __call__(self) -> str:
            return "called"

    async def later(word: str) -> str:
        return word

    tools = [
        tool(Callable_(), "object"),
        tool(functools.partial(later, "partial"), "partial"),
        tool(lambda: later("awaitable"), "awaitable"),
    ]
    found = ran([asked("object"), asked("partial"), asked("awaitable")], *tools)
    assert [text for _, text in texts(found)] == ["called", "partial", "awaitable"]


def test_a_tool_knows_its_call_and_says_how_far_it_is() -> None:
    said: list[Any] = []

    def work() -> str:
        context = current_call.get()
        context.progress({"done": 1})
        return f"{context.call_id} {context.turn} {context.round} {len(context.key)}"

    async def run() -> list[FinishedCall]:
        executor = Executor(Tools([tool(work)]))
        found = await executor.run(
            [asked("work")], turn="t", round=2, on_progress=lambda call, data: said.append((call.id, data))
        )
        await asyncio.sleep(0)
        return found

    assert texts(at_once(run())) == [("returned", "call_work t 2 32")]
    assert said == [("call_work", {"done": 1})]
    assert current_call.get(None) is None
