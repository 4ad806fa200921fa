"""Conversion between tool results and content blocks."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import ToolResult
from ..history_reader import OpenCalls
from ..traverse import members_except
from ..write_context import OF_RESULTS, WriteContext, merged
from .parts import kind_of, read_parts, write_content

#: Content of an error result without content, which the provider would refuse.
FAILED = "The tool failed and said nothing."
#: Content of an error result whose content is not text, and therefore follows the results.
FAILED_BESIDE = "The tool failed; what it returned follows."


def read_result(block: dict[str, Any], calls: OpenCalls) -> ToolResult:
    """Convert a `tool_result` block. ``calls``: those that it may answer."""
    id, content = block.get("tool_use_id"), block.get("content")
    call = calls.take(id)
    result = ToolResult(
        call.id if call else id if isinstance(id, str) else "",
        read_parts(content),
        block.get("is_error") is True,
        plain=not isinstance(content, list),
        extra=members_except(block, "type", "tool_use_id", "content", "is_error"),
    )
    return replace(result, name=call.name, kind=call.kind) if call else result


def write_results(results: list[ToolResult], ids: dict[str, str], context: WriteContext) -> tuple[list[Any], list[Any]]:
    """Return the blocks of tool results, and the content that has to follow them.

    ``ids``: canonical call id -> id on the wire.
    """
    following: list[dict[str, Any]] = []
    blocks = []
    for result in results:
        content = write_content(result.parts, result.plain, context)
        if result.is_error and not isinstance(content, str):
            content = _write_failure(result, content, following, context)
        id = ids.get(result.call_id) or context.id(result.call_id)
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id}
        if content:
            block["content"] = content
        if result.is_error:
            block["is_error"] = True
        if context.own:
            block = merged(block, result.extra)
        else:
            context.lose_extra(result.extra, "", None, *OF_RESULTS)
        blocks.append(block)
    return blocks, following


def _write_failure(
    result: ToolResult, content: list[Any], following: list[dict[str, Any]], context: WriteContext
) -> list[Any] | str:
    """Return the content of an error result, which may only be text. The rest goes to ``following``, with a label."""
    texts = [block for block in content if kind_of(block) == "text"]
    if len(texts) < len(content):
        context.lose("order", "content of an error result that is not text was moved after the results")
        following.append({"type": "text", "text": f"Returned by {result.name or result.call_id}:"})
        following += [block for block in content if kind_of(block) != "text"]
        return texts or FAILED_BESIDE
    if not content:
        context.lose("empty", "an error result without content was given a placeholder")
    return texts or FAILED
