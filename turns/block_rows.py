"""Conversion of canonical blocks and tool results to the rows of a turn: block type, text, and other data as JSON.

The names and shapes are those of the turn log's document. Refusals, server calls and approvals, which the document does
not name, have additional types.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from toolparity.normalizer.conversation import JsonPart, TextPart, ToolResult
from toolparity.normalizer.model import (
    ApprovalRequest,
    Block,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)

#: Canonical block type -> block type of a row.
ROW_TYPES = {
    "text": "text",
    "reasoning": "thinking",
    "refusal": "refusal",
    "tool_call": "tool_use",
    "server_tool_call": "server_tool_use",
    "server_tool_result": "server_tool_result",
    "approval_request": "approval_request",
    "opaque": "opaque",
}
#: Block types of rows that consist of text.
TEXT_TYPES = ("text", "thinking", "refusal")


class BlockRow(NamedTuple):
    """The fields of a row except its sequence number."""

    block_type: str
    text_content: str | None = None
    content: Any = None


def row_of(block: Block) -> BlockRow:
    """Return the row of a block of an answer."""
    content: dict[str, Any]
    if isinstance(block, Text):
        return BlockRow("text", block.text, {"annotations": block.annotations} if block.annotations else None)
    if isinstance(block, Reasoning):
        content = {"signature": block.signature, "encrypted": block.encrypted, "redacted": block.redacted or None}
        return BlockRow("thinking", block.text, without_none(content))
    if isinstance(block, Refusal):
        return BlockRow("refusal", block.text)
    if isinstance(block, ToolCall):
        return BlockRow("tool_use", None, _tool_use(block))
    if isinstance(block, ServerToolCall):
        content = {"tool_use_id": block.id, "tool_name": block.name, "tool": block.tool, "input": block.arguments_text}
        return BlockRow("server_tool_use", None, content)
    if isinstance(block, ServerToolResult):
        content = {"tool_use_id": block.call_id, "tool": block.tool, "content": block.raw, "is_error": block.is_error}
        return BlockRow("server_tool_result", None, content)
    if isinstance(block, ApprovalRequest):
        content = {"approval_request_id": block.id, "server": block.server, "tool_name": block.name}
        return BlockRow("approval_request", None, {**content, "input": block.arguments_text})
    return BlockRow("opaque", None, {"wire_type": block.wire_type, "raw": msgspec.to_builtins(block.raw)})


def row_of_result(result: ToolResult) -> BlockRow:
    """Return the row of a tool result."""
    content = {"tool_use_id": result.call_id, "content": result_content(result), "is_error": result.is_error}
    return BlockRow("tool_result", None, content)


def result_content(result: ToolResult) -> Any:
    """Return the content of a result: its text if all parts are text, the value of a single JSON part, or its parts."""
    parts = result.parts
    if all(isinstance(part, TextPart) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, TextPart))
    if len(parts) == 1 and isinstance(parts[0], JsonPart):
        return parts[0].value
    return msgspec.to_builtins(parts)


def without_none(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return the members that are not None, None if there are none."""
    return {name: value for name, value in content.items() if value is not None} or None


def _tool_use(call: ToolCall) -> dict[str, Any]:
    content: dict[str, Any] = {"tool_use_id": call.id, "tool_name": call.name, "input": call.arguments}
    if call.kind not in ("function", "legacy_function"):
        content["kind"] = call.kind
    if call.kind == "custom":
        content["input"] = call.arguments_text
    elif call.arguments is None:
        content["arguments_text"] = call.arguments_text
    if call.status != "complete":
        content["status"] = call.status
    return content
