"""Conversion of a message to canonical blocks, for complete bodies and for finished streams.

The wire does not order the members of a message. The canonical order is: reasoning, text, calls.
"""

from __future__ import annotations

from typing import Any

from ...model import Block, Choice, Reasoning, StopReason, Text, ToolCall, Usage
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..schema import exact_text
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from .schema import Body, Call


def call_builder(context: Context, created_at: Any) -> CallBuilder:
    """Return a builder of calls. ``created_at``: time of the response, from which missing ids of calls are derived.

    The wire has no id of the response, and derived ids should not repeat in the next one.
    """
    return CallBuilder.of(context, 0, created_at if isinstance(created_at, str) else None)


def build_choice(
    builder: CallBuilder,
    thinking: str | None,
    content: str | None,
    calls: list[Call] | None,
    done_reason: str | None,
    extra: dict[str, Any],
) -> Choice:
    """Return the canonical choice of a message. ``extra``: members that have no canonical field."""
    reason = reason_of(done_reason) if done_reason else None
    blocks: list[Block] = []
    if thinking:
        blocks.append(Reasoning(thinking))
    if content:
        blocks.append(Text(content))
    if calls:
        last = calls[-1] if reason in CUTS else None
        for call in calls:
            block = _regular_call(builder, call) if call is not last else None
            if block is None:
                block = _call(builder, call, len(blocks), call is last)
            if block is not None:
                blocks.append(block)
    return Choice(0, blocks, effective_stop(builder, _with_calls(builder, reason), done_reason), extra)


def _with_calls(builder: CallBuilder, reason: StopReason | None) -> StopReason | None:
    """Return the reason of a response. The wire's word "stop" also ends a response with calls."""
    return "tool_calls" if builder.seen and reason == "end_turn" else reason


def _regular_call(builder: CallBuilder, call: Call) -> ToolCall | None:
    """Convert a regular call. Returns None if the call needs `_call`."""
    function = call.function
    if function is None or call.extra_ is not None or function.extra_ is not None or builder.context.respelled:
        return None
    return builder.regular_call(call.id, function.name, str(function.arguments, "utf-8", "replace"))


def _call(builder: CallBuilder, call: Call, index: int, cut: bool) -> ToolCall | None:
    """Convert a call. Returns None for an entry that is not a call, or that repeats an earlier one.

    ``index``: index of the canonical block. ``cut``: the response was cut after this call, which may be incomplete.
    """
    context, function = builder.context, call.function
    text, has_arguments, name = argument_text(call), False, None
    extra = dict(call.extra_ or ())
    if function is not None:
        name, has_arguments = function.name, len(memoryview(function.arguments)) > 0
        extra.update(function.extra_ or ())
    if not (name or text or extra):
        context.find("nameless-call", "an entry of tool_calls has neither a name nor arguments; it is not a call", 0)
        return None
    if has_arguments and context.respelled:
        context.find("arguments-respelled", "", builder.choice, index)
    if call.id in builder.seen and builder.repeats(call.id, name, text):
        return None
    return builder.build(index, call.id, name, text, extra=extra or None, cut=cut)


def argument_text(call: Call) -> str:
    """Return the JSON text of a call's arguments, or an empty text if there are none."""
    if call.function is None or not memoryview(call.function.arguments):
        return ""
    return exact_text(call.function.arguments)


def usage(body: Body) -> Usage | None:
    """Return the token counts of the last event or of a body; None if it has none.

    The server leaves out a count of zero, and older servers the count of a prompt that they had cached.
    """
    read, written = body.prompt_eval_count, body.eval_count
    if read is None and written is None:
        return None
    counts = {"prompt_eval_count": read, "eval_count": written}
    return Usage(read, written, raw={name: count for name, count in counts.items() if count is not None})
