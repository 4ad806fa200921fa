"""Oracle of the wire `google.gemini`."""

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
    is_array,
    json_excerpt,
    json_values,
    name_and_description,
    values_of,
)

FACTS = Facts(
    item=values_of(role="user model"),
    call_id="",
    named_results=True,
    strict=False,
    parallel=False,
    settings={
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
        "systemInstruction": {"parts": [{"text": "Rhyme."}]},
        "generationConfig": {"temperature": 0.5},
    },
)

_SPEAKERS = {"user": "user", "assistant": "model"}
#: The members of a part with an id that goes back with it.
_WITH_IDS = ("functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse")


def request_body(ask: str, tools: Sequence[OfferedTool], model: str, *, stream: bool) -> Json:
    """The address, and not the body, requests a stream."""
    body: Json = {"model": model, "contents": [{"role": "user", "parts": [{"text": ask}]}]}
    if tools:
        declarations = [{**name_and_description(tool), "parametersJsonSchema": tool.parameters} for tool in tools]
        body["tools"] = [{"functionDeclarations": declarations}]
    return body


def items(body: Json) -> Iterator[RequestItem]:
    """Yield the calls and results. Those without an id get one from their position, which is their identity.

    The results of a content belong to the calls of the content before it: by id, and by name and order where a call has
    none.
    """
    waiting: list[tuple[str, str, str | None]] = []
    for number, content in enumerate(body.get("contents") or []):
        for index, part in enumerate(content.get("parts") or []):
            call, result = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, dict):
                id = call.get("id") or f"{number}/{index}"
                waiting.append((id, call["name"], call.get("id")))
                yield RequestItem("call", id, call["name"], call.get("args"))
            elif isinstance(result, dict):
                yield RequestItem("result", _taken(waiting, result), result["name"], result_value(result))


def _taken(waiting: list[tuple[str, str, str | None]], result: Json) -> str:
    """Return the id of the call that a result answers, and remove the call from the waiting ones."""
    wanted = result["name"], result.get("id")
    call = next((call for call in waiting if call[1:] == wanted), None)
    if call is None:
        return result.get("id") or ""
    waiting.remove(call)
    return call[0]


def result_value(result: Json) -> Any:
    """Return the value in the response of a function, which is an object."""
    response = result.get("response") or {}
    return next(iter(response.values())) if len(response) == 1 and response.keys() & {"output", "error"} else response


def texts(body: Any, role: str) -> Iterator[str]:
    for part in _parts(body if isinstance(body, dict) else {}, _SPEAKERS[role]):
        if isinstance(part.get("text"), str) and part.get("thought") is not True:
            yield part["text"]


def failed_results(body: Json) -> set[str] | None:
    failed = [
        part["functionResponse"]["response"].keys() == {"error"} for part in _parts(body, "user") if _is_result(part)
    ]
    results = [item.id for item in items(body) if item.kind == "result"]
    return {id for id, has_failed in zip(results, failed, strict=True) if has_failed}


def _is_result(part: Json) -> bool:
    return isinstance(part.get("functionResponse"), dict)


def _parts(body: Json, role: str) -> Iterator[Json]:
    for content in body.get("contents") or []:
        if content.get("role", "user") == role:
            yield from content.get("parts") or []


def usage(exchange: SubjectExchange) -> dict[str, int] | None:
    counts: Json = {}
    for value in json_values(exchange) if exchange.status < 400 else ():
        counts.update(value.get("usageMetadata") or {})
    sums = {
        "input_tokens": ("promptTokenCount", "toolUsePromptTokenCount"),
        "output_tokens": ("candidatesTokenCount", "thoughtsTokenCount"),
    }
    # A response without an answer has no count of it.
    return {
        name: sum(counts.get(member, 0) for member in members)
        for name, members in sums.items()
        if not counts.keys().isdisjoint(members)
    } or None


def returned_values(exchange: SubjectExchange) -> Iterator[tuple[str, str]]:
    for value in json_values(exchange) if exchange.status < 400 else ():
        for candidate in value.get("candidates") or []:
            for part in (candidate.get("content") or {}).get("parts") or []:
                if isinstance(part.get("thoughtSignature"), str):
                    yield "signature", part["thoughtSignature"]
                for name in _WITH_IDS:
                    if isinstance(part.get(name), dict) and isinstance(part[name].get("id"), str):
                        yield "call id", part[name]["id"]


_END = re.compile(rb'"finishReason"\s*:\s*"|"blockReason"\s*:\s*"')


def finishes(piece: bytes) -> bool:
    return _END.search(piece) is not None


def pieces(data: bytes, *, stream: bool) -> list[bytes]:
    """See `Oracle.pieces`. Without alt=sse, a stream is an array of its events."""
    return re.split(rb"(?<=\n,\n)", data) if stream and is_array(data) else event_pieces(data, stream=stream)


excerpt = json_excerpt
