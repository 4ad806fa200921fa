"""Splitting of data that contains several responses.

A body is one response: a single JSON object, or the events of one stream in any framing. A file can contain several:
JSON lines or an array of responses, consecutive responses or streams, responses of different wires. `responses` splits
such data. Each wire's spec classifies the JSON documents: ``shape`` recognizes whole responses and events, ``boundary``
the first and last event of a response, and `wires.limits` says when another one begins. On some wires the last event
has the form of a whole response; it ends the open stream, or is a stream by itself. An error that follows the events of
a stream belongs to that stream; any other error is a response.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from .detect import end_of_stream_wire, event_wire, json_object, whole_wire
from .readers import RAW, EventStreamReader, JsonLinesReader, SseReader, StreamEvent, sniff, without_mark
from .wires.limits import Boundary, Limits, is_error
from .wires.registry import spec


class _Document(NamedTuple):
    """The classification of a JSON document."""

    kind: Literal["response", "error", "event", "unknown"] = "unknown"
    wire: str | None = None
    boundary: Boundary = Boundary()


class _Open:
    """A stream whose events are being collected."""

    def __init__(self, before: list[StreamEvent], *, documents: bool) -> None:
        self.items = before
        self.wire: str | None = None
        self.whole = False  # a whole response among server-sent events, which excludes all else
        self._limits = Limits(empty=True)
        self._documents = documents

    def take(self, item: StreamEvent, document: _Document) -> None:
        self.items.append(item)
        self.wire = self.wire or document.wire
        self.whole = document.kind == "response"
        self._limits.failed = self._limits.failed or document.kind == "error"
        self._limits.take(document.boundary)

    def excludes(self, document: _Document) -> bool:
        """Return whether a document cannot belong to this stream."""
        if self.whole or document.kind == "response":
            return True
        if document.kind != "event":
            return False
        if None not in (document.wire, self.wire) and document.wire != self.wire:
            return True
        return self._limits.excludes(document.boundary, documents=self._documents)


def responses(data: bytes) -> list[bytes]:
    """Return the bytes of each response in ``data``, in order; ``[data]`` if it contains one response or none.

    Text between responses that is not JSON becomes a separate item, so nothing is lost. Never raises.
    """
    plain = without_mark(data).lstrip()
    reader = sniff(plain[:65536], len(plain) + 1)
    if reader is None or isinstance(reader, EventStreamReader):
        return [data]
    if isinstance(reader, SseReader):
        parts = _streams(reader.feed(plain) + reader.close())
        return [data] if len(parts) < 2 else [_as_sse(part) for part in parts]
    assert isinstance(reader, JsonLinesReader)
    if plain.startswith(b"{") and json_object(plain) is not None:
        return [data]
    parts = _grouped(reader.feed(plain) + reader.close())
    between = [message.encode() for code, message in reader.problems if code == "raw-text-in-stream"]
    if len(parts) + len(between) < 2 or not parts:
        return [data]
    if len(parts) == 1 and len(parts[0]) > 1:
        return [data]  # text between the events of one stream: the decoder reports it
    return [b"\n".join(content for _, content in part) for part in parts] + between


def _streams(items: list[StreamEvent]) -> list[list[StreamEvent]]:
    """Group server-sent events by stream. A whole response on lines without a field name is a group by itself."""
    parts: list[_Open] = []
    for item in items:
        document = _server_sent(item, parts[-1].wire if parts else None)
        if not parts or parts[-1].excludes(document):
            parts.append(_Open([], documents=False))
        parts[-1].take(item, document)
    return [part.items for part in parts]


def _grouped(items: list[StreamEvent]) -> list[list[StreamEvent]]:
    """Group JSON documents by response."""
    parts: list[list[StreamEvent]] = []
    unknown: list[StreamEvent] = []
    stream: _Open | None = None
    for item in items:
        document = _document(item)
        if stream is not None and document.kind != "response" and not stream.excludes(document):
            stream.take(item, document)
        elif document.kind == "event":
            stream = _Open(unknown, documents=True)
            stream.take(item, document)
            parts.append(stream.items)
            unknown = []
        elif document.kind == "unknown":
            unknown.append(item)
        else:
            parts += [[item] for item in unknown]
            parts.append([item])
            unknown, stream = [], None
    return parts + [[item] for item in unknown]


def _document(item: StreamEvent) -> _Document:
    """Classify a JSON document outside server-sent events."""
    body = json_object(item[1])
    if body is None:
        return _Document()
    wire = whole_wire(body)
    if wire is not None:
        limits = spec(wire).boundary(body)
        return _Document("event", wire, limits) if limits.ends else _Document("response", wire)
    return _Document("error") if is_error(body) else _event_document(body)


def _server_sent(item: StreamEvent, likely: str | None) -> _Document:
    """Classify a server-sent event. ``likely``: the wire of the events before."""
    name, data = item
    body = json_object(data)
    if name is RAW:
        wire = None if body is None else whole_wire(body)
        if wire is not None:
            return _Document("response", wire)
    if body is not None and is_error(body):
        return _Document("error")
    if body is not None and name is not RAW:
        return _event_document(body, likely)
    ended = end_of_stream_wire(data, likely)
    return _Document() if ended is None else _Document("event", ended, Boundary(ends=True))


def _event_document(body: dict[str, Any], likely: str | None = None) -> _Document:
    wire = event_wire(body, likely)
    return _Document() if wire is None else _Document("event", wire, spec(wire).boundary(body))


def _as_sse(items: list[StreamEvent]) -> bytes:
    """Write events as server-sent events, so that each part is a separate stream."""
    out: list[bytes] = []
    for name, data in items:
        if isinstance(name, str):
            out.append(b"event: " + name.encode("utf-8", "replace") + b"\n")
        lines = data.split(b"\n")
        out.append(b"\n".join(lines if name is RAW else [b"data: " + line for line in lines]) + b"\n\n")
    return b"".join(out)
