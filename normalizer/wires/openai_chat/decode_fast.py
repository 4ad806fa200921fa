"""Fast path for complete bodies with one choice and only OpenAI's own members.

Only this wire needs it, because its full schema covers many dialects. `decode` handles every other body with the full
schema and all rules of the wire.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ...model import Block, Choice, Response, Stop, Text, ToolCall
from ..call_builder import NOT_AN_OBJECT, parse_object
from ..decode_context import Context
from ..schema import UNFIT
from .blocks import usage


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    type: Literal["function"]
    function: _Function


class _Message(Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: None = None
    annotations: list[Any] | None = None


class _Choice(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    message: _Message
    logprobs: None = None
    finish_reason: Literal["stop", "tool_calls"] | None = None


class _Body(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    object: str
    created: int
    model: str
    choices: list[_Choice]
    usage: dict[str, Any] | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None


_read = msgspec.json.Decoder(_Body).decode
_UNUSUAL = (*UNFIT, ValueError)


def decode_regular(data: bytes, context: Context) -> Response | None:
    """Return the response; None, without any finding, if the body does not fit the fast path."""
    if context.declared.names is not None:
        return None  # names have to be checked against the request
    try:
        body = _read(data)
        (choice,) = body.choices
    except _UNUSUAL:
        return None
    message = choice.message
    calls = message.tool_calls
    blocks: list[Block] = []
    if message.content:
        blocks.append(Text(message.content, message.annotations or []))
    elif message.annotations:
        return None
    stop: Stop
    if calls:
        if choice.finish_reason != "tool_calls" or not _add_calls(calls, blocks):
            return None
        if message.content and message.content[0] in "{ \n":
            return None  # the text may be arguments of a call
        stop = Stop("tool_calls", "tool_calls")
    elif choice.finish_reason == "stop":
        stop = Stop("end_turn", "stop")
    else:
        return None
    extra: dict[str, Any] = {"created": body.created}
    if body.service_tier is not None:
        extra["service_tier"] = body.service_tier
    if body.system_fingerprint is not None:
        extra["system_fingerprint"] = body.system_fingerprint
    choices = [Choice(choice.index, blocks, stop)]
    return Response(context.wire, context.provider, body.id, body.model, choices, usage(body.usage), None, True, extra)


def _add_calls(calls: list[_Call], blocks: list[Block]) -> bool:
    """Append a block for each call; False if one of them needs the full decoder."""
    seen = set()
    for call in calls:
        id, function = call.id, call.function
        name, text = function.name, function.arguments
        if not (id and name and text.isascii()) or "\\" in text or id in seen:
            return False
        seen.add(id)
        try:
            arguments = parse_object(text)
        except NOT_AN_OBJECT:
            return False
        blocks.append(ToolCall(id, name, arguments, text))
    return True
