"""Incremental reader of server-sent events by the WHATWG rules (HTML Living Standard, 9.2.6).

Lines end with LF, CR or CRLF, and chunks may split them anywhere. A blank line ends the event. A line that starts with
a colon is a comment. One space after the colon of a field is dropped. Several data lines are concatenated with LF.
Events without data and unknown fields are dropped. Text that is not an event, such as a JSON error page in a stream,
is returned with the mark `RAW` and reported.

In addition to the standard, the reader accepts events that end with a single line feed, as some proxies send them (see
`_Lines`). The standard would concatenate two JSON documents there, which no wire sends, so valid streams are not
affected.
"""

from __future__ import annotations

import re
from operator import itemgetter

from ..errors import EventTooLarge
from ..json_balance import Balance
from .base import CR, LF, OPENING, RAW, StreamEvent

_FIELDS = (b"event", b"data", b"id", b"retry")
#: The beginning of a line of server-sent events.
FIELD = re.compile(rb"^(?:data|event|id|retry)?:", re.MULTILINE)
_OTHER_FIELD = re.compile(rb"[A-Za-z][\w-]*:")

#: A line with an event name that carries information which the payload lacks.
_ERROR_HEAD = b"event: error"
#: What ends many streams in place of JSON.
_SENTINEL = b"[DONE]"
#: A comment, or (as a group) the sentinel at the end.
_WITHOUT_JSON = re.compile(rb":[^\n]*\n\n|data: (\[DONE\])\n\n").match
_payload = itemgetter(slice(6, None))


#: The size of a chunk, in bytes, from which on splitting all of its lines at once is faster than a search per event.
_MANY = 768


_NAMES: dict[bytes, str] = {}


def _name(line: bytes) -> str:
    """Return the name in an `event` line, from a cache of at most 256 names."""
    name = line[7:].decode("utf-8", "replace")
    if len(_NAMES) < 256:
        _NAMES[line] = name
    return name


#: What preceded the data line of the events so far: nothing, or one `event` line.
_HEADS = {b""}


def _is_head(head: bytes) -> bool:
    """Return whether the bytes before a data line are one `event` line, whose name carries no extra information."""
    is_head = head[:7] == b"event: " and head.find(b"\n") == len(head) - 1 and head[:-1] != _ERROR_HEAD
    if is_head and len(head) < 256 > len(_HEADS):
        _HEADS.add(head)
    return is_head


#: First characters of a data line that begins a JSON document, or a keep-alive in a data line.
_BEGINS = (b"{", b"[", b":")


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Return the field and the value of a line, without one leading space of the value."""
    field, _, value = line.partition(b":")
    return field, value[1:] if value[:1] == b" " else value


class _Lines:
    """The lines of a pending event, and detection of a next event without a blank line before it.

    A data line begins another event in two cases. First, it begins a JSON object, a JSON array or a keep-alive, and the
    data lines before it hold a complete one. Second, an event line separates it from the data lines before it, because
    the sender broke off (SSE-12). Each line is searched for brackets once, so the time is linear.
    """

    __slots__ = ("_balance", "_comment", "_counted", "_end", "_renamed", "held")

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self._end = 0  # the number of lines up to the last data line
        self._renamed = False  # whether an event line follows the last data line
        self._counted = 0
        self._balance: Balance | None = None
        self._comment = False  # whether the pending data is a keep-alive

    def add(self, line: bytes) -> list[bytes]:
        """Add a line and return the lines of the event that ends before it; none if the line continues the event."""
        ended: list[bytes] = []
        field, value = _split(line)
        if field == b"data":
            if self._end and (self._renamed or (value[:1] in _BEGINS and self._whole())):
                ended, self.held = self.held[: self._end], self.held[self._end :]
                self._counted, self._balance = 0, None
            self._end = len(self.held) + 1
            self._renamed = False
        elif field == b"event" and self._end:
            self._renamed = True
        self.held.append(line)
        return ended

    def _whole(self) -> bool:
        for line in self.held[self._counted : self._end]:
            field, value = _split(line)
            if field == b"data":
                if self._balance is None:
                    self._balance = Balance()
                    self._comment = value[:1] == b":"
                self._balance.feed(value.decode("utf-8", "replace"))
        self._counted = self._end
        return self._comment or (self._balance is not None and self._balance.closed)


class SseReader:
    """Reader of server-sent events; implements `EventReader`."""

    def __init__(self, max_event_bytes: int) -> None:
        self.problems: list[tuple[str, str]] = []
        self._max = max_event_bytes
        self._line: list[bytes] = []  # chunks of an incomplete line
        self._event: list[bytes] = []  # one or two complete lines of a pending event
        self._unusual: _Lines | None = None  # its lines, if the event has an unusual shape
        self._size = 0  # total size of the three, in bytes
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the events that the chunk completes.

        The chunk is split at single line feeds, because a search for blank lines takes ten times as long.
        """
        if not self._begun:
            if not chunk:
                return []
            self._begun = True
            chunk = chunk.removeprefix(b"\xef\xbb\xbf").lstrip(b" ")
        if self._after_cr or CR in chunk:
            chunk = self._to_lf(chunk)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[StreamEvent] = []
        completed = False
        if lines:
            if self._line:
                self._line.append(lines[0])
                lines[0] = b"".join(self._line)
                self._line.clear()
            completed = self._take(self._event + lines if self._event else lines, events)
        if rest:
            self._line.append(rest)
        if not completed:
            self._size += len(chunk)
        elif rest or self._event or self._unusual is not None or self._after_cr:
            self._size = len(chunk)
        else:
            self._size = 0
        if self._size > self._max:
            self._measure()
        return events

    def _take(self, lines: list[bytes], events: list[StreamEvent]) -> bool:
        """Process complete lines, from the first of the pending event on. Return whether they completed an event.

        Providers send events of at most one `event` line and one `data` line. The lines of all other events are
        collected in `unusual` and parsed one by one.
        """
        completed = False
        head = data = None
        unusual = self._unusual
        for line in lines:
            if not line:
                if unusual is not None:
                    self._complete(unusual.held, events)
                    unusual = None
                elif data is not None:
                    if len(data) > self._max:
                        self._complete([data], events)
                    events.append((None if head is None else _NAMES.get(head) or _name(head), data[6:]))
                else:
                    head = None
                    continue
                head = data = None
                completed = True
            elif unusual is not None:
                if ended := unusual.add(line):
                    completed = self._not_separated(ended, events)
            elif data is None and line[:7] == b"data: {":
                data = line
            elif head is None and data is None and line[:7] == b"event: ":
                head = line
            else:
                unusual = _Lines()
                for known in (head, data, line):
                    if known is not None and (ended := unusual.add(known)):
                        completed = self._not_separated(ended, events)
                head = data = None
        self._unusual = unusual
        if data is not None:
            self._event = [data] if head is None else [head, data]
        else:
            self._event = [] if head is None else [head]
        return completed

    def _not_separated(self, event: list[bytes], events: list[StreamEvent]) -> bool:
        self.problems.append(("events-not-separated", ""))
        self._complete(event, events)
        return True

    def run(self, chunk: bytes) -> list[bytes] | None:
        """Fast path for events with one line of JSON each.

        Return the payloads of the complete events. Return None if the chunk has another shape; then no byte was
        consumed and the caller has to pass the chunk to ``feed``.
        """
        if not self._size:  # nothing is pending
            # Slices and `in` take a fraction of the time of `startswith` and `find`.
            head, _, rest = chunk.partition(b"data: ")
            payload = rest[:-2] if rest[-2:] == b"\n\n" else rest[:-4] if rest[-4:] == b"\r\n\r\n" else b""
            is_line = payload and LF not in payload and CR not in payload and (head in _HEADS or _is_head(head))
            if is_line and (payload[0] == OPENING or payload == _SENTINEL) and len(chunk) <= self._max:
                self._begun = True
                return [payload]
            if chunk[-4:] == b"\r\n\r\n":
                chunk = chunk.replace(b"\r\n", b"\n")
            if len(chunk) < _MANY and CR not in chunk:
                payloads = self._run_of_whole(chunk)
                if payloads is not None:
                    return payloads
        if self._after_cr or self._unusual is not None or CR in chunk:
            return None
        return self._run_of_several(chunk)

    def _run_of_whole(self, chunk: bytes) -> list[bytes] | None:
        """See `run`. For a chunk of whole events, while nothing is pending."""
        payloads: list[bytes] = []
        at, size = 0, len(chunk)
        while at < size:
            data = chunk.find(b"data: {", at)
            if data >= 0 and ((head := chunk[at:data]) in _HEADS or _is_head(head)):
                start = data + 6
                end = chunk.find(b"\n", start)
                if chunk[end : end + 2] != b"\n\n":
                    return None
                payloads.append(chunk[start:end])
                at = end + 2
            else:
                other = _WITHOUT_JSON(chunk, at)
                if other is None:
                    return None
                payloads += filter(None, other.groups())
                at = other.end()
        if not size or size > self._max:
            return None
        self._begun = True
        return payloads

    def _run_of_several(self, chunk: bytes) -> list[bytes] | None:
        """See `run`. Comparing the minimum and maximum of the lines checks the shape of all of them cheaply."""
        if LF not in chunk:
            return None  # no line feed completes an event: `feed` buffers the chunk without a copy
        event = self._event
        if not self._begun:
            if not chunk.startswith((b"event: ", b"data: {")):
                return None
            self._begun = True
        elif self._line:
            chunk = b"".join([*self._line, chunk])
        lines = chunk.split(b"\n")
        if event:
            lines = event + lines
        last = len(lines) - 1
        if lines[0][:7] == b"event: ":
            step = 3
            end = last - last % 3
            for head in {*lines[0:end:3]}:
                if head == _ERROR_HEAD or head[:7] != b"event: ":
                    return None
            data = lines[1:end:3]
        else:
            step = 2
            end = last - last % 2
            data = lines[0:end:2]
        if not end or any(lines[step - 1 : end : step]) or max(data) >= b"data: |":
            return None
        if min(data) < b"data: {" and (data[-1] != b"data: [DONE]" or min(data[:-1], default=b"data: {") < b"data: {"):
            return None
        rest = lines[end:]
        tail = rest.pop()
        if len(chunk) > self._max or not all(rest):  # a blank line here ends an event of another shape
            return None
        if len(rest) == 2 and rest[0][:7] != b"event: ":  # its lines may be two events
            return None
        self._line = [tail] if tail else []
        self._event = rest
        self._size = len(tail) + sum(map(len, rest)) if rest else len(tail)
        return list(map(_payload, data))

    def _measure(self) -> None:
        """Compute the exact size of the pending data, which `_size` may overestimate. Raises EventTooLarge."""
        lines = self._event if self._unusual is None else self._unusual.held
        self._size = sum(map(len, lines)) + len(lines) + sum(map(len, self._line)) + self._after_cr
        if self._size > self._max + 1:  # plus one, for a line feed of the blank line
            raise EventTooLarge(f"an event is longer than {self._max} bytes and not complete")

    def _complete(self, event: list[bytes], events: list[StreamEvent]) -> None:
        """Parse a complete event. Raises EventTooLarge for an oversized one, even if it came in a single chunk."""
        size = sum(map(len, event)) + len(event) - 1
        if size > self._max:
            raise EventTooLarge(f"an event of {size} bytes is longer than {self._max}")
        self._parse(event, events)

    def _to_lf(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _parse(self, event: list[bytes], events: list[StreamEvent]) -> None:
        name: str | None = None
        data: list[bytes] = []
        stray: list[bytes] = []
        known = False
        for line in event:
            if line[0] == 58:  # a comment (failure SSE-01)
                continue
            field, value = _split(line)
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field not in _FIELDS:
                stray.append(line)
                continue
            known = True
        if data:
            self._dispatch(name, data, events)
        if stray and not (known and all(map(_OTHER_FIELD.match, stray))):
            self._stray(b"\n".join(stray), events)

    def _dispatch(self, name: str | None, data: list[bytes], events: list[StreamEvent]) -> None:
        # Drop trailing white space after the document or the sentinel, such as that of an empty data line.
        payload = (data[0] if len(data) == 1 else b"\n".join(data)).rstrip()
        if payload and payload[0] == 58:
            self.problems.append(("keepalive-in-data", ""))
        elif not payload:
            self.problems.append(("empty-event", ""))
        else:
            events.append((name, payload))

    def _stray(self, text: bytes, events: list[StreamEvent]) -> None:
        self.problems.append(("raw-text-in-stream", text[:500].decode("utf-8", "replace")))
        events.append((RAW, text))

    def close(self) -> list[StreamEvent]:
        """Return and report an event without the final blank line, which most clients lose."""
        events = self.feed(b"\n") if self._line else []
        event = self._event if self._unusual is None else self._unusual.held
        if event:
            before = len(events)
            self._parse(event, events)
            if len(events) > before:
                self.problems.append(("unterminated-event", ""))
        self._event, self._unusual = [], None
        return events
