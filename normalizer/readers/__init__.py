"""From bytes to stream events: one module a framing, and the choice between them.

A reader has ``feed(bytes)`` and ``close()``, both giving the events that became whole as ``(name, data)`` pairs (name
null where the framing has none, a mark where this is no event of the wire), and ``problems``: finding codes with their
messages, taken by the decoder.
"""

from __future__ import annotations

from typing import Protocol

from .eventstream import EventStreamReader, looks_like_event_stream
from .jsonseq import JsonArrayReader, JsonLinesReader
from .marks import RAW, Item
from .sse import SseReader

DEFAULT_MAX_EVENT_BYTES = 10 * 1024 * 1024


class Reader(Protocol):
    """What every framing offers."""

    problems: list[tuple[str, str]]

    def feed(self, chunk: bytes) -> list[Item]:
        """Take the next bytes of the body."""
        ...

    def close(self) -> list[Item]:
        """The body has ended: give what is left."""
        ...


MARK = b"\xef\xbb\xbf"


def without_mark(data: bytes) -> bytes:
    """The bytes without a byte order mark before them."""
    return data.removeprefix(MARK) if data[:1] == b"\xef" else data


def sniff(head: bytes, max_event_bytes: int) -> Reader | None:
    """The reader for a body that begins with ``head``; null while that cannot be told yet."""
    if looks_like_event_stream(head):
        return EventStreamReader(max_event_bytes)
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if start == b"{":
        return JsonLinesReader(max_event_bytes)
    if start == b"[":
        return JsonArrayReader(max_event_bytes)
    if not start or (len(head) < 12 and head[:1] == b"\x00"):
        return None
    return SseReader(max_event_bytes)


__all__ = [
    "DEFAULT_MAX_EVENT_BYTES",
    "MARK",
    "RAW",
    "EventStreamReader",
    "Item",
    "JsonArrayReader",
    "JsonLinesReader",
    "Reader",
    "SseReader",
    "sniff",
    "without_mark",
]
