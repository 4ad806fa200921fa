"""Conversion of Anthropic's content blocks to canonical blocks, for complete messages and finished streams."""

from __future__ import annotations

from typing import Any

from ...model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall, Usage
from ..call_builder import CallBuilder
from ..schema import Unknown, Wire, exact_text, raw_object
from ..usage import first_int
from . import schema as s

#: Canonical tools of server tools that have another name.
_TOOLS = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "tool_search_tool_regex": "tool_search",
    "tool_search_tool_bm25": "tool_search",
}


def convert(builder: CallBuilder, wire: Wire, index: int, cut: bool, text: str | None = None) -> Block | None:
    """Convert a content block to a canonical block. Returns None if it repeats an earlier call.

    ``index``: index of the canonical block. ``cut``: the response was cut inside this block. ``text``: the streamed
    argument text of a call; if None, the arguments are in its ``input``.
    """
    if type(wire) is s.TextBlock:
        return text_block(wire)
    if type(wire) is s.ToolUseBlock:
        return _tool_use(builder, wire, index, cut, text)
    if type(wire) is s.ThinkingBlock:
        return Reasoning(wire.thinking, wire.signature, extra=wire.extra_ or {})
    if type(wire) is s.RedactedThinkingBlock:
        return Reasoning("", None, wire.data, True, wire.extra_ or {})
    if type(wire) is s.ServerToolUseBlock or type(wire) is s.McpToolUseBlock:
        return _server_use(wire, text)
    if type(wire) is s.Compaction:
        return _compaction(wire)
    if type(wire) is Unknown:
        return Opaque(wire.wire_type, wire.raw, wire.extra_ or {})
    return _result(wire)


def text_block(block: s.TextBlock) -> Text:
    """Convert a text."""
    return Text(block.text, block.citations or [], block.extra_ or {})


def regular_call(builder: CallBuilder, block: s.ToolUseBlock) -> ToolCall | None:
    """Convert a regular client call of a body, as nearly all are. Returns None if the call needs `convert`."""
    if block.extra_ is not None or block.toolset_name is not None or builder.context.respelled:
        return None
    text = str(block.input, "utf-8", "replace")
    return builder.regular_call(block.id, block.name, text, "function", None, None, None, block.caller)


def _tool_use(builder: CallBuilder, block: s.ToolUseBlock, index: int, cut: bool, text: str | None) -> Block | None:
    if text is None:
        has_input = len(memoryview(block.input)) > 0
        text = exact_text(block.input) if has_input else ""
        if has_input and builder.context.respelled:
            builder.context.find("arguments-respelled", "", builder.choice, index)
    if block.id in builder.seen and builder.repeats(block.id, block.name, text):
        return None
    extra: dict[str, Any] | None = block.extra_
    if block.toolset_name is not None:
        extra = {**(extra or {}), "toolset_name": block.toolset_name}
    return builder.build(index, block.id, block.name, text, caller=block.caller, extra=extra, cut=cut)


def _server_use(block: Any, text: str | None) -> ServerToolCall:
    if text is None:
        text = exact_text(block.input) if memoryview(block.input) else ""
    extra = dict(block.extra_ or {})
    if type(block) is s.McpToolUseBlock:
        tool = "mcp"
        extra["server_name"] = block.server_name
    else:
        tool = _TOOLS.get(block.name or "", block.name or "")
        if block.caller is not None:
            extra["caller"] = block.caller
    return ServerToolCall(block.id or "", tool, block.name or "", text, None, extra)


def _compaction(block: s.Compaction) -> Reasoning:
    """Convert a summary that replaces older messages. It is model state to send back, not text for the user."""
    extra = {"type": "compaction", **(block.extra_ or {})}
    if block.tool_changes is not None:
        extra["tool_changes"] = block.tool_changes
    return Reasoning(block.content or "", block.signature, block.encrypted_content, block.content is None, extra)


def _result(block: Wire) -> ServerToolResult:
    content = getattr(block, "content", None)
    kind = content.get("type") if isinstance(content, dict) else None
    failed = getattr(block, "is_error", None) is True or (isinstance(kind, str) and kind.endswith("_error"))
    call_id = block.tool_use_id if isinstance(block, s.ResultBlock) else None
    return ServerToolResult(call_id or "", s.RESULTS[type(block)], failed, raw_object(block))


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Convert token usage. The canonical input count includes cache tokens, which Anthropic's input_tokens omits."""
    if not figures:
        return None
    get = figures.get
    input, output = get("input_tokens"), get("output_tokens")
    read, written = get("cache_read_input_tokens"), get("cache_creation_input_tokens")
    details = get("output_tokens_details")
    if type(input) is int is type(output) and type(read) is int is type(written) and details is None:
        return Usage(input + read + written, output, None, read, written, figures)
    input, output = first_int(figures, ("input_tokens",)), first_int(figures, ("output_tokens",))
    read, written = (
        first_int(figures, ("cache_read_input_tokens",)),
        first_int(figures, ("cache_creation_input_tokens",)),
    )
    reasoning = first_int(details, ("thinking_tokens",)) if isinstance(details, dict) else None
    if input is not None:
        input += (read or 0) + (written or 0)
    return Usage(input, output, reasoning, read, written, figures)
