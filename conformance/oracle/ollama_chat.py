"""Oracle of the wire `ollama.chat`, whose streams are JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.scripts import OfferedTool

from ..subjects import SubjectExchange
from . import Facts, Json, RequestItem, json_excerpt, json_values, message_texts, name_and_description, values_of

FACTS = Facts(
    item=values_of(role="system user assistant tool"),
    calls_last=True,
    named_results=True,
    typed_tools=True,
    strict=False,
    parallel=False,
    settings={"format": "json", "options": {"stop": ["."]}, "keep_alive": 0},
)


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "messages": [{"role": "user", "content": ask}], "stream": stream}
    if tools:
        functions = ({**name_and_description(tool), "parameters": tool.parameters} for tool in tools)
        body["tools"] = [{"type": "function", "function": function} for function in functions]
    return body


def items(body: Json) -> Iterator[RequestItem]:
    for message in body.get("messages") or []:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            yield RequestItem("call", call.get("id", ""), function["name"], function["arguments"])
        if message.get("role") == "tool":
            yield RequestItem(
                "result", message.get("tool_call_id", ""), message.get("tool_name", ""), message.get("content")
            )


def texts(body: Any, role: str) -> Iterator[str]:
    return message_texts(body.get("messages") if isinstance(body, dict) else None, role)


def failed_results(body: Json) -> set[str] | None:
    return None


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts: Json = {}
    for value in json_values(exchange) if exchange.status < 400 else ():
        counts.update({name: count for name, count in value.items() if name.endswith("eval_count")})
    if not counts:
        return None
    names = {"prompt_eval_count": "input_tokens", "eval_count": "output_tokens"}
    return {names[name]: count for name, count in counts.items()}


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    """Yield the ids of the calls. The wire has no other state."""
    for value in json_values(exchange) if exchange.status < 400 else ():
        for call in (value.get("message") or {}).get("tool_calls") or []:
            if isinstance(call.get("id"), str):
                yield "call id", call["id"]


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    return data.splitlines(keepends=True) if stream else [data]


_END = re.compile(rb'"done"\s*:\s*true|"done_reason"\s*:\s*"')


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


excerpt = json_excerpt
