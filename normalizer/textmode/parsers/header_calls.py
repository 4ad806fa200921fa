"""Parser of calls that consist of a header with the name of the tool, a separator and JSON arguments."""

from __future__ import annotations

from collections.abc import Callable

from ..scan_events import CallParsed
from ..tags import HOLD, LONGEST_TAG, Hold, after_gap, after_space, finder, literal
from .call_parser import CallSink, after_surplus, as_invalid
from .json_scan import JsonScanner

#: Parses the text before the arguments into the name and, if the dialect has one, the id.
Header = Callable[[str], tuple[str, str | None]]


class HeaderCall:
    """Parser of header, ``separator``, JSON and ``closer``.

    If ``separator`` is "", the opening tag already contained the header. If ``closer`` is "", the end of the JSON ends
    the call. ``named_after``: the line after the separator may contain the name, with the arguments in a code fence
    (DeepSeek V3).
    """

    def __init__(
        self, sink: CallSink, separator: str, closer: str, parse_header: Header, named_after: bool = False
    ) -> None:
        self._sink = sink
        self._separator = separator
        self._closer = closer
        self._parse_header = parse_header
        self._named_after = named_after
        self._phase = "header"
        self._name = ""
        self._id: str | None = None
        self._value: JsonScanner | None = None
        self._text: list[str] = []
        self._broken = False
        self.done = False
        if separator:
            self._find = finder(separator, closer)
        else:  # the opening tag contained the header
            self._name, self._id = parse_header("")
            self._phase = "arguments"
            sink.begin_call(self._name, self._id)

    def feed(self, buf: str, at: int, final: bool) -> int:
        while at < len(buf) and not self.done:
            new = getattr(self, f"_in_{self._phase}")(buf, at, final)
            if new is None:
                return at
            at = new
        return at

    def _in_header(self, buf: str, at: int, final: bool) -> int | None:
        position, token = self._find.find(buf, at, final)
        if not token and position - at <= LONGEST_TAG and not final:
            return None
        if token != self._separator or position - at > LONGEST_TAG:  # no tool name: keep the text unchanged
            self._sink.begin_call(None, None)
            self._phase, self._broken = "junk", True
            return at
        self._name, self._id = self._parse_header(buf[at:position].strip())
        self._phase = "arguments"
        if self._named_after:
            self._phase = "line"
        else:
            self._sink.begin_call(self._name, self._id)
        return position + len(token)

    def _in_line(self, buf: str, at: int, final: bool) -> int | None:
        """Parse the text after DeepSeek's separator: the arguments, or the tool name before a fence."""
        ahead = after_space(buf, at)
        if ahead > at:
            return ahead
        end = buf.find("\n", at, at + LONGEST_TAG)
        if end < 0 and not final and len(buf) - at < LONGEST_TAG and buf[at] not in "{[" and "<" not in buf[at:]:
            return None
        self._phase = "arguments"
        if buf[at] == "`":  # the header is the name
            self._phase = "fence"
        elif buf[at] not in "{[" and end >= 0 and "<" not in buf[at:end]:
            self._name, self._id = self._parse_header(buf[at:end].strip())
            self._phase, at = "fence", end
        self._sink.begin_call(self._name, self._id)
        return at

    def _in_fence(self, buf: str, at: int, final: bool) -> int | None:
        ahead = after_space(buf, at)
        if ahead > at:
            return ahead
        for mark in ("```json", "```"):
            token = literal(mark, buf, at, final)
            if token is HOLD:
                return None
            if token:
                at += len(mark)
                break
        self._phase = "arguments"
        return at

    def _in_arguments(self, buf: str, at: int, final: bool) -> int | None:
        if self._value is None:
            at = after_space(buf, at)
            if at == len(buf):
                return at
            if buf[at] not in "{[":
                self._phase = "junk" if self._closer else "tail"
                return at
            self._value = JsonScanner(self._closer)
        new = self._value.feed(buf, at, final)
        if new > at:
            self._text.append(buf[at:new])
            self._sink.add_arguments(buf[at:new])
        if self._value.done:
            self._broken = self._broken or self._value.broken
            self._phase = "tail"
            return new
        return new if new > at else None

    def _in_tail(self, buf: str, at: int, final: bool) -> int | None:
        if not self._closer:
            self._end()
            return at
        ahead = after_gap(buf, at, final)
        if self._named_after and isinstance(ahead, int):
            fence = literal("```", buf, ahead, final)
            ahead = HOLD if isinstance(fence, Hold) else after_gap(buf, ahead + 3, final) if fence else ahead
        if isinstance(ahead, int):
            closed = literal(self._closer, buf, ahead, final)
            if closed is True:
                self._end()
                return ahead + len(self._closer)
            surplus_end = HOLD if closed is HOLD else after_surplus(self._closer, buf, ahead, final)
            if isinstance(surplus_end, int):
                self._broken = True
                return surplus_end
            if surplus_end is HOLD:
                return None
        elif ahead is HOLD:
            return None
        self._end(unclosed=True)
        return at

    def _in_junk(self, buf: str, at: int, final: bool) -> int | None:
        """Keep text in place of the arguments, up to the closing tag, as the argument text."""
        position, token = finder(self._closer).find(buf, at, final) if self._closer else (len(buf), "")
        self._text.append(buf[at:position])
        if token:
            self._end()
            return position + len(token)
        return position if position > at else None

    def _end(self, unclosed: bool = False) -> None:
        corrected = self._phase == "junk"  # text in place of the arguments was not reported as fragments
        ended = CallParsed(self._name, self._id, "".join(self._text).strip(), unclosed=unclosed, corrected=corrected)
        self._sink.end_call(as_invalid(ended) if self._broken else ended)
        self.done = True

    def finish(self) -> None:
        if self._phase == "tail":
            self._end(unclosed=bool(self._closer))
            return
        if self._phase in ("header", "line"):
            self._sink.begin_call(self._name or None, self._id)
        text, junk = "".join(self._text).strip(), self._phase == "junk"
        self._sink.end_call(CallParsed(self._name, self._id, text, "truncated", unclosed=True, corrected=junk))
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return self._phase == "tail" and tag == self._closer
