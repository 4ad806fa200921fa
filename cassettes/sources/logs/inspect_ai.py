"""Logs of Inspect as JSON: the events of each sample, of which those of a model hold an exchange.

    {"eval": {…}, "samples": [{"events": [{"event": "model", "input": […], "output": {"choices"}, "call": {…}}]}]}

Messages may be kept once, in ``events_data``, and an event has the ranges of those that were its input. ``call`` holds
the bodies, if the log was written with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..entries import listed, mapping, mappings, readable, word
from ..model import Exchange, ReadItem
from . import conversion


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a log of Inspect."""
    return isinstance(item.get("eval"), dict) and isinstance(item.get("samples"), list)


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]:
    """Yield the exchange of each event of a model."""
    for sample in mappings(item["samples"], "samples"):
        kept = listed((sample.get("events_data") or {}).get("messages"), "messages")
        for event in mappings(sample.get("events"), "events"):
            if word(event.get("event"), "event") == "model":
                yield from readable("inspect", source, line, _exchange(source, line, event, kept))


def _exchange(source: str, line: int | None, event: dict[str, Any], kept: list[Any]) -> Iterator[Exchange]:
    ranges = listed(event.get("input_refs"), "input_refs")
    messages = [message for start, end in ranges for message in kept[start:end]] or event.get("input")
    call = mapping(event.get("call") or {}, "call")
    response = call.get("response") or mapping(event.get("output"), "output").get("choices")
    if not response and event.get("error"):
        return
    yield conversion.exchange(
        source,
        line,
        format="inspect",
        request=messages,
        response=response,
        id=event.get("uuid"),
        model=event.get("model"),
        tools=mapping(call.get("request") or {}, "request").get("tools"),
    )
