"""Splitting of data that contains several responses.

A body is one response: a single JSON object, or the events of one stream in any framing. A file can contain several:
JSON lines or an array of responses, consecutive responses or streams, responses of different wires. `responses` splits
such data. These rules classify each JSON document:

==================  ===============================  =========================  ====================================
wire                whole response                   first event of a stream    last event of a stream
==================  ===============================  =========================  ====================================
openai.chat         ``object: chat.completion``, or  (a new ``id`` for a        ``[DONE]``, or a ``finish_reason``
                    choices with a ``message``       choice that has ended)     in a choice
openai.responses    ``object: response``, or an      ``response.created``       ``response.completed``, ``.done``,
                    ``output`` without a ``type``                               ``.incomplete``, ``.failed``
anthropic.messages  ``type: message`` with content   ``message_start``          ``message_stop``
==================  ===============================  =========================  ====================================

An error that follows the events of an unfinished stream belongs to that stream; any other error is a response.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import json_codec
from .detect import event_wire, is_error, whole_wire
from .readers import RAW, EventStreamReader, Item, JsonLinesReader, SseReader, sniff, without_mark

#: Type of the first event of a stream -> its member that holds the response and thus the id.
_BEGIN = {"message_start": "message", "response.created": "response"}
_END = frozenset(
    (
        "message_stop",
        "response.completed",
        "response.done",
        "response.incomplete",
        "response.failed",
        "error",
    )
)


class _Seen(NamedTuple):
    """The classification of a JSON document: its wire, if known, the id of its response, and its role in a stream."""

    kind: str  # "answer", "error", "event" or "unknown"
    wire: str | None = None
    id: str | None = None
    begins: bool = False
    greets: bool = False  # openai.chat: has a role, which most servers send only in the first chunk
    ends: bool = False
    continued: frozenset[int] = frozenset()  # openai.chat: indexes of its choices
    finished: frozenset[int] = frozenset()  # openai.chat: indexes of the choices that end in it


class _Open:
    """A stream whose events are being collected."""

    def __init__(self, before: list[Item]) -> None:
        self.items = before
        self.wire: str | None = None
        self.id: str | None = None
        self.ended = False
        self.whole = False  # a whole response among server-sent events, which excludes all else
        self.finished: set[int] = set()

    def take(self, item: Item, seen: _Seen) -> None:
        self.items.append(item)
        self.wire = self.wire or seen.wire
        self.id = self.id or seen.id
        self.ended = self.ended or seen.ends
        self.whole = seen.kind == "answer"
        self.finished |= seen.finished

    def excludes(self, seen: _Seen) -> bool:
        """Return whether a document cannot belong to this stream."""
        if self.whole or seen.kind == "answer":
            return True
        if seen.kind == "unknown":
            return False
        if None not in (seen.wire, self.wire) and seen.wire != self.wire:
            return True
        if seen.kind == "error":
            return self.ended
        other = bool(seen.id and self.id and seen.id != self.id)
        if seen.begins:
            return other or self.ended
        return (self.ended and seen.greets and not seen.finished) or (other and bool(seen.continued & self.finished))


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
    if plain.startswith(b"{") and _decoded(plain) is not None:
        return [data]
    parts = _grouped(reader.feed(plain) + reader.close())
    between = [message.encode() for code, message in reader.problems if code == "raw-text-in-stream"]
    if len(parts) + len(between) < 2 or not parts:
        return [data]
    if len(parts) == 1 and len(parts[0]) > 1:
        return [data]  # text between the events of one stream: the decoder reports it
    return [b"\n".join(content for _, content in part) for part in parts] + between


def _streams(items: list[Item]) -> list[list[Item]]:
    """Group server-sent events by stream. A whole response on lines without a field name is a group by itself."""
    parts: list[_Open] = []
    for item in items:
        seen = _event(item)
        if not parts or parts[-1].excludes(seen):
            parts.append(_Open([]))
        parts[-1].take(item, seen)
    return [part.items for part in parts]


def _grouped(items: list[Item]) -> list[list[Item]]:
    """Group JSON documents by response."""
    parts: list[list[Item]] = []
    unknown: list[Item] = []
    stream: _Open | None = None
    for item in items:
        seen = _document(item)
        if stream is not None and seen.kind != "answer" and not stream.excludes(seen):
            stream.take(item, seen)
        elif seen.kind == "event":
            stream = _Open(unknown)
            stream.take(item, seen)
            parts.append(stream.items)
            unknown = []
        elif seen.kind == "unknown":
            unknown.append(item)
        else:
            parts += [[one] for one in unknown]
            parts.append([item])
            unknown, stream = [], None
    return parts + [[one] for one in unknown]


def _document(item: Item) -> _Seen:
    """Classify a JSON document outside server-sent events."""
    body = _decoded(item[1])
    if not isinstance(body, dict):
        return _Seen("unknown")
    wire = whole_wire(body)
    if wire is not None:
        return _Seen("answer", wire)
    return _Seen("error", ends=True) if is_error(body) else _about(body)


def _event(item: Item) -> _Seen:
    """Classify a server-sent event."""
    name, data = item
    if name is RAW:
        answer = _decoded(data)
        wire = whole_wire(answer) if isinstance(answer, dict) else None
        return _Seen("unknown") if wire is None else _Seen("answer", wire)
    if data == b"[DONE]":
        return _Seen("event", "openai.chat", ends=True)
    body = _decoded(data)
    return _about(body) if isinstance(body, dict) else _Seen("unknown")


def _about(body: dict[str, Any]) -> _Seen:
    wire = event_wire(body)
    if wire is None:
        return _Seen("unknown")
    if wire == "openai.chat":
        return _chunk(body)
    kind = body["type"]
    member = body.get(_BEGIN.get(kind, ""))
    id = member.get("id") if isinstance(member, dict) else None
    return _Seen("event", wire, _text(id), begins=kind in _BEGIN, ends=kind in _END)


def _chunk(body: dict[str, Any]) -> _Seen:
    listed = body.get("choices")
    choices = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    deltas = [delta for one in choices if isinstance(delta := one.get("delta"), dict)]
    return _Seen(
        "event",
        "openai.chat",
        _text(body.get("id")),
        greets=any(delta.get("role") for delta in deltas),
        continued=frozenset(map(_index, choices)),
        finished=frozenset(_index(one) for one in choices if one.get("finish_reason")),
    )


def _index(choice: dict[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _decoded(data: bytes) -> Any:
    try:
        return json_codec.decode(data)
    except (ValueError, RecursionError):
        return None


def _as_sse(items: list[Item]) -> bytes:
    """Write events as server-sent events, so that each part is a separate stream."""
    out: list[bytes] = []
    for name, data in items:
        if isinstance(name, str):
            out.append(b"event: " + name.encode("utf-8", "replace") + b"\n")
        lines = data.split(b"\n")
        out.append(b"\n".join(lines if name is RAW else [b"data: " + line for line in lines]) + b"\n\n")
    return b"".join(out)
