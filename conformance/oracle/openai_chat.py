"""Oracle of the wire `openai.chat`."""

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
    item=values_of(role="system developer user assistant tool"),
    part=values_of(type="text image_url input_audio file refusal"),
    call=values_of(type="function custom"),
    may_omit=frozenset(("annotations", "content")),
    calls_last=True,
    typed_tools=True,
    custom_tools=True,
    several_choices=True,
    limit="max_completion_tokens",
    stops=Facts().stops | {"content_filter"},
    settings={"tool_choice": "none", "parallel_tool_calls": False, "stop": ["."], "n": 2, "temperature": 0.5},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "messages": [{"role": "user", "content": ask}]}
    if tools:
        body["tools"] = [
            {"type": "custom", "custom": name_and_description(tool)}
            if tool.kind == "custom"
            else {"type": "function", "function": {**name_and_description(tool), "parameters": tool.parameters}}
            for tool in tools
        ]
    return {**body, "stream": True} if stream else body


def items(body: Json) -> Iterator[RequestItem]:
    for message in body.get("messages") or []:
        for call in message.get("tool_calls") or []:
            function = call.get("function") or call.get("custom") or {}
            arguments = function.get("arguments", function.get("input"))
            yield RequestItem("call", call["id"], function.get("name", ""), arguments)
        if message.get("role") == "tool":
            yield RequestItem("result", message.get("tool_call_id", ""), "", message.get("content"))


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    return None


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts = last_usage(exchange)
    if not counts:
        return None
    details = counts.get("completion_tokens_details") or {}
    separate = details.get("reasoning_tokens") or 0 if exchange.provider == "xai" else 0
    return {"input_tokens": counts["prompt_tokens"], "output_tokens": counts["completion_tokens"] + separate}


_END = re.compile(rb'"finish_reason"\s*:\s*"[^"]|^data: ?\[DONE\]', re.MULTILINE)


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


returned_values = json_returned_values
pieces = event_pieces
excerpt = json_excerpt
