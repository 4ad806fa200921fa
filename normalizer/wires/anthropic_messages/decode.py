"""Decoder for complete responses of the Messages API."""

from __future__ import annotations

from ...model import Block, Choice, Response, Stop
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import Reader
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from .blocks import convert, regular_call, text_block, usage
from .schema import Message, TextBlock, ToolUseBlock, carry_message

_reader = Reader(Message)

#: The stop of a message without calls, and of one with calls, if there is nothing to report about its word.
_ENDS: dict[str | None, Stop] = {"end_turn": Stop("end_turn", "end_turn")}
_CALLED: dict[str | None, Stop] = {"tool_use": Stop("tool_calls", "tool_use")}


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of a Messages API response to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither a message nor an error.
    """
    message = read_whole(_reader, data, context)
    if message.content is None:
        return response_without_output(context, data, id=message.id, model=message.model)
    raw = message.stop_reason
    reason = reason_of(raw) if raw else None
    builder = CallBuilder(context, 0, message.id, {}, context.declared.names)
    last = message.content[-1] if reason in CUTS and message.content else None
    blocks: list[Block] = []
    for wire in message.content:
        block: Block | None = None
        if type(wire) is TextBlock:
            block = text_block(wire)
        elif type(wire) is ToolUseBlock and wire is not last:
            block = regular_call(builder, wire)
        if block is None:
            block = convert(builder, wire, len(blocks), wire is last)
        if block is not None:
            blocks.append(block)
    stop = (_CALLED if builder.seen else _ENDS).get(raw) or effective_stop(builder, reason, raw)
    extra = carry_message(message)
    choices = [Choice(0, blocks, stop, {})]
    return context.response(message.id, message.model, choices, usage(message.usage), None, True, extra)
