"""Server-sent events, incrementally, per the WHATWG rules (HTML Living Standard, 9.2.6).

Lines end with LF, CR or CRLF, split anywhere; a blank line dispatches the event; a line that starts with a colon is a
comment; one space after the field's colon is dropped; several data lines are joined with LF. Events without data are
dropped, and so are fields of another name. Text that is no event (a JSON error page in the middle of a stream) is
not: it is handed on and reported.
"""

from __future__ import annotations

import re

from ..errors import EventTooLarge

Item = tuple[str | None, bytes]
_FIELDS = (b"event", b"data", b"id", b"retry")
_OTHER_FIELD = re.compile(rb"[A-Za-z][\w-]*:")


class SseReader:
    """See the package for the protocol of readers."""

    def __init__(self, max_event_bytes: int) -> None:
        self.problems: list[tuple[str, str]] = []
        self._max = max_event_bytes
        self._pending: list[bytes] = []  # pieces of an event that is not whole yet
        self._pending_size = 0
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[Item]:
        """Take bytes; events in LF form are found by splitting at blank lines."""
        if not self._begun:
            if not chunk:
                return []
            self._begun = True
            if chunk.startswith(b"\xef\xbb\xbf"):
                chunk = chunk[3:]
            chunk = chunk.lstrip(b" ")
        if self._after_cr or b"\r" in chunk:
            chunk = self._to_lf(chunk)
        pending = self._pending
        if pending:
            # The blank line may straddle the pieces: join only once it is there, so the cost stays linear.
            if b"\n\n" not in chunk and not (chunk[:1] == b"\n" and pending[-1][-1:] == b"\n"):
                return self._hold(chunk) if chunk else []
            pending.append(chunk)
            chunk = b"".join(pending)
            pending.clear()
            self._pending_size = 0
        parts = chunk.split(b"\n\n")
        rest = parts.pop()
        if len(chunk) > self._max:
            self._check(parts)
        if rest:
            self._hold(rest)
        items: list[Item] = []
        for part in parts:
            # The shape that most providers send; anything else is parsed line by line.
            if part[:7] == b"data: {" and b"\n" not in part:
                items.append((None, part[6:]))
            elif part:
                self._parse(part, items)
        return items

    def _hold(self, piece: bytes) -> list[Item]:
        self._pending_size += len(piece)
        if self._pending_size > self._max + 1:  # one more: the first half of the blank line may be in it
            raise EventTooLarge(f"an event is longer than {self._max} bytes and not at its end")
        self._pending.append(piece)
        return []

    def _check(self, parts: list[bytes]) -> None:
        """An event is too large wherever the bytes were cut, also when all of it came at once."""
        for part in parts:
            if len(part) > self._max:
                raise EventTooLarge(f"an event of {len(part)} bytes is longer than {self._max}")

    def _to_lf(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _parse(self, part: bytes, items: list[Item]) -> None:
        name: str | None = None
        held_name: str | None = None
        data: list[bytes] = []
        held: list[bytes] = []
        stray: list[bytes] = []
        known = False
        for line in part.split(b"\n"):
            if not line or line[0] == 58:  # a comment (failure SSE-01)
                continue
            field, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if field == b"data":
                if held:
                    self._dispatch(held_name, held, items)
                    held = []
                data.append(value)
            elif field == b"event":
                if data:
                    # An event line between data lines: the sender broke off and began another event (SSE-12).
                    held_name, held, data = name, data, []
                name = value.decode("utf-8", "replace")
            elif field not in _FIELDS:
                stray.append(line)
                continue
            known = True
        if data or held:
            self._dispatch(name, data or held, items)
        if stray and not (known and all(map(_OTHER_FIELD.match, stray))):
            self._stray(b"\n".join(stray), items)

    def _dispatch(self, name: str | None, data: list[bytes], items: list[Item]) -> None:
        payload = data[0] if len(data) == 1 else b"\n".join(data)
        if payload and payload[0] == 58:
            self.problems.append(("keepalive-in-data", ""))
        elif not payload.strip():
            self.problems.append(("empty-event", ""))
        else:
            items.append((name, payload))

    def _stray(self, text: bytes, items: list[Item]) -> None:
        self.problems.append(("raw-text-in-stream", text[:500].decode("utf-8", "replace")))
        items.append(("raw", text))

    def close(self) -> list[Item]:
        """What stands after the last blank line is dispatched too, and reported: most clients lose it."""
        rest = b"".join(self._pending).strip(b"\n")
        self._pending.clear()
        items: list[Item] = []
        if rest:
            self._parse(rest, items)
            if items:
                self.problems.append(("unterminated-event", ""))
        return items
