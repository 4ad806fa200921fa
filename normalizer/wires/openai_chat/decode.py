"""Decode a complete Chat Completions response body, in any dialect, into a canonical response."""

from __future__ import annotations

from msgspec.structs import replace

from ...model import Response
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import error_of, response_without_output
from ..schema import Reader
from .blocks import build_choice, usage, usage_beside
from .decode_fast import decode_regular
from .schema import Body, ChatMessage, Choice, carry_body, carry_choice, carry_message
from .stream import Stream

_reader = Reader(Body)
_NO_MESSAGE = ChatMessage()


def decode(data: bytes, context: Context) -> Response:
    """Return the canonical response for the bytes of a response body.

    Raises MalformedBody if the bytes are not a JSON object.
    """
    usual = decode_regular(data, context)
    if usual is not None:
        return usual
    body = read_whole(_reader, data, context)
    if body.choices is None or (body.error and not body.choices):
        return response_without_output(context, data, id=body.id, model=body.model)
    if body.object == "chat.completion.chunk":
        return _lone_chunk(data, context)
    choices = []
    indexes = _indexes(body.choices, context)
    error = error_of(body.error) if body.error else None
    for index, choice in zip(indexes, body.choices, strict=True):
        if choice.error and error is None:
            error = error_of(choice.error)
        message = choice.message or choice.delta or _NO_MESSAGE
        if choice.message is not None and choice.delta is not None:
            message = _filled(choice.message, choice.delta)
        extra = carry_choice(choice)
        carried = carry_message(message)
        if carried:
            extra["message"] = carried
        builder = CallBuilder.of(context, index, body.id)
        choices.append(build_choice(builder, message, choice.finish_reason, extra))
    if len(choices) > 1:
        choices.sort(key=lambda c: c.index)
    if error is not None:
        context.find("error-response", f"{error.type}: {error.message}"[:500])
    figures = usage(body.usage or usage_beside(body))
    return context.response(body.id, body.model, choices, figures, error, extra=carry_body(body))


def _indexes(choices: list[Choice], context: Context) -> list[int]:
    """Return the index of each choice.

    A choice without an index gets its position in the list. If two choices have the same index, the later one gets an
    unused index, and the finding `index-reused` is reported.
    """
    indexes = [number if choice.index is None else choice.index for number, choice in enumerate(choices)]
    if len(set(indexes)) < len(indexes):
        free = max(indexes) + 1
        seen: set[int] = set()
        for number, index in enumerate(indexes):
            if index in seen:
                context.find("index-reused", f"two choices have the index {index}; the later one is {free}", free)
                indexes[number], free = free, free + 1
            seen.add(index)
    return indexes


def _filled(message: ChatMessage, delta: ChatMessage) -> ChatMessage:
    """Return the message with its empty members filled in from the `delta` of the same choice."""
    members = {name: getattr(delta, name) for name in ChatMessage.__struct_fields__ if not getattr(message, name)}
    return replace(message, **members)


def _lone_chunk(data: bytes, context: Context) -> Response:
    """Decode a body that is a single stream chunk; the response is complete only if the chunk has a stop reason."""
    context.find("stream-body")
    stream = Stream(context)
    stream.event(None, data, [])
    return stream.finish()
