"""Reading of a response of `cohere.chat`. The streams of version 1 are not read."""

from __future__ import annotations

import copy
from typing import Any

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
    opaque,
    reasoning,
    response_values,
    text_block,
    wire_error,
    without,
)

_CANONICAL = ("role", "content", "tool_plan", "tool_calls", "citations")


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    if isinstance(values[0].get("text"), str):
        return _version_1(values[0])
    if exchange.status >= 400 or not (exchange.stream or isinstance(values[0].get("message"), dict)):
        return WireResponse(None, None, [], None, wire_error(values[0], exchange.status), {}, values[0])
    if exchange.stream:
        body, ended = assembled(values)
    else:
        body, ended = values[0], True
    message, stop, failure = body["message"], body.get("finish_reason"), body.get("error")
    error = None
    if failure is not None:
        error = {"type": ANYTHING, "message": failure, "status": ANYTHING, "retryable": ANYTHING, "raw": failure}
    kept = without(body, "id", "message", "finish_reason", "usage", "error")
    blocks = _blocks(message, cut=stop in ("MAX_TOKENS", "TIMEOUT") or not ended)
    choice = WireChoice(0, blocks, stop, [without(message, *_CANONICAL)])
    return WireResponse(body.get("id"), None, [choice], _usage(body.get("usage")), error, kept, values)


def _version_1(body: Json) -> WireResponse:
    """Return the response of version 1, whose calls have no ids, and parameters that are a JSON object."""
    stop = body.get("finish_reason")
    blocks = [text_block(body["text"], body.get("citations") or [], {})] if body["text"] else []
    calls = [(entry["name"], json_codec.text(entry["parameters"])) for entry in body.get("tool_calls") or []]
    cut = len(calls) - 1 if stop in ("MAX_TOKENS", "TIMEOUT", "ERROR_LIMIT") else -1
    blocks += [call(None, *entry, {}, cut=number == cut) for number, entry in enumerate(calls)]
    kept = without(body, "generation_id", "text", "citations", "tool_calls", "finish_reason", "meta")
    return WireResponse(
        body["generation_id"], None, [WireChoice(0, blocks, stop)], _usage(body.get("meta")), None, kept, body
    )


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values, stream = response_values(exchange), exchange.stream
    message = assembled(values)[0]["message"] if stream else values[0].get("message")
    if not isinstance(message, dict):
        raise Irregular("the response has no message")
    for entry in message.get("tool_calls") or []:
        entry["function"].setdefault("arguments", "")
    return [{name: member for name, member in message.items() if member}]


def assembled(events: list[Json]) -> tuple[Json, bool]:
    """Return the body that the events of a stream describe, and whether its last call ended."""
    body: Json = {}
    open_calls: set[int] = set()
    for event in events:
        kind, index = event.get("type"), event.get("index", -1)
        delta = event.get("delta") or {}
        piece = delta.get("message") or {}
        if kind == "message-start":
            if body:
                raise Irregular("two messages in one stream")
            empty = {"content": [], "tool_plan": "", "tool_calls": [], "citations": []}
            body = {"id": event.get("id"), "message": {**empty, **copy.deepcopy(piece)}}
            continue
        if not body:
            raise Irregular("an event before the message")
        message = body["message"]
        if kind in ("content-start", "tool-call-start"):
            member = "content" if kind == "content-start" else "tool_calls"
            if index != len(message[member]):
                raise Irregular("a content or a call has an unusual index")
            message[member].append(copy.deepcopy(piece[member]))
            open_calls |= {index} if member == "tool_calls" else set()
        elif kind in ("content-delta", "tool-call-delta"):
            _grow(message, kind, index, piece)
        elif kind == "tool-plan-delta":
            message["tool_plan"] += piece["tool_plan"]
        elif kind == "citation-start":
            message["citations"].append(piece["citations"])
        elif kind == "tool-call-end":
            open_calls.discard(index)
        elif kind == "message-end":
            body.update(without(delta))
        elif kind not in ("content-end", "citation-end"):
            raise Irregular(f"an event of type {kind}")
    if not body:
        raise Irregular("the stream has no message")
    return body, "finish_reason" in body or not open_calls


def _grow(message: Json, kind: str, index: int, piece: Json) -> None:
    member = "content" if kind == "content-delta" else "tool_calls"
    if not 0 <= index < len(message[member]):
        raise Irregular("a fragment without its content or call")
    held, added = message[member][index], piece[member]
    if member == "tool_calls":
        held, added = held["function"], added["function"]
    for name, text in added.items():
        if name != "type" and name not in held:
            raise Irregular("a fragment of another type than its content")
        held[name] = held[name] + text


def _blocks(message: Json, *, cut: bool) -> list[WireBlock]:
    """Return the blocks of a message: the plan, the content, the calls."""
    blocks: list[WireBlock] = []
    if plan := message.get("tool_plan"):
        blocks.append(reasoning(plan, {"member": "tool_plan"}))
    citations = message.get("citations") or []
    contents = message.get("content") or []
    texts = [index for index, content in enumerate(contents) if content.get("type") == "text"]
    if citations and len(texts) != 1:
        raise Irregular("citations of several texts")
    for content in contents:
        kind = content.get("type", "")
        rest = without(content, "type", kind)
        if kind == "text":
            blocks.append(text_block(content["text"], citations, rest))
        elif kind == "thinking":
            blocks.append(reasoning(content["thinking"], rest))
        else:
            blocks.append(opaque(kind, content, {}))
    calls = message.get("tool_calls") or []
    return blocks + [_call(entry, cut=cut and entry is calls[-1]) for entry in calls]


def _call(entry: Json, *, cut: bool) -> WireBlock:
    function = entry.get("function")
    if not isinstance(function, dict) or not function.get("name"):
        raise Irregular("a call without a name")
    text: Any = function.get("arguments")
    if text is not None and not isinstance(text, str):
        raise Irregular("arguments that are not text")
    rest = [without(entry, "id", "type", "function"), without(function, "name", "arguments")]
    return call(entry.get("id"), function["name"], text or "", rest, cut=cut)


def _usage(figures: Json | None) -> Json | None:
    if not figures:
        return None
    tokens, billed = figures.get("tokens"), figures.get("billed_units")
    input, output = count(tokens, "input_tokens"), count(tokens, "output_tokens")
    return {
        "input_tokens": count(billed, "input_tokens") if input is None else input,
        "output_tokens": count(billed, "output_tokens") if output is None else output,
        "reasoning_tokens": count(tokens, "reasoning_tokens"),
        "cached_input_tokens": count(figures, "cached_tokens"),
        "cache_write_tokens": None,
        "raw": figures,
    }
