"""Incremental scanning of JSON: the end of a value, and the members of a call object.

The scanner tracks brackets and strings and parses only complete names, ids and keys. It never reads text twice, so its
time is linear in the length of the text for any chunk sizes.
"""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ..tags import HOLD, after_space, literal
from .call_parser import CallSink

_IN_STRING = re.compile(r'["\\]')
_SCALAR_END = re.compile(r"[,\]}\s;<]")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_IDS = ("id", "call_id")
_LONGEST_KEY = 4096


class JsonScanner:
    """Scanner of one value from its first character on. ``closer``: a string that ends it anywhere outside strings."""

    __slots__ = ("_closer", "_depth", "_escaped", "_search", "_string", "broken", "compound", "done")

    def __init__(self, closer: str = "", depth: int = 0) -> None:
        self._closer = closer
        self._depth = depth
        self._string = False
        self._escaped = False
        self._search = re.compile(r'["{}\[\]' + re.escape(closer[:1]) + "]").search
        self.compound: bool | None = True if depth else None
        self.done = False
        self.broken = False

    def feed(self, buf: str, at: int, final: bool = False) -> int:
        """Consume the text of the value and return the index after it."""
        size = len(buf)
        if self.compound is None and at < size:
            self.compound = buf[at] in "{["
            if buf[at] == '"':
                self._string = True
                at += 1
        while at < size and not self.done:
            if self._string:
                at = self._in_string(buf, at)
            elif self.compound:
                match = self._search(buf, at)
                if match is None:
                    return size
                at = match.start()
                if self._closer and buf[at] == self._closer[0]:
                    closed = literal(self._closer, buf, at, final)
                    if closed is HOLD:
                        return at
                    if closed:
                        self.done = self.broken = True
                        return at
                at = self._bracket(buf, at)
            else:
                match = _SCALAR_END.search(buf, at)
                self.done = match is not None
                at = size if match is None else match.start()
        return at

    def _in_string(self, buf: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        match = _IN_STRING.search(buf, at)
        if match is None:
            return len(buf)
        if match.group() == "\\":
            self._escaped = True
        else:
            self._string = False
            self.done = not self.compound
        return match.end()

    def _bracket(self, buf: str, at: int) -> int:
        char = buf[at]
        if char == '"':
            self._string = True
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1
            self.done = self._depth <= 0
        return at + 1


class CallObject:
    """Scanner of one call object, ``{"name": …, "arguments": …}``, with its members in any order.

    ``keyed``: the object is ``{name: {…}}`` instead. ``name``, ``id`` and ``text`` (the exact argument text) are the
    members found so far. ``broken``: the object is not valid JSON, or has two names or arguments.
    """

    def __init__(self, sink: CallSink, closer: str = "", keyed: bool = False) -> None:
        self._sink = sink
        self._closer = closer
        self._keyed = keyed
        self._phase = "open"
        self._value: JsonScanner | None = None
        self._key: list[str] | None = None
        self._member = ""
        self._taken: list[str] = []
        self._arguments: list[str] = []
        self._seen: set[tuple[str, ...]] = set()
        self._began = False
        self.name: str | None = None
        self.id: str | None = None
        self.done = False
        self.broken = False

    @property
    def text(self) -> str:
        return "".join(self._arguments)

    def feed(self, buf: str, at: int, final: bool) -> int:
        """Consume the text of the object and return the index after it."""
        size = len(buf)
        while at < size and not self.done:
            if self._value is not None:
                new = self._value.feed(buf, at, final)
                self._add_text(buf[at:new])
                if not self._value.done:
                    return new
                at = new
                self._finish_value(self._value.broken)
                continue
            at = after_space(buf, at)
            if at < size:
                at = self._token(buf[at], at)
        return at

    def _token(self, char: str, at: int) -> int:
        phase = self._phase
        if phase == "open":
            self._phase = "key"
        elif phase in ("key", "more") and char == '"':
            self._phase, self._key, self._value = "colon", [], JsonScanner()
            return at
        elif phase in ("key", "comma") and char == "}":
            self._end()
        elif phase == "colon" and char == ":":
            self._phase = "value"
        elif phase == "value" and char not in ",}]:":
            self._phase, self._value = "comma", JsonScanner(self._closer)
            self._begin_value()
            return at
        elif phase == "comma" and char == ",":
            self._phase = "more"
        else:
            self._skip_rest()
            return at
        return at + 1

    def _skip_rest(self) -> None:
        """Mark the object as broken and skip the rest of it."""
        self.broken = True
        self._phase, self._member, self._value = "rest", "", JsonScanner(self._closer, depth=1)

    def _begin_value(self) -> None:
        member = self._member
        self._taken = []
        for names in (_NAMES, _ARGUMENTS):
            if member in names:
                self.broken = self.broken or names in self._seen
                self._seen.add(names)
        if member in _ARGUMENTS:
            self.begin()

    def begin(self) -> None:
        """Report the beginning of the call once."""
        if not self._began:
            self._began = True
            self._sink.begin_call(self.name, self.id)

    def _add_text(self, text: str) -> None:
        if self._key is not None:
            self._key.append(text)
        elif self._phase == "comma" and self._member in _ARGUMENTS:
            self._arguments.append(text)
            self._sink.add_arguments(text)
        elif self._phase == "comma" and self._member in _NAMES + _IDS:
            self._taken.append(text)

    def _finish_value(self, broken: bool) -> None:
        self._value = None
        if broken or self._phase == "rest":
            self._end(broken=True)
        elif self._key is not None:
            key = _decoded("".join(self._key)[:_LONGEST_KEY])
            self._member = key if isinstance(key, str) else ""
            self.broken = self.broken or not isinstance(key, str)
            self._key = None
            if self._keyed:
                self.name, self._member = self._member, _ARGUMENTS[0]
        elif self._member in _NAMES + _IDS:
            value = _decoded("".join(self._taken).strip())
            if self._member in _NAMES:
                self.broken = self.broken or not isinstance(value, str)
            if isinstance(value, str):
                if self._member in _NAMES:
                    self.name = value
                    self.begin()
                else:
                    self.id = self.id or value

    def _end(self, broken: bool = False) -> None:
        self.done = True
        self.broken = self.broken or broken
        self.begin()


def _decoded(text: str) -> Any:
    try:
        return json_codec.decode(text)
    except ValueError:
        return None
