"""Oracle of the wire `bedrock.converse`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.scripts import OfferedTool
from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange
from . import Facts, Json, RequestItem, message_texts, name_and_description, values_of

FACTS = Facts(
    item=values_of(role="system user assistant"),
    call_id="toolUseId",
    parallel=False,
    required="tools",
    settings={"system": [{"text": "Rhyme."}], "inferenceConfig": {"temperature": 0.5}},
)

_CACHE = ("cacheReadInputTokens", "cacheWriteInputTokens")
#: The members whose text must be sent back to the provider.
_STATE = {"signature": "signature", "redactedContent": "redacted reasoning", "toolUseId": "call id"}


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    """The operation, and not the body, requests a stream."""
    body: Json = {"modelId": model, "messages": [{"role": "user", "content": [{"text": ask}]}]}
    if tools:
        specs = [{**name_and_description(tool), "inputSchema": {"json": tool.parameters}} for tool in tools]
        body["toolConfig"] = {"tools": [{"toolSpec": tool} for tool in specs]}
    return body


def items(body: Json) -> Iterator[RequestItem]:
    for role, block in _blocks(body):
        call, result = block.get("toolUse"), block.get("toolResult")
        if isinstance(call, dict) and call.get("type") != "server_tool_use":
            yield RequestItem("call", call["toolUseId"], call["name"], call["input"])
        elif isinstance(result, dict) and role == "user":
            parts = result.get("content") or []
            content = [{"text": json_codec.text(part["json"])} if "json" in part else part for part in parts]
            yield RequestItem("result", result["toolUseId"], "", content)


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    results = (block["toolResult"] for _, block in _blocks(body) if isinstance(block.get("toolResult"), dict))
    return {result["toolUseId"] for result in results if result.get("status") == "error"}


def _blocks(body: Json) -> Iterator[tuple[str, Json]]:
    for message in body.get("messages") or []:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield message.get("role", ""), block


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts: Json = {}
    for value in values(exchange):
        holder = value.get("metadata", value)
        counts = holder.get("usage") or counts if isinstance(holder, dict) else counts
    if not counts:
        return None
    cache = sum(counts.get(key) or 0 for key in _CACHE)
    return {"input_tokens": counts["inputTokens"] + cache, "output_tokens": counts["outputTokens"]}


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    for value in values(exchange) if exchange.status < 400 else ():
        yield from _state(value)


def _state(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for element in value:
            yield from _state(element)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key in _STATE and isinstance(member, str) and member:
                yield _STATE[key], member
            elif key != "input":  # the model's arguments may have such members
                yield from _state(member)


def values(exchange: SubjectExchange) -> list[Json]:
    """Return the JSON object of a body, or for each message of a stream an object with its type as the only member."""
    return [*_events(exchange.body)] if is_event_stream(exchange.body) else [*_object(exchange.body)]


def is_event_stream(data: bytes) -> bool:
    """Return whether data begins with the length of a message, which is below 16 MiB."""
    return data[:1] == b"\x00"


def _object(text: bytes) -> Iterator[Json]:
    try:
        value = json_codec.decode(text)
    except ValueError:
        return
    if isinstance(value, dict):
        yield value


def _events(data: bytes) -> Iterator[Json]:
    for piece in pieces(data, stream=True):
        kind, payload = _read(piece)
        for value in _object(payload):
            yield {kind: {key: member for key, member in value.items() if key != "p"}}


def _read(message: bytes) -> tuple[str, bytes]:
    """Return the type and the payload of a message. Source: AWS, Event Stream Encoding."""
    end = 12 + int.from_bytes(message[4:8], "big")
    types: dict[bytes, str] = {}
    at = 12
    while at < end:
        name = message[at + 1 : at + 1 + message[at]]
        at += 2 + len(name)
        size = int.from_bytes(message[at : at + 2], "big")
        types[name] = message[at + 2 : at + 2 + size].decode()
        at += 2 + size
    return types.get(b":event-type") or types.get(b":exception-type", ""), message[end:-4]


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    if not (stream and is_event_stream(data)):
        return [data]
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(data[:size])
        data = data[size:]
    return found


def finishes(piece: bytes) -> bool:
    return b"messageStop" in piece or b'"stopReason"' in piece


def excerpt(exchange: SubjectExchange, length: int) -> str:
    if not is_event_stream(exchange.body):
        return exchange.body[:length].decode("utf-8", "replace")
    return "\n".join(json_codec.text(value) for value in values(exchange))[:length]
