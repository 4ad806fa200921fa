"""Decoder for complete responses of Converse."""

from __future__ import annotations

from typing import Any

from ...model import Block, Choice, Response, Text
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import Reader
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from .blocks import convert, regular_call, usage
from .schema import Body, carry_body

_reader = Reader(Body)


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of a Converse response to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither a response nor an error.
    """
    body = read_whole(_reader, data, context)
    message = None if body.output is None else body.output.message
    content = None if message is None else message.content
    raw = body.stop_reason
    if content is None:
        if raw is None:
            return response_without_output(context, data, id=_id(body.metadata))
        content = []
    reason = reason_of(raw) if raw else None
    builder = CallBuilder.of(context, 0, _id(body.metadata))
    last = content[-1] if reason in CUTS and content else None
    blocks: list[Block] = []
    for wire in content:
        block: Block | None = None
        if wire.text is not None and wire.extra_ is None:
            block = Text(wire.text)
        elif wire.tool_use is not None and wire is not last:
            block = regular_call(builder, wire.tool_use)
        if block is None:
            block = convert(builder, wire, len(blocks), wire is last)
        if block is not None:
            blocks.append(block)
    beside = {} if message is None else message.extra_ or {}
    choice = Choice(0, blocks, effective_stop(builder, reason, raw), beside)
    return context.response(builder.response_id, None, [choice], usage(body.usage), None, True, carry_body(body))


def _id(metadata: Any) -> str | None:
    """Return the id of the request, which boto3 takes from a header, or None."""
    id = metadata.get("RequestId") if isinstance(metadata, dict) else None
    return id if isinstance(id, str) else None
