"""Readers of plain JSON framing: one object per line, concatenated objects, or one array of events."""

from __future__ import annotations

import re

import msgspec

from ..errors import EventTooLarge
from .base import CLOSING, LF, OPENING, StreamEvent

_INSIDE = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
#: A string, or the beginning of one at the end of a chunk.
_STRING = re.compile(rb'"' + _INSIDE + rb'"?', re.DOTALL)
#: The content of a string up to its closing quote, or up to the end of a chunk or a single backslash there.
_CONTENT = re.compile(_INSIDE, re.DOTALL)
_OPENING = re.compile(rb"[{\[]")
#: What matters inside an object: brackets, whole strings, and the quote of one that the chunk does not close.
_TOKEN = re.compile(rb'[{}\[\]]|"(?:' + _INSIDE + rb'")?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
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
        self._line: list[bytes] = []  # chunks of a line that is probably an object, not scanned
        self._pending: list[bytes] = []  # chunks of an object, or of the text before one
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def pending(self) -> bool:
        """Whether an object, or text before one, has begun and not ended."""
        return bool(self._line or self._pending)

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return every object that the chunk completes."""
        objects: list[bytes] = []
        begun = len(self._line)
        chunk = b"".join([*self._line, chunk])
        self._line = []
        position = 0
        while position < len(chunk):
            if not self._pending:
                position = self._lines(chunk, position, objects, may_hold=not begun)
            position = self._scan(chunk, position, objects)
        return [(None, data) for data in objects]

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path: return the objects of a chunk that has one on each line.

        Return None if the chunk has another shape; then no byte was consumed and the caller has to pass the chunk to
        ``feed``.
        """
        if self._pending:
            return None
        begun = self._line
        objects: list[bytes] = []
        if not begun and chunk[-2:] == b"}\n" and LF not in (line := chunk[:-1]) and self._add(line, objects):
            return objects
        if begun:
            if LF not in chunk and CLOSING not in chunk:
                return None
            chunk = b"".join([*begun, chunk])
            self._line = []
        if self._lines(chunk, 0, objects, may_hold=not begun) < len(chunk):
            self._line = begun
            return None
        return objects

    def _lines(self, chunk: bytes, start: int, objects: list[bytes], *, may_hold: bool) -> int:
        """Add the objects from ``start`` on that are a line each. Return the position of the first byte to scan.

        The beginning of an object in the last line is stored, since its end is probably in the next chunk. It is
        stored once: the scanner reads a line of many chunks.
        """
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end].strip()
            if line and not self._add(line, objects):
                return start
            start = end + 1
        rest = chunk[start:]
        if not rest or self._add(rest, objects):
            return len(chunk)
        if not may_hold and start == 0:
            return start
        if rest[:1] == b"{" and len(rest) <= self._max and (CLOSING not in rest or _is_open(rest)):
            self._line = [rest]
            return len(chunk)
        return start

    def _add(self, line: bytes, objects: list[bytes]) -> bool:
        """Add a line that is one object."""
        if line[0] != OPENING or line[-1] != CLOSING or len(line) > self._max:
            return False
        try:
            _check(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        objects.append(line)
        return True

    def _scan(self, chunk: bytes, start: int, objects: list[bytes]) -> int:
        """Add the objects from ``start`` to the end of the chunk, or to one that ends its line."""
        position = start
        while True:
            if self._depth == 0:
                found = _OPENING.search(chunk, position)
                if found is None:
                    break
                self._pending.append(chunk[start : found.start()])
                self._between()
                start = position = found.start()
            position = self._after_object(chunk, position)
            if self._depth > 0:
                break
            self._hold(chunk[start:position])
            objects.append(b"".join(self._pending))
            self._pending.clear()
            self._size = 0
            start = position
            if chunk[start : start + 1] == b"\n":
                return start + 1
        rest = chunk[start:]
        if self._depth == 0 and not self._pending:
            rest = rest.lstrip(self._skip)
        if rest:
            self._hold(rest)
        return len(chunk)

    def _after_object(self, chunk: bytes, start: int) -> int:
        """Return the position after the last bracket of the open object, or that of the end of the chunk."""
        position = self._after_string(chunk, start) if self._in_string else start
        for token in _TOKEN.finditer(chunk, position):
            text = token.group()
            if text in (b"{", b"["):
                self._depth += 1
            elif text in (b"}", b"]"):
                self._depth -= 1
                if self._depth == 0:
                    return token.end()
            elif len(text) == 1:
                self._in_string = True
                return self._after_string(chunk, token.end())
        return len(chunk)

    def _after_string(self, chunk: bytes, start: int) -> int:
        """Return the position after the string that is open at ``start``, or that of the end of the chunk."""
        if self._escaped and start < len(chunk):
            self._escaped = False
            start += 1
        found = _CONTENT.match(chunk, start)
        end = found.end() if found is not None else start
        if chunk[end : end + 1] == b'"':
            self._in_string = False
            return end + 1
        self._escaped = self._escaped or end < len(chunk)
        return len(chunk)

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
        objects: list[bytes] = []
        self._scan(b"".join(self._line), 0, objects)
        events: list[StreamEvent] = [(None, data) for data in objects]
        if self._depth == 0:
            self._between()
            return events
        rest = b"".join(self._pending).strip()
        self._pending.clear()
        self.problems.append(("unterminated-event", ""))
        return [*events, (None, rest)]


def _is_open(text: bytes) -> bool:
    """Return whether the object at the beginning of a text does not end in it."""
    depth = 0
    for bracket in _STRING.sub(b"", text).translate(None, _NOT_BRACKETS):
        depth += 1 if bracket in b"{[" else -1
        if depth == 0:
            return False
    return True


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

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path of `JsonLinesReader`, once the array has begun."""
        return super().run(chunk) if self._opened else None
