"""Reading of a response of `ollama.chat`."""

from __future__ import annotations

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from . import (
    ANYTHING,
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    count,
    reasoning,
    response_values,
    text_block,
    wire_error,
    without,
)


class _Function(msgspec.Struct):
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Call(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    tool_calls: list[_Call] = []


class _Event(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)


#: Members of a message that its events extend.
_TEXTS = ("content", "thinking")
_CANONICAL = ("model", "message", "done", "done_reason", "prompt_eval_count", "eval_count")


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    failure = next((value for value in values if "error" in value), None)
    events = [value for value in values if value is not failure]
    if failure is not None and not events:
        return WireResponse(None, None, [], None, _error(failure, exchange.status), {}, failure)
    message, body = assembled(events)
    stop = body.get("done_reason")
    calls = message.get("tool_calls") or []
    blocks = [reasoning(message["thinking"], {})] if message.get("thinking") else []
    blocks += [text_block(message["content"], [], {})] if message.get("content") else []
    blocks += [
        _call(entry, text, cut=stop == "length" and entry is calls[-1])
        for entry, text in zip(calls, _argument_texts(exchange), strict=True)
    ]
    rest = without(message, "role", "tool_calls", *_TEXTS)
    choice = WireChoice(0, blocks, stop, [rest])
    error = None if failure is None else _error(failure, None)
    kept = without(body, *_CANONICAL)
    return WireResponse(None, body.get("model"), [choice], _usage(body), error, kept, values)


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    message, _ = assembled(values)
    for entry in message.get("tool_calls") or []:  # a call's position is its index
        if not isinstance(entry["function"].get("arguments"), dict):
            raise Irregular("arguments that are not an object")
        entry["function"] = {key: value for key, value in entry["function"].items() if key != "index"}
    return [message]


def assembled(events: list[Json]) -> tuple[Json, Json]:
    """Return the message of the events, or of a body, and the other members; the last value of each one counts."""
    message: Json = {}
    body: Json = {}
    for event in events:
        if not isinstance(event.get("message"), dict) or body.get("done"):
            raise Irregular("an event without a message, or after the last one")
        body.update(without(event, "message"))
        for key, value in without(event["message"]).items():
            if key in (*_TEXTS, "tool_calls"):
                message[key] = value if key not in message else message[key] + value
            else:
                message[key] = value
    return message, body


def _argument_texts(exchange: SubjectExchange) -> list[str]:
    """Return the exact text of the arguments of each call."""
    lines = exchange.body.splitlines() if exchange.stream else [exchange.body]
    try:
        events = [json_codec.decoder(_Event)(line) for line in lines if line.strip()]
        return [bytes(call.function.arguments).decode() for event in events for call in event.message.tool_calls]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None


def _call(entry: Json, text: str, *, cut: bool) -> WireBlock:
    function = entry.get("function")
    if not isinstance(function, dict) or not function.get("name"):
        raise Irregular("an entry of tool_calls that is not a call")
    if not isinstance(function.get("arguments"), dict):
        raise Irregular("arguments that are not an object")
    rest = [without(entry, "id", "type", "function"), without(function, "index", "name", "arguments")]
    return call(entry.get("id"), function["name"], text, rest, cut=cut)


def _usage(body: Json) -> Json | None:
    read, written = count(body, "prompt_eval_count"), count(body, "eval_count")
    if read is None and written is None:
        return None
    unknown = dict.fromkeys(("reasoning_tokens", "cached_input_tokens", "cache_write_tokens"))
    raw = without({"prompt_eval_count": read, "eval_count": written})
    return {"input_tokens": read, "output_tokens": written, **unknown, "raw": raw}


def _error(failure: Json, status: int | None) -> Json:
    """Return the canonical error. It is one text, so its type and whether to retry are derived."""
    return {**wire_error(failure, status), "type": ANYTHING, "message": failure["error"], "raw": failure}
