"""Decoder of whole bodies of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import Block, Choice, Response, StopReason, Text, Usage
from toolparity.normalizer.wires.call_builder import CallBuilder
from toolparity.normalizer.wires.decode_context import Context
from toolparity.normalizer.wires.error_response import response_without_output
from toolparity.normalizer.wires.stop_reason import effective_stop

from .spec import SPEC


def decode(data: bytes, context: Context) -> Response:
    """Convert a body to a canonical response. Raises MalformedBody."""
    try:
        body = json_codec.decode(data)
    except ValueError as error:
        raise MalformedBody(f"the body is not JSON: {error}", body=data) from None
    if not isinstance(body, dict):
        raise MalformedBody("the body is JSON but not an object", body=data)
    if "steps" not in body:
        return response_without_output(context, data)
    return response_of(body, context)


def response_of(body: dict[str, Any], context: Context, *, complete: bool = True) -> Response:
    """Return the canonical response of a body's members."""
    builder = CallBuilder.of(context, 0, body.get("toy_reply"))
    blocks: list[Block] = []
    word = body.get("end")
    for number, step in enumerate(body["steps"]):
        if "text" in step:
            blocks.append(Text(step["text"]))
            continue
        cut = number == len(body["steps"]) - 1 and (word == "cut" or not complete)
        blocks.append(builder.build(number, step.get("ref"), step.get("fn"), step.get("args", ""), cut=cut))
    stop = effective_stop(builder, reason_of(word) if word else None, word)
    response = Response(
        context.wire,
        context.provider,
        body.get("toy_reply"),
        body.get("model"),
        [Choice(0, blocks, stop)],
        usage_of(body.get("spent")),
        complete=complete,
    )
    return response.with_findings(context.findings)


def reason_of(word: str) -> StopReason:
    """Return the stop reason that a word means."""
    return SPEC.stop_words.get(word, "unknown")


def usage_of(spent: dict[str, int] | None) -> Usage | None:
    """Return the canonical usage."""
    return None if spent is None else Usage(spent.get("in"), spent.get("out"), raw=spent)
