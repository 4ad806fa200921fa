"""Cassettes of one interaction, as vcrpy holds them, and bodies of the wires to plant secrets in."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

URL = "https://api.openai.com/v1/chat/completions"


def cassette(
    *,
    url: str = URL,
    request: bytes = b'{"model":"m"}',
    request_headers: dict[str, str] | None = None,
    response: bytes = b'{"id":"chatcmpl-1"}',
    headers: dict[str, list[str]] | None = None,
    status: int = 200,
    **further: Any,
) -> dict[str, Any]:
    """``further``: more members of the response, as recorders add them."""
    asked = Request("POST", url, request, {"content-type": "application/json", **(request_headers or {})})
    answer = {
        "status": {"code": status, "message": "OK"},
        "headers": {"content-type": ["application/json"], **(headers or {})},
        "body": {"string": response},
        **further,
    }
    return {"requests": [asked], "responses": [answer]}


def written(cassette: dict[str, Any]) -> str:
    """The text that vcrpy would write."""
    return str(serialize(copy.deepcopy(cassette), yamlserializer))  # it changes what it is given


def response_body(cassette: dict[str, Any]) -> bytes:
    body: bytes = cassette["responses"][0]["body"]["string"]
    return body


def answer(text: str) -> bytes:
    """A Chat Completions answer."""
    message = {"role": "assistant", "content": text}
    return json.dumps({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message}]}).encode()


def sse(events: Iterable[Any], *, named: bool = False) -> bytes:
    lines = []
    for event in events:
        lines.append((f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def chat_stream(*texts: list[str]) -> bytes:
    """Pieces of content; several texts are choices whose chunks take turns."""
    events = []
    for at in range(max(map(len, texts))):
        for index, pieces in enumerate(texts):
            if at < len(pieces):
                choice = {"delta": {"content": pieces[at]}, "index": index}
                events.append({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]})
    return sse(events) + b"data: [DONE]\n\n"


def chat_arguments(*calls: list[str]) -> bytes:
    """Pieces of the arguments of parallel calls, taking turns."""
    events = []
    for at in range(max(map(len, calls))):
        for index, pieces in enumerate(calls):
            if at < len(pieces):
                call = {"index": index, "id": f"call_{index}", "function": {"arguments": pieces[at]}}
                events.append({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    return sse(events)


def anthropic_arguments(pieces: list[str]) -> bytes:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return sse([{"type": "content_block_delta", "index": 1, "delta": delta} for delta in deltas], named=True)


def responses_arguments(pieces: list[str]) -> bytes:
    kind = "response.function_call_arguments.delta"
    return sse(({"type": kind, "item_id": "fc_1", "output_index": 0, "delta": piece} for piece in pieces), named=True)


def grpc_body(messages: list[Message]) -> bytes:
    """As cassettes hold the messages of a gRPC call: readable and serialized."""
    entries = [
        {
            "message": MessageToDict(message, preserving_proto_field_name=True),
            "serialized": base64.b64encode(message.SerializeToString()).decode(),
        }
        for message in messages
    ]
    return json.dumps({"messages": entries, "type": messages[0].DESCRIPTOR.full_name}, sort_keys=True).encode()


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
