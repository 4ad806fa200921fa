"""Conversion of everything that a tool returns or raises to exactly one tool result.

| the tool                                   | the result                                              | `CallOutcome` |
|---|---|---|
| returns text, a value, parts, a Result     | the returned content                                    | returned |
| returns None                               | an empty result                                         | returned |
| returns bytes that are UTF-8               | their text                                              | returned |
| returns a Result with ``is_error``         | the returned Result                                     | failed |
| raises ToolFailed                          | its message, as an error                                | failed |
| raises anything, SystemExit too            | "Tool 'x' failed: KeyError: 'y'", as an error           | raised |
| returns a value that is not serializable   | an error that states the reason                         | unsayable |
| returns more than the limit                | its beginning, and a note of the original size          | returned |
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...answers import result_of
from ...conversation import JsonPart, MediaPart, Part, TextPart, ToolResult
from ...errors import UnserializableResult
from ...model import ToolCall
from ..machine.state import CallOutcome
from .exceptions import described, message

#: Default maximum characters of one result, more than any context takes.
MOST = 1_000_000


class ToolFailed(Exception):
    """Raise this in a tool to report a failure to the model. The message becomes the error result unchanged."""


def rendered(call: ToolCall, outcome: Any, most: int = MOST) -> tuple[ToolResult, CallOutcome]:
    """Return the result of a call for the value that its tool returned or the exception that it raised. Never raises.

    ``most``: maximum characters of the result.
    """
    if isinstance(outcome, BaseException):
        return failure(call, _told(call, outcome), most), "failed" if isinstance(outcome, ToolFailed) else "raised"
    if isinstance(outcome, (bytes, bytearray, memoryview)):
        try:
            outcome = bytes(outcome).decode()
        except UnicodeDecodeError:
            said = f"Tool {call.name!r} returned {len(bytes(outcome))} bytes that are no text."
            return failure(call, said), "unsayable"
    try:
        result = limited(result_of(call, outcome), most)
        json_codec.encode(result)
    except UnserializableResult as error:
        return failure(call, f"Tool {call.name!r} returned something that cannot be told: {error.what}"), "unsayable"
    except BaseException as error:  # a method of the returned object raised
        said = f"Tool {call.name!r} returned something that cannot be read: {described(error)}"
        return failure(call, said, most), "unsayable"
    return result, "failed" if result.is_error else "returned"


def failure(call: ToolCall, text: str, most: int = MOST) -> ToolResult:
    """Return an error result for a call, with at most ``most`` characters of the text."""
    return limited(ToolResult(call.id, [TextPart(text)], is_error=True, name=call.name, kind=call.kind), most)


def limited(result: ToolResult, most: int) -> ToolResult:
    """Return the result with at most ``most`` characters in all parts together. A note states what was cut."""
    parts: list[Part] = []
    room = most
    for part in result.parts:
        size = _size(part)
        if size <= room:
            parts.append(part)
            room -= size
            continue
        parts.append(_cut(part, room, size))
        rest = len(result.parts) - len(parts)
        if rest:
            parts.append(TextPart(f"[{rest} more parts were left out]"))
        return replace(result, parts=parts, plain=len(parts) == 1 and result.plain)
    return result


def _size(part: Part) -> int:
    if isinstance(part, TextPart):
        return len(part.text)
    if isinstance(part, MediaPart):
        return len(part.data or "") + len(part.url or "")
    value = part.value if isinstance(part, JsonPart) else part.raw
    return len(json_codec.encode(value))


def _cut(part: Part, room: int, size: int) -> Part:
    if isinstance(part, MediaPart):
        return TextPart(f"[{part.kind} of {size} characters left out: the limit is {room}]")
    text = (
        part.text if isinstance(part, TextPart) else json_codec.text(part.value if isinstance(part, JsonPart) else "")
    )
    return TextPart(f"{text[:room]}\n[cut: these are the first {room} of {size} characters]")


def _told(call: ToolCall, error: BaseException) -> str:
    if isinstance(error, ToolFailed):
        return message(error) or f"Tool {call.name!r} failed."
    return f"Tool {call.name!r} failed: {described(error, None)}"
