"""Readers of plain JSON framing: one object per line, concatenated objects, or one array of events."""

from __future__ import annotations

import re

import msgspec

from ..errors import EventTooLarge
from .base import StreamEvent

_STRUCTURE = re.compile(rb'["\\{}\[\]]')
#: Raises an exception unless the bytes are one JSON value.
_check = msgspec.json.Decoder(msgspec.Raw).decode
_WRAPPER = b" \t\r\n,\x1e\xef\xbb\xbf"


class JsonLinesReader:
    """Reader of consecutive JSON objects with any text between them, or of one whole body.

    The scanner keeps nesting depth and string state between chunks, so its time is linear for any chunk sizes.
    """

    _skip = _WRAPPER

    def __init__(self, max_event_bytes: int) -> None:
        self.problems: list[tuple[str, str]] = []
        self._max = max_event_bytes
        self._pending: list[bytes] = []  # chunks of an object, or of the text before one
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return every object that the chunk completes."""
        events: list[StreamEvent] = []
        if not self._pending and chunk[:1] == b"{" and b"\n" in chunk:
            lines, chunk = self._lines(chunk)
            events += [(None, line) for line in lines]
        start = 0
        skip = -1
        if self._escaped and chunk:
            self._escaped = False
            skip = 0
        for match in _STRUCTURE.finditer(chunk):
            position = match.start()
            if position == skip:
                continue
            char = chunk[position]
            if self._in_string:
                if char == 92:  # backslash
                    skip = position + 1
                    self._escaped = skip == len(chunk)
                elif char == 34:
                    self._in_string = False
            elif char == 34:
                self._in_string = self._depth > 0
            elif char in b"{[":
                if self._depth == 0:
                    self._pending.append(chunk[start:position])
                    self._between()
                    start = position
                self._depth += 1
            elif char in b"}]" and self._depth > 0:
                self._depth -= 1
                if self._depth == 0:
                    self._hold(chunk[start : position + 1])
                    events.append((None, b"".join(self._pending)))
                    self._pending.clear()
                    self._size = 0
                    start = position + 1
        rest = chunk[start:]
        if self._depth == 0 and not self._pending:
            rest = rest.lstrip(self._skip)
        if rest:
            self._hold(rest)
        return events

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path: return the objects of a chunk that has one on each line.

        Return None if the chunk has another shape; then no byte was consumed and the caller has to pass the chunk to
        ``feed``.
        """
        if self._pending or chunk[-1:] != b"\n":
            return None
        lines, rest = self._lines(chunk)
        return None if rest else lines

    def _lines(self, chunk: bytes) -> tuple[list[bytes], bytes]:
        """Return the objects at the beginning of a chunk that are a line each, and the rest."""
        lines: list[bytes] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            if line[:1] != b"{" or line[-1:] != b"}" or len(line) > self._max:
                break
            try:
                _check(line)
            except (msgspec.DecodeError, RecursionError):
                break
            lines.append(line)
            start = end + 1
        return lines, chunk[start:]

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max:
            raise EventTooLarge(f"an event is longer than {self._max} bytes")
        self._pending.append(piece)

    def _between(self) -> None:
        """Report text before an object that does not consist of separators."""
        text = b"".join(self._pending).strip(self._skip)
        self._pending.clear()
        self._size = 0
        for line in text.splitlines():
            if line.strip() not in (b"", b"data:"):
                self.problems.append(("raw-text-in-stream", line[:500].decode("utf-8", "replace")))

    def close(self) -> list[StreamEvent]:
        """Return an object without its last brace unchanged; it does not decode, which the decoder reports."""
        if self._depth == 0:
            self._between()
            return []
        rest = b"".join(self._pending).strip()
        self._pending.clear()
        self.problems.append(("unterminated-event", ""))
        return [(None, rest)]


class JsonArrayReader(JsonLinesReader):
    """Reader of one array that contains all events."""

    _skip = _WRAPPER + b"[]"

    def __init__(self, max_event_bytes: int) -> None:
        super().__init__(max_event_bytes)
        self._opened = False

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return every element that the chunk completes."""
        if not self._opened:
            _, bracket, chunk = chunk.partition(b"[")
            if not bracket:
                return []
            self._opened = True
        return super().feed(chunk)
