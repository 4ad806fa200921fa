"""A whole Anthropic message into a canonical response."""

from __future__ import annotations

from ... import jsontext
from ...model import Block, Choice, Response
from ..common import CallSite, Context, error_response, is_cut, settle
from ..schema import Note, Reader
from .blocks import STOPS, convert, usage
from .schema import Message, carry_message

_reader = Reader(Message)


def decode(data: bytes, context: Context) -> Response:
    """Raises MalformedBody where the bytes are no JSON object."""
    notes: list[Note] = []
    message = _reader.read(data, notes)
    if message.content is None:
        return error_response(context, jsontext.decode(data), id=message.id, model=message.model)
    if notes:
        context.take(notes)
    raw = message.stop_reason
    reason = STOPS.get(raw, "unknown") if raw else None
    site = CallSite.of(context, 0, message.id)
    last = len(message.content) - 1 if is_cut(reason) else -1
    blocks: list[Block] = []
    for number, wire in enumerate(message.content):
        block = convert(site, wire, len(blocks), number == last)
        if block is not None:
            blocks.append(block)
    choice = Choice(0, blocks, settle(site, reason, raw))
    response = Response(
        context.wire,
        context.provider,
        message.id,
        message.model,
        [choice],
        usage(message.usage),
        None,
        True,
        carry_message(message),
    )
    return response.with_findings(context.findings) if context.findings else response
