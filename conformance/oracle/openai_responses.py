"""Oracle of the wire `openai.responses`."""

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
    json_values,
    last_usage,
    message_texts,
    name_and_description,
    state_and_ids,
    values_of,
)

FACTS = Facts(
    item=values_of(
        role="- system developer user assistant",
        type="- message reasoning function_call function_call_output custom_tool_call custom_tool_call_output",
    ),
    part=values_of(type="input_text output_text input_image input_file refusal"),
    call_id="call_id",
    may_omit=frozenset(("annotations", "logprobs")),
    typed_tools=True,
    custom_tools=True,
    strict_by_default=True,
    limit="max_output_tokens",
    stops=Facts().stops | {"content_filter"},
    settings={"tool_choice": "none", "parallel_tool_calls": False, "instructions": "Rhyme.", "temperature": 0.5},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "input": [{"role": "user", "content": ask}]}
    if tools:
        body["tools"] = [
            {"type": "custom", **name_and_description(tool)}
            if tool.kind == "custom"
            else {"type": "function", **name_and_description(tool), "parameters": tool.parameters, "strict": False}
            for tool in tools
        ]
    return {**body, "stream": True} if stream else body


def items(body: Json) -> Iterator[RequestItem]:
    custom = {tool.get("name") for tool in body.get("tools") or [] if tool.get("type") == "custom"}
    for item in body.get("input") or []:
        type = item.get("type") if isinstance(item, dict) else None
        if type == "custom_tool_call" and item.get("name") not in custom:
            continue  # a server call of xAI, which looks like a client call (failure SRV-09)
        if type in ("function_call", "custom_tool_call"):
            yield RequestItem("call", item["call_id"], item["name"], item.get("arguments", item.get("input")))
        elif type in ("function_call_output", "custom_tool_call_output"):
            yield RequestItem("result", item["call_id"], "", item["output"])


def texts(body: Any, role: str) -> Iterator[str]:
    items = body.get("input") if isinstance(body, dict) else None
    if isinstance(items, str) and role == "user":
        yield items
    yield from message_texts(items, role)


def failed_results(body: Json) -> set[str] | None:
    return None


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts = last_usage(exchange)
    if not counts:
        return None
    return {"input_tokens": counts["input_tokens"], "output_tokens": counts["output_tokens"]}


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    for value in json_values(exchange):
        if exchange.status >= 400 or value.get("type") == "error":
            continue
        # The state of an item may still grow in a stream; the last event holds all of it.
        if not exchange.stream or value.get("type") in ("response.completed", "response.incomplete"):
            yield from state_and_ids(value)


_END = re.compile(rb'"type"\s*:\s*"(response\.(completed|incomplete|failed)|error)"')


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


pieces = event_pieces
excerpt = json_excerpt
