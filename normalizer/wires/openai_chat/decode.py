"""A whole Chat Completions body, in any dialect, into a canonical response."""

from __future__ import annotations

from ... import jsontext
from ...model import Response
from ..common import CallSite, Context, error_of, error_response, read_whole
from ..schema import Reader
from .message import finish, usage
from .schema import Body, Message, carry_body, carry_choice, carry_message
from .usual import decode_usual

_reader = Reader(Body)
_NO_MESSAGE = Message()


def decode(data: bytes, context: Context) -> Response:
    """Raises MalformedBody where the bytes are no JSON object."""
    usual = decode_usual(data, context)
    if usual is not None:
        return usual
    body = read_whole(_reader, data, context)
    if body.choices is None or (body.error and not body.choices):
        return error_response(context, jsontext.decode(data), id=body.id, model=body.model)
    choices = []
    trusting = context.declared.names is None
    error = error_of(body.error) if body.error else None
    for place, choice in enumerate(body.choices):
        if choice.error and error is None:
            error = error_of(choice.error)
        index = place if choice.index is None else choice.index
        message = choice.message or choice.delta or _NO_MESSAGE
        extra = carry_choice(choice)
        carried = carry_message(message)
        if carried:
            extra["message"] = carried
        site = CallSite(context, index, body.id, {}, trusting)
        choices.append(finish(site, message, choice.finish_reason, extra))
    if len(choices) > 1:
        choices.sort(key=lambda c: c.index)
    if error is not None:
        context.find("error-response", f"{error.type}: {error.message}"[:500])
    response = Response(
        context.wire, context.provider, body.id, body.model, choices, usage(body.usage), error, True, carry_body(body)
    )
    return response.with_findings(context.findings) if context.findings else response
