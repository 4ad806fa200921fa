"""Read and write tool results: each kind of call has its own type of output item.

The `output` of a function result is always present, even if it is empty (RES-05).
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart, ToolResult
from ..write_context import OF_RESULTS, WriteContext, mark_failed, unmark_failed, unrepresented
from .parts import AS_WRITTEN, Parts, read_part, screenshot, words

#: Type of an output item -> kind of the call that it answers.
OUTPUTS: dict[str, str] = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "computer_call_output": "computer",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "tool_search_output": "tool_search",
}
TYPES = {kind: type for type, kind in OUTPUTS.items()}
#: An image of one transparent pixel, because the result of a computer call has to be an image.
_NO_PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
#: Kinds of calls whose results hold only text or a special structure, and no media.
_WORDS_ONLY = frozenset(("apply_patch", "local_shell", "shell", "tool_search"))
_SILENT_ERROR = "The call failed without a message."


def read_result(item: dict[str, Any]) -> ToolResult:
    """Return the canonical result for an output item."""
    kind = OUTPUTS[item["type"]]
    member = "tools" if kind == "tool_search" else "output"
    output = item.get(member)
    id, call_id = item.get("id"), item.get("call_id")
    if kind == "local_shell" and not isinstance(call_id, str):
        call_id = id  # in the SDK's type, `id` is the call id
    extra = {k: v for k, v in item.items() if k not in ("type", "id", "call_id", member) and v is not None}
    parts: list[Part]
    plain = True
    if isinstance(output, str):
        parts = [TextPart(output)] if output else []
    elif output is None:
        parts = []
    elif kind in ("shell", "tool_search"):
        parts = [JsonPart(output)]
    elif isinstance(output, list):
        parts, plain = [read_part(part) for part in output], False
    elif kind == "computer":
        parts, plain = [read_part(output)], False
    else:
        parts, plain = [OpaquePart("", output)], False
    failed = kind == "apply_patch" and item.get("status") == "failed"
    if parts and type(parts[0]) is TextPart and kind in ("function", "custom", "local_shell"):
        text, failed = unmark_failed(parts[0].text)
        if text != parts[0].text:
            parts[:1] = [TextPart(text, parts[0].extra)] if text or len(parts) == 1 else []
    own = id if isinstance(id, str) else None
    return ToolResult(call_id if isinstance(call_id, str) else "", parts, failed, None, kind, plain, own, extra)


def plain_text(result: ToolResult) -> str | None:
    """Return the text of a result that is one plain text without an error mark; None for any other."""
    if len(result.parts) == 1 and result.plain and not result.extra and result.wire_id is None:
        part = result.parts[0]
        if type(part) is TextPart and not (result.is_error or part.extra or part.text[:6] == "[tool_"):
            return part.text
    return None


def write_result(
    result: ToolResult, kind: str, call_id: str, parts: Parts, context: WriteContext, native: bool, turn: int
) -> list[dict[str, Any]]:
    """Return the items for one result: its output item, and a user message if that item cannot hold text.

    ``kind``: kind of the call. ``call_id``: its id on the wire. ``native``: the request goes back to the provider it
    came from. ``turn``: position of the turn, for losses.
    """
    if native and result.extra.get(AS_WRITTEN) in OUTPUTS:
        kind = OUTPUTS[result.extra[AS_WRITTEN]]
    item: dict[str, Any] = {"type": TYPES.get(kind, "function_call_output"), "call_id": call_id}
    if native and result.wire_id is not None:
        item["id"] = result.wire_id
    notes: list[dict[str, Any]] = []
    if kind in _WORDS_ONLY:
        _lose_media(result, kind, context, turn)
    if kind == "computer":
        item["output"] = _picture(result, native, context, turn, notes)
    elif kind == "shell":
        item["output"] = _shell(result)
    elif kind == "tool_search":
        item["execution"] = "client"
        item["status"] = "completed"
        item["tools"] = _found(result, context, turn, notes)
    elif kind == "apply_patch":
        item["status"] = "failed" if result.is_error else "completed"
        if result.parts:
            item["output"] = words(result.parts)
    elif kind == "local_shell":
        item.setdefault("id", call_id)
        item["output"] = words(_marked(result))
    elif len(result.parts) == 1 and not result.plain and type(result.parts[0]) is OpaquePart and native:
        part = result.parts[0]
        item["output"] = part.raw if not part.wire_type else [part.raw]
    else:
        said = _marked(result)
        item["output"] = parts.content(said, result.plain, turn) if said else ""
    if native and result.extra:
        item.update((k, v) for k, v in result.extra.items() if k not in item and k != AS_WRITTEN)
    elif lost := unrepresented(result.extra, *OF_RESULTS):
        context.lose("extra", f"{', '.join(lost)} of the answer to {result.call_id}", turn)
    return [item, *notes]


def _marked(result: ToolResult) -> list[Part]:
    """Return the parts, with a failure marked in the text, as there is no flag for it (RES-01, RES-07)."""
    first = result.parts[0] if result.parts else None
    if isinstance(first, JsonPart) and result.is_error:
        first = TextPart(json_codec.text(first.value), first.extra)
    if isinstance(first, TextPart):
        text = mark_failed(first.text, result.is_error)
        return result.parts if text == first.text else [TextPart(text, first.extra), *result.parts[1:]]
    return [TextPart(mark_failed("", True)), *result.parts] if result.is_error else result.parts


def _text(result: ToolResult) -> str:
    return words(result.parts) or (_SILENT_ERROR if result.is_error else "")


def _value(result: ToolResult, default: Any) -> Any:
    part = result.parts[0] if len(result.parts) == 1 else None
    return part.value if type(part) is JsonPart and isinstance(part.value, list) else default


def _found(result: ToolResult, context: WriteContext, turn: int, notes: list[dict[str, Any]]) -> list[Any]:
    """Return the tools that a search found. Text of the result goes to a user message in ``notes``."""
    tools = _value(result, None)
    said = "" if isinstance(tools, list) and not result.is_error else _text(result)
    if said:
        context.lose("order", "the words that a search for tools returned stand in a message after it", turn)
        notes.append({"role": "user", "content": mark_failed(said, result.is_error)})
    return [] if said or tools is None else tools


def _lose_media(result: ToolResult, kind: str, context: WriteContext, turn: int) -> None:
    """Report the parts that a result of text only cannot hold."""
    for part in result.parts:
        if type(part) is MediaPart:
            context.lose("media", f"an answer to a call of kind {kind} holds no {part.kind}; it was left out", turn)
        elif type(part) is OpaquePart:
            context.lose("opaque", f"an answer to a call of kind {kind} holds no {part.wire_type!r}", turn)


def _shell(result: ToolResult) -> Any:
    output = _value(result, None)
    if output is not None:
        return output
    text = words(result.parts)
    said, failed = ("", text or _SILENT_ERROR) if result.is_error else (text, "")
    return [{"stdout": said, "stderr": failed, "outcome": {"type": "exit", "exit_code": int(result.is_error)}}]


def _picture(
    result: ToolResult, native: bool, context: WriteContext, turn: int, notes: list[dict[str, Any]]
) -> dict[str, Any]:
    picture = next((part for part in result.parts if type(part) is MediaPart and part.kind == "image"), None)
    said = _text(result)
    if said:
        context.lose("order", "the words beside a picture of the screen stand in a message after it", turn)
        notes.append({"role": "user", "content": said})
    if picture is not None and (native or picture.file_id is None):
        return screenshot(picture)
    context.lose("media", "a computer call without a picture of the screen got an empty one", turn)
    return {"type": "computer_screenshot", "image_url": _NO_PICTURE}
