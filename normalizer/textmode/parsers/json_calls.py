"""Parser of calls as JSON objects, ``{"name": …, "arguments": …}``, consecutive or in a list."""

from __future__ import annotations

from msgspec.structs import replace

from ..scan_events import CallParsed
from ..tags import HOLD, after_gap, after_space, finder, literal
from .call_parser import CallSink, after_surplus, as_invalid
from .json_scan import CallObject


class JsonCalls:
    """Parser of JSON objects up to ``closer``, or up to the end of the JSON if it is "".

    ``again``: the separator between two objects. ``opening``: the opening tag. If neither JSON nor ``closer`` follows
    before the next opening tag, the tag was plain text. ``keyed``: see `CallObject`.
    """

    def __init__(
        self, sink: CallSink, closer: str = "", again: str = "", opening: str = "", keyed: bool = False
    ) -> None:
        self._sink = sink
        self._closer = closer
        self._again = again
        self._opening = opening
        self._keyed = keyed
        self._phase = "first"
        self._listed = False
        self._object: CallObject | None = None
        self._ended: CallParsed | None = None
        self._junk: list[str] = []
        self._junk_end = finder(closer, opening or closer) if closer else None
        self.done = False

    def feed(self, buf: str, at: int, final: bool) -> int:
        size = len(buf)
        while at < size and not self.done:
            if self._phase == "object" and self._object is not None:
                at = self._object.feed(buf, at, final)
                if not self._object.done:
                    return at
                self._finish_object()
                continue
            if self._phase == "junk":
                return self._skip_junk(buf, at, final)
            if self._phase != "tail":
                space, at = at, after_space(buf, at)
                self._junk += [buf[space:at]] if self._phase == "first" else []
            ahead = after_gap(buf, at, final)
            if ahead is HOLD or at == size:
                return at
            new = self._next(buf, ahead, final) if isinstance(ahead, int) and ahead < size else self._unclosed()
            if new is None:
                return at
            at = new if new >= 0 else at
        return at

    def _next(self, buf: str, at: int, final: bool) -> int | None:
        """Process the character between two objects and return the index after it.

        Return None if the next chunk decides, and -1 if the character is not consumed.
        """
        char, phase = buf[at], self._phase
        another = phase == "tail" and not self._listed and bool(self._closer or self._again)
        if char == "{" and (phase in ("first", "item") or another):
            return self._open(at)
        if phase == "first" and char == "[" and not self._listed:
            self._listed, self._phase = True, "item"
            return at + 1
        if phase == "item" and char == "]":
            self._phase = "tail"
            return at + 1
        if phase == "after_item":
            if char in ",]":
                self._phase = "item" if char == "," else "tail"
                return at + 1
            return self._unclosed()
        if self._phase == "tail" and char == self._again and not self._listed:
            self._phase = "item"
            return at + 1
        return self._close(buf, at, final)

    def _open(self, at: int) -> int:
        self._flush(unclosed=False)
        if not self._sink.admit(""):
            self.done = True
            return at
        self._phase, self._object = "object", CallObject(self._sink, self._closer, self._keyed)
        return at

    def _close(self, buf: str, at: int, final: bool) -> int | None:
        if not self._closer:
            self.done = True
            self._flush(unclosed=False)
            return -1
        closed = literal(self._closer, buf, at, final)
        if closed is HOLD:
            return None
        if closed:
            self.done = True
            if self._phase == "first":
                self._sink.begin_call(None, None)
                self._sink.end_call(CallParsed("", None, "", "invalid"))
            self._flush(unclosed=False)
            return at + len(self._closer)
        if self._ended is not None:
            surplus_end = after_surplus(self._closer, buf, at, final)
            if isinstance(surplus_end, int):
                self._ended = as_invalid(self._ended)
                return surplus_end
            return None if surplus_end is HOLD else self._unclosed()
        if not self._sink.admit(""):  # text in place of the JSON is a call, too
            self.done = True
            return at
        if self._phase != "first" or not self._opening:
            self._opening = ""
            self._sink.begin_call(None, None)
        self._phase = "junk"
        return at

    def _unclosed(self) -> int:
        self.done = True
        self._flush(unclosed=self._is_unclosed)
        return -1

    @property
    def _is_unclosed(self) -> bool:
        """Whether a missing closing tag or bracket makes the last call unclosed."""
        return bool(self._closer) or (self._listed and self._phase != "tail")

    def _skip_junk(self, buf: str, at: int, final: bool) -> int:
        assert self._junk_end is not None
        position, tag = self._junk_end.find(buf, at, final)
        self._junk.append(buf[at:position])
        if not tag:
            return position
        self.done = True
        if tag != self._closer:
            self._sink.withdraw("".join(self._junk))
            return position
        if self._opening:
            self._sink.begin_call(None, None)
        self._sink.end_call(CallParsed("", None, "".join(self._junk).lstrip(), "invalid", corrected=True))
        return position + len(tag)

    def _finish_object(self) -> None:
        call = self._object
        assert call is not None
        self._phase, self._object = "after_item" if self._listed else "tail", None
        ended = CallParsed(call.name or "", call.id, call.text)
        self._ended = as_invalid(ended) if call.broken else ended

    def _flush(self, unclosed: bool) -> None:
        if self._ended is not None:
            ended, self._ended = self._ended, None
            if unclosed:
                ended = replace(ended, unclosed=True)
            self._sink.end_call(ended)

    def finish(self) -> None:
        if self._object is not None:
            call = self._object
            call.begin()
            self._sink.end_call(CallParsed(call.name or "", call.id, call.text, "truncated", unclosed=True))
        elif self._phase == "junk" and self._opening:
            self._sink.withdraw("".join(self._junk))
        elif self._phase == "junk":
            self._sink.end_call(CallParsed("", None, "".join(self._junk), "truncated", unclosed=True, corrected=True))
        elif self._phase == "first":
            self._sink.begin_call(None, None)
            self._sink.end_call(CallParsed("", None, "", "truncated", unclosed=True))
        else:
            self._flush(unclosed=self._is_unclosed)
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return self._phase == "tail" and tag == self._closer
