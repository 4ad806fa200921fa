"""Conversion between tool results and messages of role tool, which hold only text."""

from __future__ import annotations

from typing import Any

from ...conversation import MediaPart, Part, TextPart, ToolResult, ToolResults
from ..write_context import OF_RESULTS, REPEATED, WriteContext, mark_failed, unmark_failed
from . import serialize
from .parts import opaque_part, with_content, write_content
from .schema import ROLE_TOOL, ROLE_USER, Content, ProtoMessage, is_plain, parse_dict


def read_result(message: Any, id: str, extra: dict[str, Any]) -> ToolResult:
    """Convert a tool message. ``id``: canonical id of the call. ``extra``: members without a canonical field."""
    parts: list[Part] = [
        TextPart(part.text) if part.WhichOneof("content") == "text" else opaque_part(part) for part in message.content
    ]
    failed = False
    if parts and isinstance(parts[0], TextPart):
        text, failed = unmark_failed(parts[0].text)
        parts[0] = TextPart(text)
    return ToolResult(id, parts, failed, message.name or None, plain=is_plain(message.content), extra=extra)


def regular_results(results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
    """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
    if [result.call_id for result in results] != call_ids:
        return False
    for result in results:  # every request runs this loop
        parts = result.parts
        if result.extra or len(parts) != 1:
            return False
        part = parts[0]
        if type(part) is not TextPart or part.extra:
            return False
        text = part.text
        if result.is_error or "[" <= text < "\\":  # it begins with a bracket
            text = mark_failed(text, result.is_error)
        if (piece := serialize.piece(text)) is None:
            return False
        serialize.append_result(result.call_id, piece, out)
    return True


def write_results(message: ToolResults, ids: dict[str, str], context: WriteContext) -> list[Any]:
    """Return one tool message per result, and a user message with their media (RES-03).

    ``ids``: canonical call id -> id on the wire.
    """
    written = []
    media: list[Any] = []
    if not context.own:
        context.lose_extra(message.extra)
    for result in message.results:
        id = ids.get(result.call_id) or context.id(result.call_id)
        content, moved = _write_parts(result, context)
        media += moved
        tool_message = ProtoMessage(role=ROLE_TOOL, content=content, tool_call_id=id)
        if context.own:
            parse_dict({**result.extra, **result.extra.get(REPEATED, {})}, tool_message)
        else:
            context.lose_extra(result.extra, "", None, *OF_RESULTS)
        written.append(with_content(tool_message))
    if media:
        written.append(ProtoMessage(role=ROLE_USER, content=media))
    return written


def _write_parts(result: ToolResult, context: WriteContext) -> tuple[list[Any], list[Any]]:
    """Return the content of a tool message, and the content that has to follow in a user message."""
    if not any(type(part) is MediaPart for part in result.parts):
        return _marked(write_content(result.parts, context), result.is_error), []
    staying: list[Part] = []
    moving: list[Part] = []
    for part in result.parts:
        (moving if isinstance(part, MediaPart) else staying).append(part)
    label = result.name or result.call_id
    context.lose("order", f"media of the result of {label} were moved to a user message")
    if not staying:
        staying.append(TextPart("The result follows in the next message of the user."))
    moving.insert(0, TextPart(f"Returned by {label} ({result.call_id}):"))
    return _marked(write_content(staying, context), result.is_error), write_content(moving, context)


def _marked(content: list[Any], is_error: bool) -> list[Any]:
    """Mark the content of a tool message as an error in its text, because xAI has no error flag."""
    if content and content[0].WhichOneof("content") == "text":
        content[0].text = mark_failed(content[0].text, is_error)
    elif is_error:
        content.insert(0, Content(text=mark_failed("", True)))
    return content
