"""Decoder for complete interactions."""

from __future__ import annotations

from ...model import Block, Response
from ..call_builder import CallBuilder
from ..decode_context import Context, read_whole
from ..error_response import response_without_output
from ..schema import Reader
from ..stop_reason import stopped_by_error
from .blocks import (
    UNFINISHED,
    Conversion,
    answered_calls,
    choice_of,
    error_of_step,
    extra_of,
    is_cut,
    regular_call,
    usage,
)
from .schema import FunctionCall, FunctionResult, Interaction

_reader = Reader(Interaction)
_NONE: frozenset[str] = frozenset()


def decode(data: bytes, context: Context) -> Response:
    """Convert the body of an interaction to a canonical response.

    Raises MalformedBody if the bytes are not a JSON object, and NotAResponse if it is neither an interaction nor an
    error.
    """
    body = read_whole(_reader, data, context)
    steps = body.outputs if body.steps is None else body.steps
    foreign = body.object not in (None, "interaction")
    if steps is None and (foreign or body.status is None or (body.status == "failed" and not body.errors)):
        return response_without_output(context, data, id=body.id, model=body.model)
    complete = body.status not in UNFINISHED
    if not complete:
        context.find("response-unfinished", f"the interaction's status is {body.status!r}")
    steps = steps or []
    answered = answered_calls(steps) if FunctionResult in map(type, steps) else _NONE
    builder = CallBuilder.of(context, 0, body.id)
    conversion = Conversion(builder, answered)
    last = steps[-1] if steps and is_cut(body.status) else None
    blocks: list[Block] = []
    for step in steps:
        call = None
        if type(step) is FunctionCall and step is not last and not answered:
            call = regular_call(builder, step)
        if call is None:
            conversion.add(step, blocks, step is last)
        else:
            blocks.append(call)
            conversion.follows_output = False
    choices = [choice_of(builder, blocks, body.status)]
    error = error_of_step(context, body, conversion)
    if error is not None:
        choices = stopped_by_error(choices)
    extra = extra_of(body, conversion)
    return context.response(body.id, body.model, choices, usage(body.usage), error, complete, extra)
