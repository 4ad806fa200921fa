"""Server-sent events, incrementally, per the WHATWG rules (HTML Living Standard, 9.2.6).

Lines end with LF, CR or CRLF, split anywhere; a blank line dispatches the event; a line that starts with a colon is a
comment; one space after the field's colon is dropped; several data lines are joined with LF. Events without data are
dropped, and so are fields of another name. Text that is no event (a JSON error page in the middle of a stream) is
not: it is handed on and reported.

Beyond the standard, some proxies end an event with a single line feed (see `_Lines`). The standard would join two JSON
documents with LF, and no wire sends that, so nothing that a standard reader could use is read in another way.
"""

from __future__ import annotations

import re
from operator import itemgetter

from ..errors import EventTooLarge
from ..json_balance import Balance
from .marks import RAW, Item

_FIELDS = (b"event", b"data", b"id", b"retry")
_OTHER_FIELD = re.compile(rb"[A-Za-z][\w-]*:")

#: A name that says something that the payload does not.
_HEAD_THAT_TELLS = b"event: error"
_payload = itemgetter(slice(6, None))

_NAMES: dict[bytes, str] = {}


def _name(line: bytes) -> str:
    """The name in an `event` line. The few that a wire has are remembered."""
    name = line[7:].decode("utf-8", "replace")
    if len(_NAMES) < 256:
        _NAMES[line] = name
    return name


#: How the value of a data line begins that continues no JSON: a document, or a keep-alive wrapped into a data line.
_BEGINS = (b"{", b"[", b":")


def _split(line: bytes) -> tuple[bytes, bytes]:
    """A line's field and its value, without the one space that may precede that."""
    field, _, value = line.partition(b":")
    return field, value[1:] if value[:1] == b" " else value


class _Lines:
    """The lines of an event that has not ended, and whether the next event begins without a blank line before it.

    A data line begins another event in two cases. It begins a JSON object or array, or a keep-alive, and the data
    lines before it hold a whole one. Or an event line is between it and the data lines before it: the sender broke off
    (SSE-12). Each line is searched for brackets once, so the cost is linear.
    """

    __slots__ = ("_balance", "_comment", "_counted", "_end", "_renamed", "held")

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self._end = 0  # the number of lines up to the last data line
        self._renamed = False  # whether an event line follows that
        self._counted = 0
        self._balance: Balance | None = None
        self._comment = False  # whether it is a keep-alive

    def add(self, line: bytes) -> list[bytes]:
        """Add a line. Returns the lines of the event that ends before it, and none where it continues the event."""
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
    """See the package for the protocol of readers."""

    def __init__(self, max_event_bytes: int) -> None:
        self.problems: list[tuple[str, str]] = []
        self._max = max_event_bytes
        self._line: list[bytes] = []  # pieces of a line that is not whole yet
        self._event: list[bytes] = []  # one or two whole lines of an event that is not
        self._odd: _Lines | None = None  # or its lines, where it is of another shape than the usual ones
        self._size = 0  # of all three
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[Item]:  # noqa: PLR0915  (one loop over lines: a call a line costs more than it)
        """Take bytes. Only single line feeds are searched for: finding blank lines as such costs ten times as much."""
        if not self._begun:
            if not chunk:
                return []
            self._begun = True
            if chunk.startswith(b"\xef\xbb\xbf"):
                chunk = chunk[3:]
            chunk = chunk.lstrip(b" ")
        if self._after_cr or b"\r" in chunk:
            chunk = self._to_lf(chunk)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if not lines:
            if rest:
                self._line.append(rest)
                self._size += len(rest)
                if self._size > self._max:
                    self._measure()
            return []
        if self._line:
            self._line.append(lines[0])
            lines[0] = b"".join(self._line)
            self._line.clear()
        items: list[Item] = []
        # An event in one of the two shapes that providers send is its `event` line (or none) and one `data` line;
        # the lines of anything else are gathered in `odd` and parsed one by one.
        head = data = None
        odd = self._odd
        if self._event:
            lines = self._event + lines
        whole = False
        for line in lines:
            if not line:
                if odd is not None:
                    self._whole(odd.held, items)
                    odd = None
                elif data is not None:
                    if len(data) > self._max:
                        self._whole([data], items)
                    items.append((None if head is None else _NAMES.get(head) or _name(head), data[6:]))
                else:
                    head = None
                    continue
                head = data = None
                whole = True
            elif odd is not None:
                if ended := odd.add(line):
                    self._not_separated(ended, items)
                    whole = True
            elif data is None and line[:7] == b"data: {":
                data = line
            elif head is None and data is None and line[:7] == b"event: ":
                head = line
            else:
                odd = _Lines()
                for known in (head, data, line):
                    if known is not None and (ended := odd.add(known)):
                        self._not_separated(ended, items)
                        whole = True
                head = data = None
        self._odd = odd
        if data is not None:
            self._event = [data] if head is None else [head, data]
        else:
            self._event = [] if head is None else [head]
        if rest:
            self._line.append(rest)
        self._size = len(chunk) if whole else self._size + len(chunk)
        if self._size > self._max:
            self._measure()
        return items

    def run(self, chunk: bytes) -> list[bytes] | None:
        """The usual case at once: whole events of one line of JSON each, all with a name or all without.

        Gives their payloads; or null, and then nothing was taken and ``feed`` is to be called with the same bytes.
        The shape of all lines is checked by their least and greatest, which costs next to nothing.
        """
        if self._after_cr or b"\r" in chunk or b"\n" not in chunk:
            return None  # without a line feed there is nothing to give: what waits is joined once, not with every piece
        event = self._event
        if self._odd is not None:
            return None
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
                if head == _HEAD_THAT_TELLS or head[:7] != b"event: ":
                    return None
            data = lines[1:end:3]
        else:
            step = 2
            end = last - last % 2
            data = lines[0:end:2]
        if not end or any(lines[step - 1 : end : step]) or min(data) < b"data: {" or max(data) >= b"data: |":
            return None
        rest = lines[end:]
        tail = rest.pop()
        if len(chunk) > self._max or not all(rest):  # a blank line there ends an event of another shape
            return None
        self._line = [tail] if tail else []
        self._event = rest
        self._size = len(tail) + sum(map(len, rest)) if rest else len(tail)
        return list(map(_payload, data))

    def _measure(self) -> None:
        """The exact size of what is pending: `_size` may count what was given out of the last piece."""
        lines = self._event if self._odd is None else self._odd.held
        self._size = sum(map(len, lines)) + len(lines) + sum(map(len, self._line))
        if self._size > self._max + 1:  # one more: the first half of the blank line may be in it
            raise EventTooLarge(f"an event is longer than {self._max} bytes and not at its end")

    def _whole(self, event: list[bytes], items: list[Item]) -> None:
        """An event is too large wherever the bytes were cut, also when all of it came at once."""
        size = sum(map(len, event)) + len(event) - 1
        if size > self._max:
            raise EventTooLarge(f"an event of {size} bytes is longer than {self._max}")
        self._parse(event, items)

    def _not_separated(self, event: list[bytes], items: list[Item]) -> None:
        self.problems.append(("events-not-separated", ""))
        self._whole(event, items)

    def _to_lf(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _parse(self, event: list[bytes], items: list[Item]) -> None:
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
            self._dispatch(name, data, items)
        if stray and not (known and all(map(_OTHER_FIELD.match, stray))):
            self._stray(b"\n".join(stray), items)

    def _dispatch(self, name: str | None, data: list[bytes], items: list[Item]) -> None:
        # What follows a sentinel or a document is white space: another data line, empty, or a space at its end.
        payload = (data[0] if len(data) == 1 else b"\n".join(data)).rstrip()
        if payload and payload[0] == 58:
            self.problems.append(("keepalive-in-data", ""))
        elif not payload:
            self.problems.append(("empty-event", ""))
        else:
            items.append((name, payload))

    def _stray(self, text: bytes, items: list[Item]) -> None:
        self.problems.append(("raw-text-in-stream", text[:500].decode("utf-8", "replace")))
        items.append((RAW, text))

    def close(self) -> list[Item]:
        """What stands after the last blank line is dispatched too, and reported: most clients lose it."""
        items = self.feed(b"\n") if self._line else []
        event = self._event if self._odd is None else self._odd.held
        if event:
            before = len(items)
            self._parse(event, items)
            if len(items) > before:
                self.problems.append(("unterminated-event", ""))
        self._event, self._odd = [], None
        return items
