"""Splitting of data that contains several responses.

A body is one response: a single JSON object, or the events of one stream in any framing. A file can contain several:
JSON lines or an array of responses, consecutive responses or streams, responses of different wires. `responses` splits
such data. Each wire's ``shape`` recognizes whole responses and events. The stream decoder of the wire takes the events,
so that another response begins in a file where it begins in a stream: at the event for which the decoder raises
SeveralBodies. On some wires the last event has the form of a whole response; it ends the open stream, or is a stream by
itself. An error that follows the events of a stream belongs to that stream; any other error is a response.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .detect import json_object
from .errors import SeveralBodies, ToolparityError
from .readers import (
    FIELD,
    RAW,
    EventStreamReader,
    JsonArrayReader,
    JsonLinesReader,
    SseReader,
    StreamEvent,
    sniff,
    without_mark,
)
from .wires.decode_context import Context
from .wires.limits import SILENT, is_error
from .wires.registry import spec
from .wires.shapes import event_wire, whole_wire


class _Document(NamedTuple):
    """The classification of a JSON document. ``whole``: an event has the form of a whole response."""

    kind: Literal["response", "error", "event", "unknown"] = "unknown"
    wire: str = ""
    whole: bool = False


class _Stream:
    """A stream whose events are being collected. ``only``: its first event is a whole response."""

    def __init__(self, wire: str, *, documents: bool, only: bool) -> None:
        self.items: list[StreamEvent] = []
        self.wire = wire
        self._only = only
        self._decoder = spec(wire).stream(Context(wire))
        self._decoder.emits = False
        self._decoder.documents = documents

    def takes(self, item: StreamEvent, document: _Document) -> bool:
        """Add an event, unless it belongs to another response."""
        if document.kind == "response" or (self._only and self.items and document.kind != "error"):
            return False
        try:
            self._decoder.feed([item], [])
        except SeveralBodies:
            if self.items:
                return False
        except ToolparityError:
            pass  # decoding the response raises it again
        self.items.append(item)
        return True


def responses(data: bytes, wire: str | None = None) -> list[bytes]:
    """Return the bytes of each response in ``data``, in order; ``[data]`` if it contains one response or none.

    ``wire``: the wire to assume for an event that several wires have. Text between responses that is not JSON becomes a
    separate item, so nothing is lost. Never raises.
    """
    plain = without_mark(data).lstrip()
    reader = sniff(plain[:65536], len(plain) + 1)
    if reader is None or isinstance(reader, EventStreamReader):
        return [data]
    if isinstance(reader, SseReader):
        parts = _grouped(reader.feed(plain) + reader.close(), wire, documents=False)
        return [data] if len(parts) < 2 else [_as_sse(part) for part in parts]
    assert isinstance(reader, JsonLinesReader)
    if plain.startswith(b"{") and json_object(plain) is not None:
        return [data]
    items = reader.feed(plain) + reader.close()
    if items and json_object(items[0][1]) is None and FIELD.search(items[0][1]):
        return [data]  # server-sent events after a brace that nothing closes
    parts = _grouped(items, wire, documents=True)
    between = [message.encode() for code, message in reader.problems if code == "raw-text-in-stream"]
    if len(parts) + len(between) < 2 or not parts:
        return [data]
    if len(parts) == 1 and (len(parts[0]) > 1 or isinstance(reader, JsonArrayReader)):
        return [data]  # text between the events of one stream: the decoder reports it
    return [b"\n".join(content for _, content in part) for part in parts] + between


def _grouped(items: list[StreamEvent], wire: str | None, *, documents: bool) -> list[list[StreamEvent]]:
    """Group events by response. ``documents``: they are JSON documents without framing."""
    parts: list[list[StreamEvent]] = []
    held: list[tuple[StreamEvent, _Document]] = []  # the events before the first one that shows the wire of a stream
    stream: _Stream | None = None
    for item in items:
        document = _document(item, wire if stream is None else stream.wire, documents)
        if stream is not None and stream.takes(item, document):
            continue
        if document.kind == "event":
            held.append((item, document))
            stream = None
            for other, kind in held:
                if stream is None or not stream.takes(other, kind):
                    stream = _Stream(document.wire, documents=documents, only=document.whole and len(held) == 1)
                    stream.takes(other, kind)
                    parts.append(stream.items)
            held = []
        elif document.kind == "unknown" or (document.kind == "error" and not documents):
            held.append((item, document))
        else:
            parts += _apart(held, documents)
            parts.append([item])
            held, stream = [], None
    return parts + _apart(held, documents)


def _apart(held: list[tuple[StreamEvent, _Document]], documents: bool) -> list[list[StreamEvent]]:
    """Return the parts for events without a stream: one for each document, or one for all server-sent events."""
    items = [item for item, _ in held]
    return [[item] for item in items] if documents else [items] if items else []


def _document(item: StreamEvent, likely: str | None, documents: bool) -> _Document:
    """Classify an event."""
    name, data = item
    body = json_object(data)
    if body is None:
        return _Document()
    if documents or name is RAW:
        wire = whole_wire(body)
        if wire is not None:
            is_last = documents and spec(wire).boundary(body).ends
            return _Document("event", wire, True) if is_last else _Document("response", wire)
    if is_error(body):
        return _Document("error")
    wire = None if name is RAW else event_wire(body, likely)
    return _Document() if wire is None or spec(wire).boundary(body) == SILENT else _Document("event", wire)


def _as_sse(items: list[StreamEvent]) -> bytes:
    """Write events as server-sent events, so that each part is a separate stream."""
    out: list[bytes] = []
    for name, data in items:
        if isinstance(name, str):
            out.append(b"event: " + name.encode("utf-8", "replace") + b"\n")
        lines = data.split(b"\n")
        out.append(b"\n".join(lines if name is RAW else [b"data: " + line for line in lines]) + b"\n\n")
    return b"".join(out)
