"""Decoder for complete responses of Ollama's chat API."""

from __future__ import annotations

from ...model import Response
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import Reader
from .blocks import build_choice, call_builder, usage
from .schema import Body, carry_body, carry_message
from .stream import Stream

_reader = Reader(Body)


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of a response to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither a response nor an error.
    """
    body = read_whole(_reader, data, context)
    message = body.message
    if message is None or body.error is not None:
        return response_without_output(context, data, model=body.model)
    if body.done is False:
        return _lone_event(data, context)
    extra = carry_body(body)
    if body.logprobs:
        extra["logprobs"] = body.logprobs
    carried = carry_message(message)
    choice = build_choice(
        call_builder(context, body.created_at),
        message.thinking,
        message.content,
        message.tool_calls,
        body.done_reason,
        {"message": carried} if carried else {},
    )
    return context.response(None, body.model, [choice], usage(body), None, True, extra)


def _lone_event(data: bytes, context: Context) -> Response:
    """Decode a body that is one event of a stream, and not the last one. The response is incomplete."""
    context.find("stream-body")
    stream = Stream(context)
    stream.event(None, data, [])
    return stream.finish()
