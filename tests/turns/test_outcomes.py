"""Results of tools: one result with a known outcome for every call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolparity import ToolCall
from toolparity.normalizer.conversation import JsonPart, MediaPart, TextPart, ToolResult
from toolparity.turns.execution.tool_results import ToolFailed, rendered
from toolparity.turns.execution.typed.injection import current_call

from .executing import asked, raising, raising_later, ran, texts, tool

# outcomes


async def _hang() -> None:
    await asyncio.Event().wait()


def _hang_in_thread() -> None:
    threading.Event().wait()


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
    "raises async": (raising_later(ValueError("no")), "raised", "Tool 'bad' failed: ValueError: no"),
    "fails in its own words": (raising(ToolFailed("File not found: /x")), "failed", "File not found: /x"),
    "exits": (raising(SystemExit(3)), "raised", "Tool 'bad' failed: SystemExit: 3"),
    "exits async": (raising_later(SystemExit(3)), "raised", "Tool 'bad' failed: SystemExit: 3"),
    "interrupts": (raising(KeyboardInterrupt()), "raised", "Tool 'bad' failed: KeyboardInterrupt"),
    "interrupts async": (raising_later(KeyboardInterrupt()), "raised", "Tool 'bad' failed: KeyboardInterrupt"),
    "cancels itself": (raising_later(asyncio.CancelledError()), "raised", "Tool 'bad' failed: CancelledError"),
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
def test_the_return_value_of_a_tool_becomes_its_result(case: str) -> None:
    value, parts = _GOOD[case]
    (finished,) = ran([asked("give")], tool(lambda: value, "give"))
    assert finished.outcome == "returned"
    assert not finished.result.is_error
    assert finished.result.parts == (value if parts is None else parts)


def test_a_result_of_five_megabytes_is_truncated_with_a_note() -> None:
    big = "x" * 5_000_000
    for value in (big, {"rows": [big]}, big.encode()):
        (finished,) = ran([asked("give")], tool(lambda value=value: value, "give"), executor={"most": 1000})
        (part,) = finished.result.parts
        assert isinstance(part, TextPart)
        assert finished.outcome == "returned"
        assert len(part.text) < 1100
        assert "the first 1000 of 5000" in part.text or "the first 1000 of 5000000 characters" in part.text


def test_parts_beyond_the_size_limit_are_left_out() -> None:
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
    for call in (asked("keywords", a=1), asked("mapping", **{"no-name": 1}), free):
        ran([call], *tools)
    assert received == [(1, 2), {"no-name": 1}, "free text {"]


def test_a_tool_can_read_its_call_and_report_progress() -> None:
    progress: list[Any] = []

    def work() -> str:
        context = current_call.get()
        context.progress({"done": 1})
        return f"{context.call_id} {context.turn} {context.round} {len(context.key)}"

    def kept(call: ToolCall, data: Any) -> None:
        progress.append((call.id, data))

    assert texts(ran([asked("work")], tool(work), turn="t", round=2, on_progress=kept)) == [
        ("returned", "call_work t 2 32")
    ]
    assert progress == [("call_work", {"done": 1})]
    assert current_call.get(None) is None
