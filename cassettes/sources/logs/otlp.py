"""OTLP JSON, as exporters and collectors of OpenTelemetry write it: documents with spans, or with log records.

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"name", "attributes", "events", …}]}]}]}
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"eventName", "body", "spanId", …}]}]}]}

Instrumentations of the old GenAI conventions write the messages of a call as log records with the id of its span, and
the response as the last of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableSource
from ..model import Exchange
from . import spans

#: How many spans may have messages whose response has not arrived.
_OPEN_SPANS = 10_000


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a document of OTLP."""
    return isinstance(item.get("resourceSpans"), list) or isinstance(item.get("resourceLogs"), list)


class Reader:
    """Reads the documents of one file in order."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, list[Any]] = OrderedDict()

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
        """Yield the exchanges that a document completes. Raises UnreadableSource for the first fault, at the end."""
        faults: list[UnreadableSource] = []
        for span in _entries(item, "resourceSpans", "scopeSpans", "spans"):
            attributes = _attributes(span)
            if spans.is_model_span(attributes):
                events = [(str(event.get("name")), _attributes(event)) for event in _mappings(span.get("events"))]
                try:
                    yield from spans.exchange(source, line, attributes, events)
                except UnreadableSource as error:
                    faults.append(error)
        for record in _entries(item, "resourceLogs", "scopeLogs", "logRecords"):
            try:
                yield from self._record(source, line, record)
            except UnreadableSource as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def finish(self) -> Iterator[Exchange]:
        """Yield nothing: messages without a response are requests that failed or are still running."""
        return iter(())

    def _record(self, source: str, line: int | None, record: dict[str, Any]) -> Iterator[Exchange]:
        attributes = _attributes(record)
        name = str(record.get("eventName") or attributes.get("event.name"))
        body = _value(record.get("body"))
        body = body if isinstance(body, dict) else {}
        span = f"{record.get('traceId')}/{record.get('spanId')}"
        if name in spans.EVENTS:
            self._messages.setdefault(span, []).append((name, body))
            if len(self._messages) > _OPEN_SPANS:
                self._messages.popitem(last=False)
        elif name == spans.CHOICE:
            if messages := self._messages.pop(span, None):
                yield from spans.exchange(source, line, attributes, [*messages, (name, body)])
        elif name == spans.DETAILS:
            yield from spans.exchange(source, line, {**attributes, **body}, [])


def _entries(item: dict[str, Any], *path: str) -> Iterator[dict[str, Any]]:
    if not path:
        yield item
        return
    for child in _mappings(item.get(path[0])):
        yield from _entries(child, *path[1:])


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [child for child in value if isinstance(child, dict)] if isinstance(value, list) else []


def _attributes(item: dict[str, Any]) -> dict[str, Any]:
    return {str(entry.get("key")): _value(entry.get("value")) for entry in _mappings(item.get("attributes"))}


def _value(value: Any) -> Any:
    """Return the plain value of an AnyValue."""
    if not isinstance(value, dict):
        return None
    if "kvlistValue" in value:
        pairs = _mappings(value["kvlistValue"].get("values")) if isinstance(value["kvlistValue"], dict) else []
        return {str(entry.get("key")): _value(entry.get("value")) for entry in pairs}
    if "arrayValue" in value:
        values = value["arrayValue"].get("values") if isinstance(value["arrayValue"], dict) else None
        return [_value(entry) for entry in _mappings(values)]
    if "intValue" in value:
        return _integer(value["intValue"])
    return next(iter(value.values()), None)


def _integer(value: Any) -> int | None:
    """Return a 64-bit integer, which OTLP JSON writes as text."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
