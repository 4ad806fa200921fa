"""Oracle of the wire `xai.grpc`. Requests are in protobuf's JSON form with the proto field names."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict, Parse
from google.protobuf.message import DecodeError
from xai_sdk.proto import chat_pb2

from toolparity.cassettes.scripts import OfferedTool
from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange
from . import Facts, Json, RequestItem, message_texts, name_and_description, values_of

FACTS = Facts(
    item=values_of(role="ROLE_SYSTEM ROLE_DEVELOPER ROLE_USER ROLE_ASSISTANT ROLE_TOOL"),
    call=values_of(
        type="TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", status="TOOL_CALL_STATUS_COMPLETED TOOL_CALL_STATUS_INCOMPLETE"
    ),
    calls_last=True,
    several_choices=True,
    # docs.x.ai/developers/tools/tool-usage-details; UKGovernmentBEIS/inspect_ai#5460
    own_tools=frozenset(("code_execution", "web_search", "x_search", "collections_search", "tool_search")),
    settings={"tool_choice": {"mode": "TOOL_MODE_NONE"}, "parallel_tool_calls": False, "stop": ["."], "n": 2},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "messages": [{"role": "ROLE_USER", "content": [{"text": ask}]}]}
    if tools:
        body["tools"] = [
            {"function": {**name_and_description(tool), "parameters": json_codec.text(tool.parameters)}}
            for tool in tools
        ]
    return body


def items(body: Json) -> Iterator[RequestItem]:
    for message in body.get("messages") or []:
        for call in message.get("tool_calls") or []:
            type = str(call.get("type", ""))
            if not type.startswith("TOOL_CALL_TYPE_") or type.endswith("CLIENT_SIDE_TOOL"):
                function = call.get("function") or {}
                yield RequestItem("call", call["id"], function.get("name", ""), function.get("arguments"))
        if message.get("role") == "ROLE_TOOL":
            yield RequestItem("result", message.get("tool_call_id", ""), "", message.get("content"))


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    return None


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    """See `Oracle`. Reasoning is added to the output if the total counts it separately."""
    if exchange.status >= 400:
        return None
    counts = [usage for message in _messages(exchange) if (usage := message.usage).ListFields()]
    if not counts:
        return None
    prompt, output, reasoning = (
        getattr(counts[-1], f"{kind}_tokens") for kind in ("prompt", "completion", "reasoning")
    )
    separate = reasoning if counts[-1].total_tokens == prompt + output + reasoning else 0
    return {"input_tokens": prompt, "output_tokens": output + separate}


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    if exchange.status >= 400:
        return
    for message in _messages(exchange):
        for output in message.outputs:
            answer = output.delta if exchange.stream else output.message
            if answer.encrypted_content:
                yield "encrypted state", answer.encrypted_content
            for call in answer.tool_calls:
                if call.id:
                    yield "call id", call.id


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    """Return the serialized messages of a file with one message per line, in JSON or base64."""
    message_type = _type(stream)
    return [
        bytes(Parse(line, message_type()).SerializeToString(deterministic=True))
        if line.lstrip()[:1] == b"{"
        else base64.b64decode(line)
        for line in data.split(b"\n")
        if line.strip()
    ]


def finishes(piece: bytes) -> bool:
    return any(output.finish_reason for output in _type(True).FromString(piece).outputs)


def excerpt(exchange: SubjectExchange, length: int) -> str:
    """Return the first messages in protobuf's JSON form, one per line."""
    lines: list[str] = []
    for piece in exchange.pieces:
        try:
            message = _type(exchange.stream).FromString(piece)
        except DecodeError:
            lines.append(piece.decode("utf-8", "replace"))
        else:
            lines.append(json_codec.text(MessageToDict(message, preserving_proto_field_name=True)))
        if sum(map(len, lines)) > length:
            break
    return "\n".join(lines)[:length]


def _messages(exchange: SubjectExchange) -> list[Any]:
    return [_type(exchange.stream).FromString(piece) for piece in exchange.pieces]


def _type(stream: bool) -> Any:
    return chat_pb2.GetChatCompletionChunk if stream else chat_pb2.GetChatCompletionResponse
