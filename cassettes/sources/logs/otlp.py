"""OTLP JSON, as exporters and collectors of OpenTelemetry write it: documents with spans, or with log records.

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"name", "attributes", "events", …}]}]}]}
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"eventName", "body", "spanId", …}]}]}]}

Instrumentations of the old GenAI conventions write the messages of a call as log records with the id of its span, and
the response as the last of them. Exporters write spans and log records into different files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ...errors import UnreadableSource
from ..entries import listed, mapping, mappings, readable, word
from ..model import Exchange, Problem, ReadItem
from . import spans

T = TypeVar("T")

#: Spans and the log records with their messages are in different files.
IS_OPEN = True
#: How many spans may have messages whose response has not arrived.
_OPEN_SPANS = 10_000
_NAMES = {*spans.EVENTS, spans.CHOICE, spans.DETAILS}
#: The members of the documents that OTLP has: an exporter may write all of them into one file.
_SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics", "resourceProfiles")


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a document of OTLP."""
    return isinstance(item.get("resourceSpans"), list) or isinstance(item.get("resourceLogs"), list)


class Reader:
    """Reads the documents of one file in order."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, list[Any]] = OrderedDict()
        self._without: OrderedDict[str, list[Problem]] = OrderedDict()  # calls whose response can be elsewhere
        self._read: OrderedDict[str, None] = OrderedDict()  # traces with a response
        self._anonymous = 0  # responses of records without a trace

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]:
        """Yield the exchanges that a document completes, and a problem for each entry that cannot be read.

        Raises UnreadableSource if the object is not a document of OTLP. An empty one is a document without entries.
        """
        if item and not any(name in item for name in _SIGNALS):
            raise UnreadableSource("not a document of OTLP: it has neither spans nor log records")
        known = 0
        for read, path in (
            (self._span, ("resourceSpans", "scopeSpans", "spans")),
            (self._record, ("resourceLogs", "scopeLogs", "logRecords")),
        ):
            for entry in _entries(item, *path):
                known += isinstance(entry, dict) and _is_of_trace(entry)
                yield from readable("otlp", source, line, read(source, line, entry))
        if (elsewhere := _count(item) - known) > 0:
            yield Problem(source, f"{elsewhere:,} spans or log records at places that OTLP does not have", line=line)

    def finish(self, others: Iterable[dict[str, Any]] = ()) -> Iterator[Problem]:
        """Yield a problem for a call to a model in each trace of which no response was read.

        Another span or a log record can have it, also in one of ``others``. Responses without a trace are those of any
        calls, if there are enough. Messages without a response are requests that failed or are running.
        """
        self._forget_answered(self)
        if self._without:
            reader = Reader()
            for item in others:
                for _ in readable("otlp", "", None, reader.add("", None, item)):
                    pass
                self._forget_answered(reader)
                if not self._without:
                    break
        return (problems[0] for problems in self._without.values())

    def _forget_answered(self, reader: Reader) -> None:
        for trace in reader._read:
            self._without.pop(trace, None)
        if sum(map(len, self._without.values())) <= self._anonymous + (reader is not self) * reader._anonymous:
            self._without.clear()

    def _span(self, source: str, line: int | None, span: Any) -> Iterator[Exchange]:
        attributes = _attributes(_entry(span))
        if spans.is_model_span(attributes):
            events = [
                (word(event.get("name", ""), "the name of an event"), _attributes(event))
                for event in mappings(span.get("events"), "events")
            ]
            status = span.get("status")
            failed = isinstance(status, dict) and status.get("code") in (2, "STATUS_CODE_ERROR")
            trace = str(span.get("traceId")).lower()
            if "logfire.msg" in attributes:  # the response of a stream is a log with the same input, in another trace
                trace = str(hash(str(attributes.get("gen_ai.input.messages"))))
            try:
                yield from self._answers(trace, spans.exchange(source, line, attributes, events, failed=failed))
            except spans.WithoutMessages as error:
                problems = self._without.pop(trace, [])
                _remember(self._without, trace, [*problems, Problem(source, error.what, error.hint, line)])

    def _answers(self, trace: str, exchanges: Iterator[Exchange]) -> Iterator[Exchange]:
        """Yield exchanges of a trace, which is empty if their record has none."""
        for exchange in exchanges:
            if trace:
                _remember(self._read, trace, None)
            else:
                self._anonymous += 1
            yield exchange

    def _record(self, source: str, line: int | None, record: Any) -> Iterator[Exchange]:
        record = _entry(record)
        attributes = _attributes(record)
        name = record.get("eventName")
        if name is None or name == "":
            name = attributes.get("event.name")
        name = "" if name is None else word(name, "the name of an event")
        if name not in _NAMES:
            return
        body = _value(record.get("body"))
        body = {} if body is None else mapping(body, "the body of an event")
        trace = str(record.get("traceId") or "").lower()
        span = f"{trace}/{record.get('spanId')}"
        if name in spans.EVENTS:
            self._messages.setdefault(span, []).append((name, body))
            if len(self._messages) > _OPEN_SPANS:
                self._messages.popitem(last=False)
        elif name == spans.CHOICE:
            messages = self._messages.pop(span, [])
            if messages or not body.get("index"):  # further choices come after the first, which took the messages
                yield from self._answers(trace, spans.exchange(source, line, attributes, [*messages, (name, body)]))
        elif name == spans.DETAILS:
            yield from self._answers(trace, spans.exchange(source, line, {**attributes, **body}, []))


def _remember(known: OrderedDict[str, T], trace: str, value: T) -> None:
    known[trace] = value
    if len(known) > _OPEN_SPANS:
        known.popitem(last=False)


def _is_of_trace(value: dict[str, Any]) -> bool:
    return isinstance(value.get("traceId"), str) and isinstance(value.get("spanId"), str)


def _count(value: Any) -> int:
    """Return how many spans and log records with the ids of a trace are anywhere in a document."""
    if isinstance(value, dict):
        return 1 if _is_of_trace(value) else sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 0


def _entries(item: dict[str, Any], *path: str) -> Iterator[Any]:
    """Yield each entry, and an UnreadableSource for each member that cannot hold entries."""
    if not path:
        yield item
        return
    try:
        children = listed(item.get(path[0]), path[0])
    except UnreadableSource as error:
        yield error
        return
    for child in children:
        if isinstance(child, dict):
            yield from _entries(child, *path[1:])
        else:
            yield UnreadableSource(f"an element of {path[0]} is not an object")


def _entry(entry: Any) -> dict[str, Any]:
    if isinstance(entry, UnreadableSource):
        raise entry
    return mapping(entry, "the entry")


def _attributes(item: dict[str, Any]) -> dict[str, Any]:
    return _pairs(item.get("attributes"), "attributes")


def _pairs(value: Any, name: str) -> dict[str, Any]:
    """Return the plain values of a list of keys with values. Raises UnreadableSource for another form."""
    pairs = mappings(value, name)
    if not all(isinstance(pair.get("key"), str) for pair in pairs):
        raise UnreadableSource(f"an element of {name} has no key")
    return {pair["key"]: _value(pair.get("value")) for pair in pairs}


def _value(value: Any) -> Any:
    """Return the plain value of an AnyValue. Raises UnreadableSource if it is not one."""
    if value is None:
        return None
    value = mapping(value, "a value")
    if "kvlistValue" in value:
        return _pairs(mapping(value["kvlistValue"], "kvlistValue").get("values"), "kvlistValue")
    if "arrayValue" in value:
        return [
            _value(entry) for entry in listed(mapping(value["arrayValue"], "arrayValue").get("values"), "arrayValue")
        ]
    if "intValue" in value:
        return _integer(value["intValue"])
    if not isinstance(value.get("stringValue", ""), str):
        raise UnreadableSource("stringValue is not text")
    return next(iter(value.values()), None)


def _integer(value: Any) -> int | None:
    """Return a 64-bit integer, which OTLP JSON writes as text."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None
