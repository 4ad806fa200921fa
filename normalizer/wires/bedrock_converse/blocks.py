"""Conversion of Converse's content blocks to canonical blocks, for complete messages and finished streams."""

from __future__ import annotations

from typing import Any

from ...model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall, Usage
from ..call_builder import CallBuilder
from ..schema import exact_text, raw_object
from ..usage import first_int
from . import schema as s

#: The canonical tools of Bedrock's system tools (`systemTool` of a request).
_TOOLS = {"nova_code_interpreter": "code_execution", "nova_grounding": "web_search"}
_RESULT = "_result"
#: Key of the `extra` of reasoning for members beside its text.
BESIDE = "reasoningContent"
_CACHE_READ = ("cacheReadInputTokens", "cacheReadInputTokenCount")
_CACHE_WRITE = ("cacheWriteInputTokens", "cacheWriteInputTokenCount")


def convert(builder: CallBuilder, block: s.Block, index: int, cut: bool, text: str | None = None) -> Block | None:
    """Convert a content block to a canonical block. Returns None if it repeats an earlier call.

    ``index``: index of the canonical block. ``cut``: the response was cut inside this block. ``text``: the streamed
    argument text of a call; if None, the arguments are in its ``input``.
    """
    if block.text is not None:
        return Text(block.text, extra=block.extra_ or {})
    if block.tool_use is not None:
        if is_server_call(block.tool_use):
            return _server_call(builder, block.tool_use, index, text)
        return _client_call(builder, block.tool_use, index, cut, text)
    if block.reasoning is not None:
        return _reasoning(block)
    if block.citations is not None:
        return _cited_text(block.citations)
    if block.tool_result is not None:
        return _server_result(block.tool_result)
    raw = raw_object(block)
    if block.image is not None:
        failed = isinstance(block.image, dict) and block.image.get("error") is not None
        return ServerToolResult("", "image_generation", failed, raw)
    kind = next(iter(raw), "")
    return Opaque(kind, raw if kind else raw.get(""))


def regular_call(builder: CallBuilder, call: s.ToolUse) -> ToolCall | None:
    """Convert a regular client call of a body, as nearly all are. Returns None if the call needs `convert`."""
    if call.extra_ is not None or (call.type is not None and call.type != s.CLIENT) or builder.context.respelled:
        return None
    return builder.regular_call(call.id, call.name, str(call.input, "utf-8", "replace"))


def is_server_call(call: s.ToolUse) -> bool:
    """Report whether Bedrock executes the call. So may it a call of an unknown type, which therefore does not run."""
    return call.type is not None and call.type != s.CLIENT


def _client_call(builder: CallBuilder, call: s.ToolUse, index: int, cut: bool, text: str | None) -> Block | None:
    if text is None:
        text = exact_text(call.input)
        if text and builder.context.respelled:
            builder.context.find("arguments-respelled", "", builder.choice, index)
    if call.id in builder.seen and builder.repeats(call.id, call.name, text):
        return None
    return builder.build(index, call.id, call.name, text, extra=call.extra_, cut=cut)


def _server_call(builder: CallBuilder, call: s.ToolUse, index: int, text: str | None) -> ServerToolCall:
    if call.type != "server_tool_use":
        builder.context.find("unknown-block", f"type {call.type!r}", builder.choice, index)
    name = call.name or ""
    extra = {**(call.extra_ or {}), "type": call.type}
    return ServerToolCall(
        call.id or "", _TOOLS.get(name, name), name, exact_text(call.input) if text is None else text, None, extra
    )


def _reasoning(block: s.Block) -> Block:
    content = block.reasoning
    assert content is not None
    if content.redacted is not None:
        return Reasoning("", None, content.redacted, True, content.extra_ or {})
    if content.text is not None:
        extra = content.text.extra_ or {}
        if content.extra_:
            extra = {**extra, BESIDE: content.extra_}
        return Reasoning(content.text.text, content.text.signature, extra=extra)
    return Opaque("reasoningContent", {"reasoningContent": raw_object(content)})


def _cited_text(block: s.CitationsContent) -> Text:
    """Convert a text with citations. ``content`` stays in ``extra`` if the text alone does not determine it."""
    pieces = block.content or []
    texts = [piece["text"] for piece in pieces if isinstance(piece, dict) and isinstance(piece.get("text"), str)]
    text = "".join(texts)
    extra = dict(block.extra_ or {})
    if pieces and pieces != [{"text": text}]:
        extra["content"] = pieces
    if not block.citations:
        extra["citations"] = []
    return Text(text, block.citations or [], extra)


def _server_result(result: s.ToolResult) -> ServerToolResult:
    name = (result.type or "").removesuffix(_RESULT)
    raw = {"toolResult": raw_object(result)}
    return ServerToolResult(result.id or "", _TOOLS.get(name, name), result.status == "error", raw)


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Convert token usage. The canonical input count includes cache tokens, which ``inputTokens`` omits.

    The recordings show it: ``totalTokens`` is the sum of all four figures.
    """
    if not figures:
        return None
    get = figures.get
    input, output, read, written = get("inputTokens"), get("outputTokens"), get(_CACHE_READ[0]), get(_CACHE_WRITE[0])
    if type(input) is int is type(output):  # fast path: the documented form, with or without a cache
        if type(read) is int is type(written):
            return Usage(input + read + written, output, None, read, written, figures)
        if len(figures) == 3 and "totalTokens" in figures:
            return Usage(input, output, None, None, None, figures)
    input, output = first_int(figures, ("inputTokens",)), first_int(figures, ("outputTokens",))
    read, written = first_int(figures, _CACHE_READ), first_int(figures, _CACHE_WRITE)
    if input is not None:
        input += (read or 0) + (written or 0)
    return Usage(input, output, None, read, written, figures)
