"""Conversion of an assistant message of Cohere to canonical blocks, for bodies, finished streams and requests.

The blocks are in the order in which the model writes them: the plan, the content, the calls. Citations belong to the
content that they cite: they become annotations of a text, and an ``extra`` member of reasoning.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...model import Block, Choice, Opaque, Reasoning, Text, ToolCall, Usage
from ..call_builder import CallBuilder, respell_arguments
from ..schema import exact_text
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from . import schema as s

#: Member of ``extra`` that names the member of the message which held the reasoning, if it is not ``content``.
MEMBER = "member"
PLAN = "tool_plan"
_NOTHING: frozenset[int] = frozenset()


def build_choice(
    builder: CallBuilder, message: s.Message, raw: str | None, unfinished: frozenset[int] = _NOTHING
) -> Choice:
    """Return the choice of a message. ``raw``: the finish reason. ``unfinished``: the calls whose end is missing."""
    reason = reason_of(raw) if raw else None
    blocks: list[Block] = []
    if message.tool_plan:
        blocks.append(Reasoning(message.tool_plan, extra={MEMBER: PLAN}))
    content = message.content
    first = len(blocks)
    if isinstance(content, str):
        blocks += [Text(content)] if content else []
    elif content:
        blocks += map(_content, content)
    extra = s.carry_message(message)
    if message.citations and (left := _cite(blocks, first, message.citations)):
        extra["citations"] = left
    calls = message.tool_calls or ()
    last = len(calls) - 1 if reason in CUTS else -1
    for number, call in enumerate(calls):
        block = convert_call(builder, call, len(blocks), number == last or number in unfinished)
        if block is not None:
            blocks.append(block)
    return Choice(builder.choice, blocks, effective_stop(builder, reason, raw), {"message": extra} if extra else {})


def _content(content: s.Content) -> Block:
    if type(content) is s.TextContent:
        return Text(content.text, [], content.extra_ or {})
    if type(content) is s.ThinkingContent:
        return Reasoning(content.thinking, extra=content.extra_ or {})
    return Opaque(content.wire_type, content.raw, content.extra_ or {})  # type: ignore[union-attr]


def _cite(blocks: list[Block], first: int, citations: list[Any]) -> list[Any]:
    """Add the citations to the blocks that they cite, and return those without such a block.

    ``first``: index of the block that is the first content. A citation without an index cites the plan or the text.
    """
    left: list[Any] = []
    text = next((index for index, block in enumerate(blocks) if type(block) is Text), None)
    cited: dict[int, list[Any]] = {}
    for citation in citations:
        target = text
        if isinstance(citation, dict):
            index = citation.get("content_index")
            if citation.get("type") == "PLAN" and first:
                target = 0
            elif type(index) is int and 0 <= index < len(blocks) - first:
                target = first + index
        if target is None or type(blocks[target]) is Opaque:
            left.append(citation)
        else:
            cited.setdefault(target, []).append(citation)
    for target, found in cited.items():
        block = blocks[target]
        if type(block) is Text:
            blocks[target] = replace(block, annotations=found)
        else:
            blocks[target] = replace(block, extra={**block.extra, "citations": found})
    return left


def convert_call(builder: CallBuilder, call: s.Call, index: int, cut: bool) -> ToolCall | None:
    """Convert a call. Returns None if it repeats an earlier call. ``cut``: the response was cut inside this call."""
    function = call.function
    if function is not None:
        respell_arguments(function, "arguments", builder.context)
    name, text = (None, "") if function is None else (function.name, function.arguments or "")
    if not (cut or call.extra_ or (function is not None and function.extra_) or call.type not in (None, "function")):
        regular = builder.regular_call(call.id, name, text)
        if regular is not None:
            return regular
    if call.id in builder.seen and builder.repeats(call.id, name, text):
        return None
    extra = {**(call.extra_ or {}), **((function.extra_ or {}) if function is not None else {})}
    if call.type not in (None, "function"):
        extra["type"] = call.type
    return builder.build(index, call.id, name, text, extra=extra or None, cut=cut)


def build_choice_v1(
    builder: CallBuilder, body: s.Body, raw: str | None, unfinished: frozenset[int] = _NOTHING
) -> Choice:
    """Return the choice of a response of version 1: its text with the citations, and its calls, which have no ids."""
    reason = reason_of(raw) if raw else None
    blocks: list[Block] = [Text(body.text, body.citations or [])] if body.text else []
    extra = {"citations": body.citations} if body.citations and not blocks else {}
    calls = body.tool_calls or ()
    last = len(calls) - 1 if reason in CUTS else -1
    for number, call in enumerate(calls):
        text = arguments_text(call)
        if builder.context.respelled and text:
            builder.context.find("arguments-respelled", "", builder.choice, len(blocks))
        cut = number == last or number in unfinished
        blocks.append(builder.build(len(blocks), None, call.name, text, extra=call.extra_, cut=cut))
    if reason == "end_turn" and calls:
        reason = "tool_calls"  # version 1 has no word for calls (`cohere.types.FinishReason`)
    return Choice(builder.choice, blocks, effective_stop(builder, reason, raw), {"message": extra} if extra else {})


def arguments_text(call: s.CallV1) -> str:
    """Return the argument text of a call of version 1, whose parameters are a JSON object."""
    return exact_text(call.parameters) if memoryview(call.parameters) else ""


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Convert the token usage: ``usage``, or ``meta`` in version 1.

    The counts in ``tokens`` include the prompt that the API adds, cached input and reasoning (recorded). Those in
    ``billed_units`` do not include the added prompt; they are used if the others are missing.
    """
    if not figures:
        return None
    tokens, billed = figures.get("tokens"), figures.get("billed_units")
    if not (isinstance(tokens, dict) or isinstance(billed, dict)):
        return None
    input, output = _count(tokens, "input_tokens"), _count(tokens, "output_tokens")
    return Usage(
        _count(billed, "input_tokens") if input is None else input,
        _count(billed, "output_tokens") if output is None else output,
        _count(tokens, "reasoning_tokens"),
        _count(figures, "cached_tokens"),
        None,
        figures,
    )


def _count(figures: Any, name: str) -> int | None:
    """Return a count as an int. The SDK's types have floats, so its objects give ``12.0``."""
    value = figures.get(name) if isinstance(figures, dict) else None
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None
