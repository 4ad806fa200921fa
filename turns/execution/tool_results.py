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

from toolparity.normalizer import json_codec
from toolparity.normalizer.answers import result_of
from toolparity.normalizer.conversation import JsonPart, MediaPart, Part, TextPart, ToolResult
from toolparity.normalizer.errors import UnserializableResult
from toolparity.normalizer.model import ToolCall

from ..machine.state import CallOutcome
from ..secrets import scrubbed, without_credentials
from .exceptions import described, message

#: Default maximum characters of one result, more than any context takes.
MOST = 1_000_000


class ToolFailed(Exception):
    """Raise this in a tool to report a failure to the model. The message becomes the error result."""


def rendered(call: ToolCall, returned: Any, most: int = MOST) -> tuple[ToolResult, CallOutcome]:
    """Return the result of a call for the value that its tool returned or the exception that it raised. Never raises.

    ``most``: maximum characters of the result.
    """
    if isinstance(returned, ToolFailed):
        return failure(call, message(returned) or f"Tool {call.name!r} failed.", most), "failed"
    if isinstance(returned, BaseException):
        return failure(call, f"Tool {call.name!r} failed: {described(returned, None)}", most), "raised"
    if isinstance(returned, (bytes, bytearray, memoryview)):
        try:
            returned = bytes(returned).decode()
        except UnicodeDecodeError:
            size = len(bytes(returned))
            return failure(call, f"Tool {call.name!r} returned {size} bytes that are not UTF-8."), "unsayable"
    try:
        result = limited(_without_credentials(result_of(call, returned)), most)
        json_codec.encode(result)
    except UnserializableResult as error:
        return failure(call, f"The result of tool {call.name!r} is not JSON-serializable: {error.what}"), "unsayable"
    except BaseException as error:  # a method of the returned object raised
        text = f"The result of tool {call.name!r} cannot be read: {described(error)}"
        return failure(call, text, most), "unsayable"
    return result, "failed" if result.is_error else "returned"


def failure(call: ToolCall, text: str, most: int = MOST) -> ToolResult:
    """Return an error result for a call, with at most ``most`` characters of the text and without credentials."""
    result = ToolResult(
        call.id, [TextPart(scrubbed(text, accounts=False))], is_error=True, name=call.name, kind=call.kind
    )
    return limited(result, most)


def _without_credentials(result: ToolResult) -> ToolResult:
    """Return an error result without credentials, such as that of an MCP server. Any other result stays."""
    if not result.is_error:
        return result
    media = {n: part for n, part in enumerate(result.parts) if isinstance(part, MediaPart)}  # base64 is not text
    texts = [replace(part, data=None) if isinstance(part, MediaPart) else part for part in result.parts]
    clean = without_credentials(replace(result, parts=texts), accounts=False)
    parts = [replace(part, data=media[n].data) if n in media else part for n, part in enumerate(clean.parts)]
    return replace(result, parts=parts, extra=clean.extra)


def limited(result: ToolResult, most: int) -> ToolResult:
    """Return the result with at most ``most`` characters in all parts together. A note states what was cut."""
    parts: list[Part] = []
    left = most
    for part in result.parts:
        text = _text(part)
        size = len(part.data or "") + len(part.url or "") if isinstance(part, MediaPart) else len(text)
        if size <= left:
            parts.append(part)
            left -= size
            continue
        if isinstance(part, MediaPart):
            parts.append(TextPart(f"[{part.kind} of {size} characters left out: the limit is {left}]"))
        else:
            parts.append(TextPart(f"{text[:left]}\n[cut: these are the first {left} of {size} characters]"))
        omitted = len(result.parts) - len(parts)
        if omitted:
            parts.append(TextPart(f"[{omitted} more parts were left out]"))
        return replace(result, parts=parts, plain=len(parts) == 1 and result.plain)
    return result


def quoted(text: str, length: int) -> str:
    """Return the text on one line, truncated to ``length`` characters and an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length].rstrip() + "…"


def _text(part: Part) -> str:
    if isinstance(part, MediaPart):
        return ""
    if isinstance(part, TextPart):
        return part.text
    return json_codec.text(part.value if isinstance(part, JsonPart) else part.raw)
