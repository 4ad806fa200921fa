"""Conversion between tool results and content blocks."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import ToolResult
from ..history_reader import OpenCalls
from ..traverse import members_except
from ..write_context import OF_RESULTS, WriteContext, merged
from .parts import read_parts, write_content

#: Content of an error result without content, which Bedrock would refuse (recorded by its users: "cannot be empty when
#: status value is error").
FAILED = "The tool failed and said nothing."


def read_result(block: dict[str, Any], calls: OpenCalls) -> ToolResult:
    """Convert a `toolResult` block. ``calls``: those that it may answer."""
    result = block["toolResult"]
    id = result.get("toolUseId")
    call = calls.take(id)
    failed = result.get("status") == "error"
    known = ("toolUseId", "content", "status") if failed else ("toolUseId", "content")
    extra = {**members_except(block, "toolResult"), **members_except(result, *known)}
    parts = read_parts(result.get("content"))
    read = ToolResult(call.id if call else id if isinstance(id, str) else "", parts, failed, plain=False, extra=extra)
    return replace(read, name=call.name, kind=call.kind) if call else read


def write_results(results: list[ToolResult], ids: dict[str, str], context: WriteContext) -> list[dict[str, Any]]:
    """Return the blocks of tool results. ``ids``: canonical call id -> id on the wire."""
    blocks = []
    for result in results:
        content = write_content(result.parts, context, in_result=True)
        if result.is_error and not content:
            context.lose("empty", "an error result without content was given a placeholder")
            content = [{"text": FAILED}]
        written: dict[str, Any] = {
            "toolUseId": ids.get(result.call_id) or context.id(result.call_id),
            "content": content,
        }
        if result.is_error:
            written["status"] = "error"
        if not context.own:
            context.lose_extra(result.extra, "", None, *OF_RESULTS)
        elif result.extra:
            written = merged(written, result.extra)
        blocks.append({"toolResult": written})
    return blocks
