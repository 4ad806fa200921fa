"""Long values of a turn, each stored once however many events, steps and states contain it.

    parts = Parts()
    packed = parts.pack(text)           # JSON text; parts.take() returns the values to be stored with it
    unpack(packed, stored) == text      # stored: digest -> value

A document as it was written is a JSON object. A packed one is an array: the object, with null in place of each long
value, and the digests of these values by JSON pointer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ... import json_codec
from .changes import applied, inside

#: Characters from which on a value is stored for itself. A shorter document is not even searched.
LONG = 1024
#: About the characters of a number, a boolean or null.
_SHORT = 6


class Parts:
    """The values that one runner of a turn has stored. Another runner may store one of them again: it is the same."""

    def __init__(self) -> None:
        self._stored: set[str] = set()
        self._new: dict[str, str] = {}

    def pack(self, text: str) -> str:
        """Return the document with references for its long values; the same where it has none."""
        if len(text) < LONG:
            return text
        found: dict[str, str] = {}
        try:
            document, _ = self._packed(json_codec.decode(text), "", found)
        except (ValueError, RecursionError):  # nested too deep
            return text
        return json_codec.text([document, found]) if found else text

    def take(self) -> list[dict[str, str]]:
        """Return the rows of the values that are not stored yet. The caller stores them."""
        rows = [{"digest": digest, "value": value} for digest, value in self._new.items()]
        self._stored.update(self._new)
        self._new = {}
        return rows

    def _packed(self, value: Any, pointer: str, found: dict[str, str]) -> tuple[Any, int]:
        """The value without what is long in it, and about its length. A value with a long one in it stays."""
        if isinstance(value, str):
            size = len(value)
        elif isinstance(value, (list, dict)):
            before, size = len(found), 0
            for name, item in enumerate(value) if isinstance(value, list) else value.items():
                value[name], length = self._packed(item, inside(pointer, name), found)
                size += length + (len(name) if isinstance(name, str) else 0)
            if len(found) > before:
                return value, size
        else:
            return value, _SHORT
        if size < LONG or not pointer:
            return value, size
        found[pointer] = self._reference(value)
        return None, _SHORT

    def _reference(self, value: Any) -> str:
        text = json_codec.text(value)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        if digest not in self._stored:
            self._new[digest] = text
        return digest


def references(texts: Iterable[str | None]) -> set[str]:
    """Return the digests of all values that these documents need."""
    packed = (json_codec.decode(text) for text in texts if text is not None and text.startswith("["))
    return {digest for _, found in packed for digest in found.values()}


def unpack(text: str, stored: Mapping[str, str]) -> str:
    """Return the document as it was. Raises KeyError where one of its values is not among those that are stored."""
    if not text.startswith("["):
        return text
    document, found = json_codec.decode(text)
    return json_codec.text(applied(document, {at: json_codec.decode(stored[digest]) for at, digest in found.items()}))
