"""Oracle of the wire `google.interactions`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.scripts import OfferedTool

from ..subjects import SubjectExchange
from . import Facts, Json, RequestItem, event_pieces, json_excerpt, json_values, name_and_description, values_of

FACTS = Facts(
    item=values_of(type="user_input model_output function_call function_result"),
    part=values_of(type="text image audio video document"),
    named_results=True,
    typed_tools=True,
    strict=False,
    parallel=False,
    settings={"system_instruction": "Rhyme.", "generation_config": {"temperature": 0.5}},
)

_SPEAKERS = {"user": "user_input", "assistant": "model_output"}


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    body: Json = {"model": model, "input": ask}
    if tools:
        body["tools"] = [
            {"type": "function", **name_and_description(tool), "parameters": tool.parameters} for tool in tools
        ]
    return {**body, "stream": True} if stream else body


def items(body: Json) -> Iterator[RequestItem]:
    for step in _steps(body):
        if step.get("type") == "function_call":
            yield RequestItem("call", step["id"], step["name"], step["arguments"])
        elif step.get("type") == "function_result":
            yield RequestItem("result", step["call_id"], step.get("name", ""), step["result"])


def texts(body: Any, role: str) -> Iterator[str]:
    given = body.get("input") if isinstance(body, dict) else None
    if isinstance(given, str) and role == "user":
        yield given
    for step in _steps(body if isinstance(body, dict) else {}):
        if step.get("type") == _SPEAKERS[role]:
            for content in step.get("content") or []:
                if isinstance(content, dict) and content.get("type") == "text":
                    yield content["text"]


def failed_results(body: Json) -> set[str] | None:
    results = (step for step in _steps(body) if step.get("type") == "function_result")
    return {step["call_id"] for step in results if step.get("is_error") is True}


def _steps(body: Json) -> Iterator[Json]:
    given = body.get("input")
    return (step for step in given if isinstance(step, dict)) if isinstance(given, list) else iter(())


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts: Json = {}
    for value in json_values(exchange) if exchange.status < 400 else ():
        for holder in (value, value.get("interaction")):
            members = holder.get("usage") if isinstance(holder, dict) else None
            counts = members if isinstance(members, dict) else counts
    if not counts:
        return None
    return {
        "input_tokens": counts["total_input_tokens"] + (counts.get("total_tool_use_tokens") or 0),
        "output_tokens": counts["total_output_tokens"] + (counts.get("total_thought_tokens") or 0),
    }


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    for value in json_values(exchange) if exchange.status < 400 else ():
        for step in [*(value.get("steps") or []), value.get("step"), value.get("delta")]:
            if not isinstance(step, dict):
                continue
            if isinstance(signature := step.get("signature"), str) and signature:
                yield "signature", signature
            if isinstance(id := step.get("id"), str):
                yield "call id", id


_ENDED = rb"completed|requires_action|requires_continuation|incomplete|budget_exceeded|cancelled|failed|idle"
_END = re.compile(rb'"event_type"\s*:\s*"(interaction\.completed?|error)"|"status"\s*:\s*"(' + _ENDED + rb')"')


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


pieces = event_pieces
excerpt = json_excerpt
