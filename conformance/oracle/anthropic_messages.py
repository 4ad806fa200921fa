"""Oracle of the wire `anthropic.messages`."""

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
    last_usage,
    message_texts,
    name_and_description,
    values_of,
)

FACTS = Facts(
    item=values_of(role="user assistant system"),
    part=values_of(type="text image document thinking redacted_thinking tool_use tool_result"),
    signed_thinking=True,
    required="limit",
    stops=Facts().stops | {"refusal", "pause", "context_window"},
    settings={"tool_choice": {"type": "none"}, "stop_sequences": ["."], "system": "Rhyme.", "temperature": 0.5},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": ask}]}
    if tools:
        body["tools"] = [{**name_and_description(tool), "input_schema": tool.parameters} for tool in tools]
    return {**body, "stream": True} if stream else body


def items(body: Json) -> Iterator[RequestItem]:
    for block in _blocks(body):
        if block.get("type") == "tool_use":
            yield RequestItem("call", block["id"], block["name"], block["input"])
        elif block.get("type") == "tool_result":
            yield RequestItem("result", block["tool_use_id"], "", block.get("content"))


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    results = (block for block in _blocks(body) if block.get("type") == "tool_result")
    return {block["tool_use_id"] for block in results if block.get("is_error") is True}


def _blocks(body: Json) -> Iterator[Json]:
    for message in body.get("messages") or []:
        content = message.get("content")
        yield from (block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts = last_usage(exchange)
    if not counts:
        return None
    cache = sum(counts.get(key) or 0 for key in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    return {"input_tokens": counts["input_tokens"] + cache, "output_tokens": counts["output_tokens"]}


_END = re.compile(rb'"stop_reason"\s*:\s*"|"type"\s*:\s*"message_stop"')


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


returned_values = json_returned_values
pieces = event_pieces
excerpt = json_excerpt
