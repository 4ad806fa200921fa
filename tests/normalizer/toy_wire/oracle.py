"""Oracle of the wire `toy.chat` for the conformance suite. It calls no reader or writer of the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolparity.cassettes.scripts import OfferedTool
from toolparity.conformance.oracle import Facts, Json, RequestItem, event_pieces, json_excerpt, json_values, values_of
from toolparity.conformance.subjects import SubjectExchange

FACTS = Facts(item=values_of(by="system user model tool"), strict=False, parallel=False)
pieces = event_pieces
excerpt = json_excerpt


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    functions = [{"fn": tool.name, "about": tool.description, "takes": tool.parameters} for tool in tools]
    return {"model": model, "entries": [{"by": "user", "text": ask}], "functions": functions, "stream": stream}


def items(body: Json) -> Iterator[RequestItem]:
    for entry in body["entries"]:
        for step in entry.get("steps", ()):
            if "fn" in step:
                yield RequestItem("call", step["ref"], step["fn"], step["args"])
        if entry["by"] == "tool":
            yield RequestItem("result", entry["ref"], "", entry["output"])


def texts(body: Any, role: str) -> Iterator[str]:
    for entry in body["entries"]:
        if entry["by"] == {"user": "user", "assistant": "model"}[role]:
            yield from (part["text"] for part in entry.get("steps", [entry]) if "text" in part)


def failed_results(body: Json) -> None:
    """The wire does not mark the results of calls that failed."""


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    spent = [value["spent"] for value in json_values(exchange) if "spent" in value]
    return {"input_tokens": spent[0]["in"], "output_tokens": spent[0]["out"]} if spent else None


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    for value in json_values(exchange):
        for step in (value.get("step", {}), *value.get("steps", ())):
            if "ref" in step:
                yield "call id", step["ref"]


def finishes(piece: bytes) -> bool:
    return b'"end"' in piece
