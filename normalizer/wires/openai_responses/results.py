"""Read and write tool results: each kind of call has its own type of output item.

The `output` of a function result is always present, even if it is empty (RES-05).
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart, ToolResult
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, OF_RESULTS, WriteContext, mark_failed, unmark_failed
from .parts import read_part, text_of, write_content, write_screenshot

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
_EMPTY_IMAGE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
#: Kinds of calls whose results hold only text or a special structure, and no media.
_TEXT_ONLY = frozenset(("apply_patch", "local_shell", "shell", "tool_search"))
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


def regular_results(results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
    """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
    answered: list[str] = []
    for result in results:  # every request runs this loop
        id, parts = result.call_id, result.parts
        answered.append(id)
        if result.extra or result.is_error or not result.plain or len(parts) != 1:
            return False
        part = parts[0]
        if type(part) is not TextPart or part.extra or result.wire_id is not None:
            return False
        text = part.text
        if ("[" <= text < "\\" and text[:6] == "[tool_") or not (text.isascii() or is_encodable(text)):
            return False  # the first comparison is faster: it looks for a bracket
        out.append({"type": "function_call_output", "call_id": id, "output": text})
    return answered == call_ids


def write_result(result: ToolResult, kind: str, call_id: str, context: WriteContext) -> list[dict[str, Any]]:
    """Return the items for one result: its output item, and a user message if that item cannot hold text.

    ``kind``: kind of the call. ``call_id``: its id on the wire.
    """
    own = context.own
    if own and result.extra.get(AS_WRITTEN) in OUTPUTS:
        kind = OUTPUTS[result.extra[AS_WRITTEN]]
    item: dict[str, Any] = {"type": TYPES.get(kind, "function_call_output"), "call_id": call_id}
    if own and result.wire_id is not None:
        item["id"] = result.wire_id
    following: list[dict[str, Any]] = []
    if kind in _TEXT_ONLY:
        _lose_media(result, kind, context)
    if kind == "computer":
        item["output"] = _screenshot(result, context, following)
    elif kind == "shell":
        item["output"] = _shell_output(result)
    elif kind == "tool_search":
        item["execution"] = "client"
        item["status"] = "completed"
        item["tools"] = _found_tools(result, context, following)
    elif kind == "apply_patch":
        item["status"] = "failed" if result.is_error else "completed"
        if result.parts:
            item["output"] = text_of(result.parts)
    elif kind == "local_shell":
        item.setdefault("id", call_id)
        item["output"] = text_of(_marked(result))
    elif own and len(result.parts) == 1 and not result.plain and type(part := result.parts[0]) is OpaquePart:
        item["output"] = part.raw if not part.wire_type else [part.raw]
    else:
        parts = _marked(result)
        item["output"] = write_content(parts, result.plain, context, in_output=True) if parts else ""
    if own:
        item.update((k, v) for k, v in result.extra.items() if k not in item and k != AS_WRITTEN)
    else:
        context.lose_extra(result.extra, f"the result for {result.call_id}", None, *OF_RESULTS)
    return [item, *following]


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
    return text_of(result.parts) or (_SILENT_ERROR if result.is_error else "")


def _value(result: ToolResult, default: Any) -> Any:
    part = result.parts[0] if len(result.parts) == 1 else None
    return part.value if type(part) is JsonPart and isinstance(part.value, list) else default


def _found_tools(result: ToolResult, context: WriteContext, following: list[dict[str, Any]]) -> list[Any]:
    """Return the tools that a search found. Text of the result goes to a user message in ``following``."""
    tools = _value(result, None)
    text = "" if isinstance(tools, list) and not result.is_error else _text(result)
    if text:
        context.lose("order", "the text of a tool search result was moved to a user message")
        following.append({"role": "user", "content": mark_failed(text, result.is_error)})
    return [] if text or tools is None else tools


def _lose_media(result: ToolResult, kind: str, context: WriteContext) -> None:
    """Report the parts that a result of text only cannot hold."""
    for part in result.parts:
        if type(part) is MediaPart:
            context.lose("media", f"{part.kind} was left out: a result of kind {kind} has only text")
        elif type(part) is OpaquePart:
            context.lose("opaque", f"{part.wire_type!r} was left out: a result of kind {kind} has only text")


def _shell_output(result: ToolResult) -> Any:
    output = _value(result, None)
    if output is not None:
        return output
    text = text_of(result.parts)
    stdout, stderr = ("", text or _SILENT_ERROR) if result.is_error else (text, "")
    return [{"stdout": stdout, "stderr": stderr, "outcome": {"type": "exit", "exit_code": int(result.is_error)}}]


def _screenshot(result: ToolResult, context: WriteContext, following: list[dict[str, Any]]) -> dict[str, Any]:
    image = next((part for part in result.parts if type(part) is MediaPart and part.kind == "image"), None)
    if text := _text(result):
        context.lose("order", "the text beside a screenshot was moved to a user message")
        following.append({"role": "user", "content": text})
    if image is not None and (context.own or image.file_id is None):
        return write_screenshot(image)
    context.lose("media", "the result of a computer call has no screenshot; an empty image was added")
    return {"type": "computer_screenshot", "image_url": _EMPTY_IMAGE}
