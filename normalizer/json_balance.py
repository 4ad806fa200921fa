"""Whether a growing JSON text has closed every bracket it opened, in time linear in what it is fed."""

from __future__ import annotations

import re

_STRUCTURE = re.compile(r'["\\{}\[\]]')


class Balance:
    """Tells, in time linear in what it is fed, whether a growing JSON text has closed every bracket it opened.

    Used only to tell where one call ends and the next begins on servers that reuse indexes; never to finish a
    call early (failure EARLY-01).
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_opened")

    def __init__(self) -> None:
        self._depth = 0
        self._opened = False
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
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
        """True once at least one bracket was opened and all are closed."""
        return self._opened and self._depth <= 0 and not self._in_string
