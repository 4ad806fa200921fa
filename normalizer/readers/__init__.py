"""Readers that split a byte stream into events: one module per framing, and the selection of the reader.

``feed(bytes)`` and ``close()`` return the completed events as ``(name, data)`` pairs. The name is None if the framing
has no names, and a mark for data that is not an event of the wire. ``problems`` holds finding codes with their
messages, which the decoder reports.
"""

from __future__ import annotations

from typing import Protocol

from .eventstream import EventStreamReader, looks_like_event_stream
from .jsonseq import JsonArrayReader, JsonLinesReader
from .marks import RAW, Item
from .sse import SseReader

DEFAULT_MAX_EVENT_BYTES = 10 * 1024 * 1024


class Reader(Protocol):
    """The interface of the readers."""

    problems: list[tuple[str, str]]

    def feed(self, chunk: bytes) -> list[Item]:
        """Process the next chunk of the body. Raises EventTooLarge."""
        ...

    def close(self) -> list[Item]:
        """Return the remaining events at the end of the body."""
        ...


MARK = b"\xef\xbb\xbf"


def without_mark(data: bytes) -> bytes:
    """Return the bytes without a leading UTF-8 byte order mark."""
    return data.removeprefix(MARK) if data[:1] == b"\xef" else data


def sniff(head: bytes, max_event_bytes: int) -> Reader | None:
    """Return the reader for a body that begins with ``head``; None if more bytes are needed to decide.

    ``max_event_bytes``: the size of a pending event, in bytes, above which the reader raises EventTooLarge.
    """
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
