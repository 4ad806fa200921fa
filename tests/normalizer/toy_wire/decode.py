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
    try:
        body = json_codec.decode(data)
    except ValueError as error:
        raise MalformedBody(f"the body is not JSON: {error}", body=data) from None
    return response_of(body, context) if "steps" in body else response_without_output(context, data)


def response_of(body: dict[str, Any], context: Context, *, complete: bool = True) -> Response:
    builder = CallBuilder.of(context, 0, body.get("toy_reply"))
    blocks: list[Block] = []
    word = body.get("end")
    for number, step in enumerate(body["steps"]):
        cut = number == len(body["steps"]) - 1 and (word == "cut" or not complete)
        if "fn" in step:
            blocks.append(builder.build(number, step["ref"], step["fn"], step["args"], cut=cut))
        else:
            blocks.append(Text(step["text"]))
    choice = Choice(0, blocks, effective_stop(builder, reason_of(word) if word else None, word))
    return context.response(body.get("toy_reply"), body.get("model"), [choice], usage_of(body), None, complete)


def reason_of(word: str) -> StopReason:
    return SPEC.stop_words.get(word, "unknown")


def usage_of(body: dict[str, Any]) -> Usage | None:
    spent = body.get("spent")
    return spent and Usage(spent["in"], spent["out"], raw=spent)
