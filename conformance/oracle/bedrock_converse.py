"""Oracle of the wire `bedrock.converse`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.emulated.bedrock_converse import message as framed
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

#: The counts of the cache, each with its other name, which Nova sends alone in answers of InvokeModel.
_CACHE = (
    ("cacheReadInputTokens", "cacheReadInputTokenCount"),
    ("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
)
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
    for message in (body.get("messages") or ()) if isinstance(body, dict) else ():
        content = message.get("content")
        if isinstance(content, list):
            cited = [part.get("citationsContent", part) for part in content]
            content = [text for part in cited for text in part.get("content", [part])]
        yield from message_texts([{**message, "content": content}], role)


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
    cache = sum(next((counts[name] for name in names if name in counts), 0) for names in _CACHE)
    found = {"input_tokens": counts["inputTokens"] + cache, "output_tokens": counts.get("outputTokens")}
    return {name: count for name, count in found.items() if count is not None}


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
            # InvokeModel: a chunk has the event of the model in base64
            members = json_codec.decode(base64.b64decode(value["bytes"])) if kind == "chunk" else {kind: value}
            for name, member in members.items():
                is_object = isinstance(member, dict)
                yield {name: {key: member[key] for key in member if key != "p"} if is_object else member}


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
    if b":error-code" in types:
        error = {"type": types[b":error-code"], "message": types.get(b":error-message", "")}
        return "error", json_codec.encode(error)
    return types.get(b":event-type") or types.get(b":exception-type", ""), message[end:-4]


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    """Return the messages of an event stream. A written one has an event in each line, as botocore returns it."""
    if not stream:
        return [data]
    found = [] if is_event_stream(data) else [_written(line) for line in data.splitlines() if line.strip()]
    if found:
        return found
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(data[:size])
        data = data[size:]
    return found


def _written(line: bytes) -> bytes:
    """Return the message of an event: ``{"TYPE": {…}}``; in a ``chunk`` the event of the model.

    An ``error`` is one of the framing. A line in another form, such as the body of an error, stays as it is.
    """
    event = json_codec.decode(line)
    ((kind, members), *more) = event.items()
    if more or not isinstance(members, dict):
        return line
    category = "exception" if kind.endswith("Exception") else "error" if kind == "error" else "event"
    headers = {f":{category}-type": kind, ":content-type": "application/json", ":message-type": category}
    payload = line.partition(b":")[2].rstrip()[:-1]
    if category == "error":
        headers = {":error-code": members["code"], ":error-message": members["message"], ":message-type": category}
        payload = b""
    elif kind == "chunk":
        payload = json_codec.encode({"bytes": base64.b64encode(payload).decode()})
    return framed(payload, headers)


def finishes(piece: bytes) -> bool:
    is_chunk = b":event-type\x07\x00\x05chunk" in piece
    return b'"stopReason"' in piece or b"messageStop" in piece or (is_chunk and "messageStop" in next(_events(piece)))


def excerpt(exchange: SubjectExchange, length: int) -> str:
    if not is_event_stream(exchange.body):
        return exchange.body[:length].decode("utf-8", "replace")
    return "\n".join(json_codec.text(value) for value in values(exchange))[:length]
