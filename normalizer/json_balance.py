"""Incremental bracket counting for JSON text."""

from __future__ import annotations

import re

_INSIDE = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
#: The content of a string up to its closing quote, or up to the end or a single backslash there.
_CONTENT = re.compile(_INSIDE, re.DOTALL)
#: A whole string.
_STRING = re.compile(f'"{_INSIDE}"', re.DOTALL)


class Balance:
    """Detects, in linear time, whether a growing JSON text has closed every bracket that it opened.

    Used only to find the boundary between two JSON texts, such as the arguments of two calls under one index. Never
    used to end a call early (failure EARLY-01).
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_opened")

    def __init__(self) -> None:
        self._depth = 0
        self._opened = False
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> None:
        """Process the next fragment of the text."""
        if self._in_string:
            text = self._after_string(text)
            if self._in_string:
                return
        outside, quote, begun = _STRING.sub("", text).partition('"')
        opened = outside.count("{") + outside.count("[")
        self._opened = self._opened or opened > 0
        self._depth += opened - outside.count("}") - outside.count("]")
        if quote:
            self._in_string = True
            self._after_string(begun)

    def _after_string(self, text: str) -> str:
        """Return what follows the string that is open at the beginning of a text."""
        start = 1 if self._escaped and text else 0
        found = _CONTENT.match(text, start)
        end = found.end() if found is not None else start
        self._in_string = text[end : end + 1] != '"'
        self._escaped = text[end:] == "\\" or (self._escaped and not text)
        return text[end + 1 :]

    @property
    def closed(self) -> bool:
        """Whether at least one bracket was opened and all are closed."""
        return self._opened and self._depth <= 0 and not self._in_string
