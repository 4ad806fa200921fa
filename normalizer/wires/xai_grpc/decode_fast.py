"""Fast path for complete responses with one output of text, reasoning and client calls, as nearly all with calls are.

`decode` handles every other response with all rules of the wire.
"""

from __future__ import annotations

from typing import Any

from ...model import Block, Choice, Reasoning, Response, Stop, Text
from ..call_builder import CallBuilder
from ..decode_context import Context
from .blocks import usage
from .schema import (
    COMPLETED,
    ROLE_ASSISTANT,
    STOPS,
    TIME_LIMIT,
    TYPE_CLIENT,
    fields_except,
    finish_name,
    has_unknown_fields,
)

#: The fields of a regular output.
_FIELDS = frozenset(("finish_reason", "message"))
#: The stop of an output without calls, and of one with calls, by finish reason, if there is nothing to report about it.
_ENDS = {
    number: Stop(reason, finish_name(number))
    for number, reason in STOPS.items()
    if reason in ("end_turn", "max_tokens") and number != TIME_LIMIT
}
_CALLED = {number: Stop(reason, finish_name(number)) for number, reason in STOPS.items() if reason == "tool_calls"}


def decode_regular(message: Any, context: Context) -> Response | None:
    """Return the response; None, without any finding, if the message does not fit the fast path."""
    outputs = message.outputs
    if len(outputs) != 1 or context.declared.n > 1 or has_unknown_fields(message):
        return None
    output = outputs[0]
    spoken = output.message
    if has_unknown_fields(output) or has_unknown_fields(spoken) or spoken.role != ROLE_ASSISTANT or spoken.citations:
        return None
    for field, _ in output.ListFields():
        if field.name not in _FIELDS:
            return None
    calls, id = spoken.tool_calls, message.id
    stop = (_CALLED if calls else _ENDS).get(output.finish_reason)
    if stop is None:
        return None
    blocks: list[Block] = []
    reasoning, encrypted, text = spoken.reasoning_content, spoken.encrypted_content, spoken.content
    if reasoning or encrypted:
        blocks.append(Reasoning(reasoning, None, encrypted or None, not reasoning))
    if text:
        blocks.append(Text(text))
    builder = CallBuilder.of(context, 0, id)
    for call in calls:
        function = call.function
        if call.type != TYPE_CLIENT or call.status != COMPLETED or call.error_message:
            return None
        if has_unknown_fields(call) or has_unknown_fields(function):
            return None
        block = builder.regular_call(call.id, function.name, function.arguments)
        if block is None or not block.arguments:
            return None  # its arguments may be elsewhere
        blocks.append(block)
    extra = fields_except(message, "id", "model", "outputs", "usage")
    choices = [Choice(0, blocks, stop)]
    provider, model = context.provider or "xai", message.model or None
    return Response(context.wire, provider, id or None, model, choices, usage(message.usage), None, True, extra)
