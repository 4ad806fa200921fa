"""Conversion between tool results and messages of the role `tool`, which have texts and documents, but no images."""

from __future__ import annotations

from typing import Any

from ...conversation import MediaPart, Part, TextPart, ToolResult
from ...model import ToolCall
from ..traverse import members_except
from ..write_context import FAILED, OF_RESULTS, WriteContext, mark_failed, unmark_failed
from .parts import image_part, read_parts, write_content

_NOTE = "[image: it follows in the next user message]"


def read_result(message: dict[str, Any], call: ToolCall | None) -> ToolResult:
    """Convert a message of the role `tool`. ``call``: the call that it answers."""
    content, id = message.get("content"), message.get("tool_call_id")
    parts, failed = read_parts(content), False
    if parts and isinstance(first := parts[0], TextPart):
        text, failed = unmark_failed(first.text)
        if text is not first.text:
            parts[:1] = [TextPart(text, first.extra)] if text or len(parts) == 1 else []
    result_id = call.id if call else id if isinstance(id, str) else ""
    kind, name = (call.kind, call.name) if call else ("function", None)
    extra = members_except(message, "role", "content", "tool_call_id")
    return ToolResult(result_id, parts, failed, name, kind, isinstance(content, str), extra=extra)


def write_result(
    result: ToolResult, id: str | None, context: WriteContext, images: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the message of a tool result. ``id``: the id of the call on the wire; None if it has none.

    Images are appended to ``images``, with a label: they have to follow in a user message (RES-03).
    """
    parts: list[Part] = []
    moved: list[dict[str, Any]] = []
    for part in result.parts:
        image = image_part(part, context) if type(part) is MediaPart else None
        if image is not None:
            moved.append(image)
        parts.append(part if image is None else TextPart(_NOTE))
    if moved:
        context.lose("media", "images of a result were moved to a user message")
        images += [{"type": "text", "text": f"Returned for {id or result.name}:"}, *moved]
    content = write_content(parts, result.plain, context)
    if isinstance(content, str):
        content = mark_failed(content, result.is_error)
    elif content and isinstance(content[0], dict) and isinstance(content[0].get("text"), str):
        content[0] = {**content[0], "text": mark_failed(content[0]["text"], result.is_error)}
    elif result.is_error:
        content = [{"type": "text", "text": FAILED}, *content]
    elif not (content or context.own):
        content = ""
    message: dict[str, Any] = {"role": "tool", "tool_call_id": id, "content": content}
    if id is None:
        del message["tool_call_id"]
    if context.own:
        return {**message, **result.extra}
    context.lose_extra(result.extra, "", None, *OF_RESULTS)
    return message
