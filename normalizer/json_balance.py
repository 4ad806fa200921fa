"""Incremental bracket counting for JSON text."""

from __future__ import annotations

import re

_STRUCTURE = re.compile(r'["\\{}\[\]]')


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
        start = 0
        if self._escaped and text:
            self._escaped = False
            start = 1
        skip = -1
        for match in _STRUCTURE.finditer(text, start):
            position = match.start()
            if position == skip:
                continue
            char = match.group()
            if self._in_string:
                if char == "\\":
                    skip = position + 1
                    self._escaped = skip == len(text)
                elif char == '"':
                    self._in_string = False
            elif char == '"':
                self._in_string = True
            elif char in "{[":
                self._depth += 1
                self._opened = True
            elif char in "}]":
                self._depth -= 1

    @property
    def closed(self) -> bool:
        """Whether at least one bracket was opened and all are closed."""
        return self._opened and self._depth <= 0 and not self._in_string
