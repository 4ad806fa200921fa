"""Conversion between tool results and messages of the role `tool`."""

from __future__ import annotations

from typing import Any

from ...conversation import TextPart, ToolResult
from ...model import ToolCall
from ..traverse import members_except, text
from ..write_context import OF_RESULTS, WriteContext, mark_failed, unmark_failed
from .parts import read_parts, write_parts

#: Members that name the call of a result. Older servers know neither, and the SDK only ``tool_name``.
_NAMING = ("tool_name", "tool_call_id")


def read_result(message: dict[str, Any], call: ToolCall | None) -> ToolResult:
    """Convert a message of the role `tool`. ``call``: the call that it answers.

    ``extra`` of the result has a member of `_NAMING` as None if the message lacks it, so that it is not written back,
    and a name that differs from that of the call.
    """
    name, id = (message.get(member) for member in _NAMING)
    extra = members_except(message, "role", "content", "images", *_NAMING)
    extra |= {member: message.get(member) for member in _NAMING if not isinstance(message.get(member), str)}
    if call is not None and text(name) not in ("", call.name):
        extra["tool_name"] = name
    parts = read_parts(message)
    failed = False
    if parts and type(last := parts[-1]) is TextPart:
        unmarked, failed = unmark_failed(last.text)
        parts[-1:] = [TextPart(unmarked)] if unmarked or len(parts) == 1 else []
    return ToolResult(
        call.id if call else text(id),
        parts,
        failed,
        text(name) or (call.name if call else None),
        call.kind if call else "function",
        extra=extra,
    )


def write_results(
    results: list[ToolResult], ids: dict[str, str | None], names: dict[str, str], context: WriteContext
) -> list[dict[str, Any]]:
    """Return the messages of tool results. ``ids``, ``names``: canonical call id -> id (None: no id) or name there."""
    return [_write_result(result, ids.get(result.call_id), names.get(result.call_id), context) for result in results]


def _write_result(result: ToolResult, id: str | None, name: str | None, context: WriteContext) -> dict[str, Any]:
    content, images = write_parts(result.parts, context, "\n")
    message: dict[str, Any] = {"role": "tool", "content": mark_failed(content, result.is_error)}
    if images:
        message["images"] = images
    extra = result.extra
    if not context.own:
        context.lose_extra(extra, "", None, *OF_RESULTS)
        extra = {}
    if name and "tool_name" not in extra:
        message["tool_name"] = name
    if id is not None and "tool_call_id" not in extra:
        message["tool_call_id"] = id
    message.update((key, value) for key, value in extra.items() if key not in message and value is not None)
    return message
