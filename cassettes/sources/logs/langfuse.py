"""Exports of Langfuse: observations of the type GENERATION, and traces that contain them.

    {"id", "type": "GENERATION", "traceId", "model", "input", "output", "modelParameters", "usageDetails", …}

Other observations (spans, events, tools) hold no exchange with a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableSource
from ..call_count import calls_in
from ..entries import mapping, readable, word
from ..json_text import parsed
from ..model import Exchange, ReadItem
from . import conversion
from .conversion import text

_TYPES = frozenset(("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR"))


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is an observation, or a trace with observations."""
    return _is_observation(item) or (
        isinstance(item.get("observations"), list)
        and any(isinstance(one, dict) and _is_observation(one) for one in item["observations"])
    )


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]:
    """Yield an exchange for each generation, in the order of their starts, and a problem if it cannot be read."""
    if _is_observation(item):
        yield from _generation(source, line, item)
        return
    for one in sorted(item["observations"], key=_start):
        yield from readable("langfuse", source, line, _generation(source, line, one))


def _generation(source: str, line: int | None, item: Any) -> Iterator[Exchange]:
    if not _is_observation(mapping(item, "an observation")):
        raise UnreadableSource("an observation has neither type nor input")
    if word(item.get("type"), "type") != "GENERATION":
        return
    if item.get("output") is None and not item.get("statusMessage"):
        if calls_in(item):
            raise UnreadableSource("a generation has calls, but no output")
        return
    output = parsed(item.get("output"))
    if output is None:
        output = {"error": {"message": item["statusMessage"], "type": "error"}}
    request = parsed(item.get("input"))
    tools = request.get("tools") if isinstance(request, dict) else None
    yield conversion.exchange(
        source,
        line,
        format="langfuse",
        request=request,
        response=output,
        id=item.get("id"),
        model=item.get("model") or item.get("providedModelName"),
        tools=tools,
    )


def _is_observation(item: dict[str, Any]) -> bool:
    return text(item.get("type")) in _TYPES and ("traceId" in item or "trace_id" in item) and "input" in item


def _start(item: Any) -> str:
    return (text(item.get("startTime")) or text(item.get("start_time")) or "") if isinstance(item, dict) else ""
