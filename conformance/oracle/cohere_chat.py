"""Oracle of the wire `cohere.chat`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.scripts import OfferedTool

from ..subjects import SubjectExchange
from . import (
    Facts,
    Json,
    RequestItem,
    event_pieces,
    json_excerpt,
    json_returned_values,
    json_values,
    message_texts,
    name_and_description,
    values_of,
)

FACTS = Facts(
    item=values_of(role="system user assistant tool"),
    part=values_of(type="text image_url thinking document"),
    call=values_of(type="function"),
    calls_last=True,
    typed_tools=True,
    parallel=False,
    settings={"tool_choice": "NONE", "stop_sequences": ["."], "temperature": 0.5},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "messages": [{"role": "user", "content": ask}]}
    if tools:
        body["tools"] = [
            {"type": "function", "function": {**name_and_description(tool), "parameters": tool.parameters}}
            for tool in tools
        ]
    return {**body, "stream": True} if stream else body


def items(body: Json) -> Iterator[RequestItem]:
    for message in body.get("messages") or []:
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            yield RequestItem("call", call["id"], function.get("name", ""), function.get("arguments"))
        if message.get("role") == "tool":
            yield RequestItem("result", message.get("tool_call_id", ""), "", message.get("content"))


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    return None


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    found: Json = {}
    for value in json_values(exchange) if exchange.status < 400 else ():
        for holder in (value, value.get("delta")):
            members = holder.get("usage") if isinstance(holder, dict) else None
            found = members if isinstance(members, dict) else found
    counts = found.get("tokens") or found.get("billed_units")
    return {name: counts[name] for name in ("input_tokens", "output_tokens")} if counts else None


_END = re.compile(rb'"finish_reason"\s*:\s*"|"type"\s*:\s*"message-end"|^data: ?\[DONE\]', re.MULTILINE)


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    """Return the events of a handwritten stream. Those of version 1 are JSON lines."""
    return data.splitlines(keepends=True) if stream and data[:1] == b"{" else event_pieces(data, stream=stream)


returned_values = json_returned_values
excerpt = json_excerpt
