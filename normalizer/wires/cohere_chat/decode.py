"""Decoder for complete responses of Cohere's Chat API, of versions 2 and 1."""

from __future__ import annotations

from ...model import Response
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import Reader
from .blocks import build_choice, build_choice_v1, usage
from .schema import Body, Message, carry_body

_reader = Reader(Body)


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of a response to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither a response nor an error.
    """
    body = read_whole(_reader, data, context)
    message = body.message
    if isinstance(message, Message):
        builder = CallBuilder(context, 0, body.id, {}, context.declared.names)
        choice = build_choice(builder, message, body.finish_reason)
        return context.response(body.id, None, [choice], usage(body.usage), None, True, carry_body(body))
    if message is None and body.text is not None:
        return response_v1(body, body.finish_reason, context)
    return response_without_output(context, data)  # the id of an error is that of the request


def response_v1(body: Body, raw: str | None, context: Context) -> Response:
    """Return the response of a body of version 1. ``raw``: its finish reason, None in old recordings."""
    builder = CallBuilder(context, 0, body.generation_id, {}, context.declared.names)
    choice = build_choice_v1(builder, body, raw)
    return context.response(body.generation_id, None, [choice], usage(body.meta), None, True, carry_body(body))
