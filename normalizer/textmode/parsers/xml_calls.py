"""Parser of calls with one tag per parameter: ``<call><parameter>value</parameter></call>`` and its variants.

Values are not escaped, so a closing tag in a value looks like its end. These rules apply to all such dialects (failures
TXT-03, TXT-04, TXT-05):

- A closing tag ends a value only if another parameter, another call or the end of this call follows directly.
- Parameters that open inside a value are part of it, together with their closing tags.
- If this is ambiguous (a value without an end; a parameter that the tool does not declare, or that occurs twice), the
  call is invalid, its argument text is its whole content, and nothing inside it counts as a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ... import json_codec
from ...model import CallStatus
from ..scan_events import CallParsed
from ..tags import HOLD, Finder, Hold, Tag, TagMatch, after_gap, after_space, any_literal, finder
from .call_parser import CallSink
from .coercion import ToolSchemas, value_of
from .json_scan import JsonScanner


class Grammar(Struct, frozen=True):
    """The tags of one dialect.

    ``call`` and ``parameter``: the opening tags. ``ends``: returns the closing tags of a call, by its name.
    ``closers``: returns the closing tags of a parameter, by its name. ``sections``: variants of the tags around all
    calls, or around each single call if ``shell`` is true. ``json``: whether one JSON object may replace all
    parameters. ``named_closers``: whether the closing tag of a parameter contains its name. ``layout``: which line
    breaks next to the tags do not belong to the value: "none", "pair" (only if one is on both sides) or "each" (on
    either side). ``text_mark``: the second group of a parameter's tag if its value is text; another one means JSON.
    ``cdata``: whether a value may be a CDATA section. ``nests``: whether parameters in a value are its members, which
    are not read and make the call invalid.
    """

    call: Tag
    ends: Callable[[str], tuple[str, ...]]
    parameter: Tag
    closers: Callable[[str], tuple[str, ...]]
    sections: tuple[tuple[str, str], ...] = ()
    shell: bool = False
    json: bool = False
    named_closers: bool = False
    layout: Literal["none", "pair", "each"] = "none"
    text_mark: str = "true"
    cdata: bool = False
    nests: bool = False

    @property
    def opens(self) -> tuple[str, ...]:
        """The opening tags that may precede a call."""
        return tuple(opening for opening, _ in self.sections)

    @property
    def shuts(self) -> tuple[str, ...]:
        """The closing tags that may follow a call."""
        return tuple(closing for _, closing in self.sections)


class XmlCall:
    """Parser of the content of one call. ``empty``: its opening tag is also its closing tag (``<call/>``)."""

    def __init__(
        self,
        sink: CallSink,
        grammar: Grammar,
        name: str,
        tools: ToolSchemas,
        wrapped: bool = False,
        empty: bool = False,
    ) -> None:
        self._sink = sink
        self._grammar = grammar
        self._name = name
        self._tools = tools
        self._wrapped = wrapped
        self._ends = grammar.ends(name)
        self._opens, self._shuts = grammar.opens, grammar.shuts
        self._closers = () if grammar.named_closers else grammar.closers("")
        self._between = finder(grammar.parameter.head, grammar.call.head, *self._ends, *self._closers, *self._opens)
        self._phase = "between"
        self._raw: list[str] = []
        self._values: dict[str, list[str]] = {}
        self._plain: dict[str, bool] = {}
        self._preview_text: list[str] = []
        self._problems: list[tuple[str, str]] = []
        self._json: JsonScanner | None = None
        # the open parameter
        self._key = ""
        self._value: list[str] = []
        self._nested = 0
        self._tags_inside: list[str] = []
        self._find: Finder | None = None
        self._preview = False
        self._first = False
        self._newline = False
        self.done = False
        sink.begin_call(name, None)
        if empty:
            self._end()

    def feed(self, buf: str, at: int, final: bool) -> int:
        while at < len(buf) and not self.done:
            new: int | None = getattr(self, f"_in_{self._phase}")(buf, at, final)
            if new is None:
                return at
            self._raw.append(buf[at:new])
            at = new
        return at

    # between parameters

    def _in_between(self, buf: str, at: int, final: bool) -> int | None:
        ahead = after_space(buf, at)
        if ahead > at:
            return ahead
        match = self._grammar.parameter.match(buf, at, final)
        if isinstance(match, TagMatch):
            self._open(match)
            return match.end
        end = self._call_end(buf, at, final)
        if match is HOLD or end is HOLD:
            return None
        if isinstance(end, int):
            self._end()
            return end
        another = self._another(buf, at, final)
        if another is HOLD:
            return None
        if another:
            self._sink.doubt_later_calls(
                f"it begins inside {self._name}, which has no closing tag, and may be its text"
            )
            self._end(unclosed=True)
            return at
        if self._grammar.json and buf[at] == "{" and not self._values and not self._problems:
            self._phase, self._json = "json", JsonScanner(self._ends[0])
            return at
        return self._stray(buf, at, final)

    def _another(self, buf: str, at: int, final: bool) -> bool | Hold:
        """Return whether another call begins at an index."""
        grammar = self._grammar
        call = grammar.call.match(buf, at, final)
        section = any_literal(self._opens, buf, at, final)
        if isinstance(call, TagMatch) or isinstance(section, int):
            return True
        return HOLD if HOLD in (call, section) else False

    def _stray(self, buf: str, at: int, final: bool) -> int | None:
        """Process text in place of a parameter, which makes the call unreliable.

        A closing tag in this text may be the real end of a value in an earlier call, so that is marked as uncertain.
        """
        closer = any_literal(self._closers, buf, at, final)
        if closer is HOLD:
            return None
        if not self._problems or self._problems[-1][0] != "markup-malformed":
            self._problems.append(("markup-malformed", "text between its parameters"))
        if isinstance(closer, int):
            self._sink.doubt_earlier_calls(
                f"{buf[at:closer]} in a later call closes nothing: this call may have ended there"
            )
            return closer
        position, _ = self._between.find(buf, at + 1, final)
        return position if position > at else None

    def _call_end(self, buf: str, at: int, final: bool) -> int | Hold | None:
        """Return the index after the closing tag of the call at an index; None if there is none."""
        grammar = self._grammar
        end = any_literal(self._ends, buf, at, final)
        if not isinstance(end, int) or not (grammar.shell or (self._shuts and self._wrapped)):
            return end
        ahead = after_gap(buf, end, final)
        if ahead is HOLD or ahead == len(buf):
            return HOLD if ahead is HOLD else end
        if not isinstance(ahead, int):
            return None if self._wrapped else end
        closed = any_literal(self._shuts, buf, ahead, final)
        if isinstance(closed, int):  # the model may have left out the opening tag only
            return closed if grammar.shell else end
        another = None if grammar.shell else grammar.call.match(buf, ahead, final)
        if closed is HOLD or another is HOLD:
            return HOLD
        return end if another is not None or not self._wrapped else None

    def _in_json(self, buf: str, at: int, final: bool) -> int | None:
        assert self._json is not None
        new = self._json.feed(buf, at, final)
        if new > at:
            self._value.append(buf[at:new])
            self._sink.add_arguments(buf[at:new])
        if self._json.done:
            self._phase = "after_json"
        return new if new > at or self._json.done else None

    def _in_after_json(self, buf: str, at: int, final: bool) -> int | None:
        """Parse the text after the JSON that replaces all parameters, up to the end of the call."""
        ahead = after_space(buf, at)
        if ahead > at:
            return ahead
        end = self._call_end(buf, at, final)
        if end is HOLD:
            return None
        if isinstance(end, int):
            text = "".join(self._value)
            bad = bool(self._problems) or (self._json is not None and self._json.broken)
            self._sink.end_call(CallParsed(self._name, None, text, "invalid" if bad else "complete"))
            self.done = True
            return end
        return self._stray(buf, at, final)

    # inside a value

    def _open(self, match: TagMatch) -> None:
        self._key, self._value, self._nested, self._tags_inside = match.name, [], 0, []
        if match.more:
            self._plain[match.name] = match.more == self._grammar.text_mark
        closers = self._grammar.closers(match.name)
        self._find = finder(self._grammar.parameter.head, *closers)
        self._phase = "value"
        self._begin_preview()

    def _in_value(self, buf: str, at: int, final: bool) -> int | None:
        assert self._find is not None
        position, tag = self._find.find(buf, at, final)
        if position > at:
            self._keep(buf[at:position])
            return position
        if not tag:
            return None
        if tag == self._grammar.parameter.head:
            match = self._grammar.parameter.match(buf, at, final)
            if match is HOLD:
                return None
            if isinstance(match, TagMatch):
                self._tags_inside.append(match.name)
                if not self._grammar.named_closers or match.name == self._key:
                    self._nested += 1
            end = match.end if isinstance(match, TagMatch) else at + len(tag)
            self._keep(buf[at:end])
            return end
        end = at + len(tag)
        if self._nested:
            self._nested -= 1
            self._keep(tag)
            return end
        follows = self._follows(buf, end, final)
        if follows is HOLD:
            return None
        if follows:
            self._close()
            self._phase = "between"
        else:
            self._keep(tag)
            self._tags_inside.append(tag)
        return end

    def _follows(self, buf: str, at: int, final: bool) -> bool | Hold:
        """Return whether a closing tag ends the value: a parameter, a call or the end of the call or text follows."""
        ahead = after_gap(buf, at, final)
        if not isinstance(ahead, int):
            return HOLD if ahead is HOLD else False
        if ahead == len(buf):
            return True
        match = self._grammar.parameter.match(buf, ahead, final)
        end = self._call_end(buf, ahead, final)
        if match is HOLD or end is HOLD:
            return HOLD
        if isinstance(match, TagMatch) and not self._tools.takes(self._name, match.name):
            self._problems.append(
                ("markup-ambiguous", f"{match.name!r}, which the tool does not declare, may be text of {self._key!r}")
            )
        if isinstance(match, TagMatch) or isinstance(end, int):
            return True
        return self._another(buf, ahead, final)

    def _keep(self, text: str) -> None:
        self._value.append(text)
        if not self._preview:
            return
        if self._grammar.layout != "none":
            if self._first:
                self._first, text = False, text.removeprefix("\n")
            if self._newline:
                text, self._newline = "\n" + text, False
            if text.endswith("\n"):  # a line break before a closing tag is layout
                text, self._newline = text[:-1], True
        if text:
            self._add_preview(json_codec.text(text)[1:-1])

    def _begin_preview(self) -> None:
        head = "{" if not self._preview_text else ","
        self._preview = self._tools.is_text(self._name, self._key) and self._plain.get(self._key, True)
        self._add_preview(f"{head}{json_codec.text(self._key)}:" + ('"' if self._preview else ""))
        self._first, self._newline = True, False

    def _add_preview(self, text: str) -> None:
        self._preview_text.append(text)
        self._sink.add_arguments(text)

    def _close(self) -> None:
        text = without_layout("".join(self._value), self._grammar.layout)
        section = _CDATA.fullmatch(text) if self._grammar.cdata else None
        text = section[1] if section is not None else text
        self._values.setdefault(self._key, []).append(text)
        if self._tags_inside and self._grammar.nests:
            self._problems.append(("markup-malformed", f"{self._key!r} contains parameters, which are not read"))
        elif self._tags_inside:
            self._sink.report("markup-ambiguous", f"{self._key!r} of {self._name} contains tags; they are its text")
        if self._preview:
            self._add_preview('"')
        else:
            value, _ = value_of(self._tools, self._name, self._key, [text], self._plain.get(self._key))
            self._add_preview(json_codec.text(value))
        self._find = None

    # the end

    def _end(self, unclosed: bool = False) -> None:
        """Report the call, which is complete except perhaps for its closing tag."""
        arguments: dict[str, object] = {}
        values: dict[str, list[str]] = {}
        for key, texts in self._values.items():
            values.setdefault(self._tools.plural(self._name, key), []).extend(texts)
        for name, texts in values.items():
            value, problems = value_of(self._tools, self._name, name, texts, self._plain.get(name))
            arguments[name] = value
            for code, problem in problems:
                message = f"{name!r} of {self._name}: {problem}"
                if code == "markup-ambiguous":
                    self._problems.append((code, message))
                else:
                    self._sink.report(code, message)
        self.done = True
        if self._problems:
            self._broken("invalid", unclosed)
            return
        text = json_codec.text(arguments)
        status: CallStatus = "truncated" if unclosed else "complete"
        preview = "".join(self._preview_text)
        corrected = preview not in ("", text[:-1])
        if not corrected:
            self._sink.add_arguments(text[len(preview) :])
        self._sink.end_call(CallParsed(self._name, None, text, status, True, unclosed, corrected=corrected))

    def _broken(self, status: CallStatus, unclosed: bool) -> None:
        for code, message in dict.fromkeys(self._problems):
            self._sink.report(code, f"{self._name}: {message}")
        raw = "".join(self._raw)
        self._sink.end_call(CallParsed(self._name, None, raw, status, unclosed=unclosed, corrected=True))

    def finish(self) -> None:
        self.done = True
        if self._phase == "value":
            value = "".join(self._value)
            tags_inside = ", ".join(dict.fromkeys([*self._tags_inside, *(end for end in self._ends if end in value)]))
            if tags_inside:
                self._problems.append(
                    ("markup-malformed", f"{self._key!r} has no closing tag and contains {tags_inside}")
                )
                self._broken("invalid", True)
            else:
                self._broken("truncated", True)
        elif self._phase == "between" and self._values and not self._problems:
            self._end(unclosed=True)
        else:
            self._broken("invalid" if self._problems else "truncated", True)

    def awaits(self, tag: str, held: str) -> bool:
        if self._phase == "value":  # its closing tag may have arrived: the text after it decides
            if self._nested or held.rstrip() not in self._grammar.closers(self._key):
                return False
        elif self._phase == "json":
            return False
        if held.startswith(self._ends):
            return self._wrapped and self._grammar.shell and tag in self._shuts
        return tag in self._ends or (self._grammar.shell and tag in self._shuts)


_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_BREAK_AT_START = re.compile(r"\r?\n")
_BREAK_AT_END = re.compile(r"\r?\n[ \t]*\Z")


def without_layout(text: str, layout: str) -> str:
    """Return a value without the line breaks that separate it from its tags, by the grammar's ``layout``."""
    if layout == "none":
        return text
    first = _BREAK_AT_START.match(text)
    start = first.end() if first is not None else 0
    end = text.rfind("\n", start)
    if end > start and text[end - 1] == "\r":
        end -= 1
    last = _BREAK_AT_END.search(text, end) if end >= 0 else None
    if layout == "pair" and (first is None or last is None):
        return text
    return text[start : last.start() if last is not None else len(text)]
