"""Readers that split a byte stream into events: one module per framing, and the selection of the reader."""

from __future__ import annotations

from .base import RAW, EventReader, Mark, StreamEvent
from .eventstream import EventStreamReader, looks_like_event_stream
from .jsonseq import JsonArrayReader, JsonLinesReader
from .sse import FIELD, SseReader

DEFAULT_MAX_EVENT_BYTES = 10 * 1024 * 1024
MARK = b"\xef\xbb\xbf"


def without_mark(data: bytes) -> bytes:
    """Return the bytes without a leading UTF-8 byte order mark."""
    return data.removeprefix(MARK) if data[:1] == b"\xef" else data


def sniff(head: bytes, max_event_bytes: int) -> EventReader | None:
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
    "FIELD",
    "MARK",
    "RAW",
    "EventStreamReader",
    "JsonArrayReader",
    "JsonLinesReader",
    "Mark",
    "EventReader",
    "SseReader",
    "StreamEvent",
    "sniff",
    "without_mark",
]
