"""Deduplication of long values: a turn stores each once, however many events, steps and states contain it.

    parts = Parts()
    packed = parts.pack(text)           # JSON text; parts.take() returns the values to be stored with it
    unpack(packed, values) == text      # values: digest -> value

An unpacked document is a JSON object. A packed one is a JSON array of two items: the object, with JSON null in place of
each long value, and a map from JSON pointers to the digests of these values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from toolparity.normalizer import json_codec

from .changes import applied, inside

#: A value of at least this many characters is stored separately. Documents shorter than this are not searched.
LONG = 1024


class Parts:
    """Packs the documents of one turn for one recorder, and tracks which values that recorder has stored.

    Another recorder of the turn may insert a value again. The digest is the same, so the database keeps one row.
    """

    def __init__(self) -> None:
        self._stored: set[str] = set()
        self._new: dict[str, str] = {}

    def pack(self, text: str) -> str:
        """Return the JSON text with references instead of its long values, or the same text if it has none."""
        if len(text) < LONG:
            return text
        digests: dict[str, str] = {}
        try:
            document = json_codec.decode(text)
            self._pack(document, "", digests)
        except (ValueError, RecursionError):  # nested too deeply: store it unpacked
            return text
        return json_codec.text([document, digests]) if digests else text

    def take(self) -> list[dict[str, str]]:
        """Return the rows of the values that are new since the last call. The caller must store them."""
        if not self._new:
            return []
        rows = [{"digest": digest, "value": value} for digest, value in self._new.items()]
        self._stored.update(self._new)
        self._new = {}
        return rows

    def _pack(self, items: Any, pointer: str, digests: dict[str, str]) -> None:
        """Replace the long values of an object or a list, whose pointer is given, in place.

        A value that contains a reference is itself not replaced. Texts count without their quotes.
        """
        for name, item in enumerate(items) if isinstance(items, list) else items.items():
            if isinstance(item, str):
                text = json_codec.text(item) if len(item) >= LONG else ""
            elif isinstance(item, (list, dict)) and item:
                text = json_codec.text(item)
            else:
                continue
            if len(text) < LONG:
                continue
            inner = inside(pointer, name)
            before = len(digests)
            if not isinstance(item, str):
                self._pack(item, inner, digests)
            if len(digests) == before:
                digests[inner] = self._reference(text)
                items[name] = None

    def _reference(self, text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        if digest not in self._stored:
            self._new[digest] = text
        return digest


def references(texts: Iterable[str | None]) -> set[str]:
    """Return the digests of all values that these documents refer to. None among ``texts`` is skipped."""
    packed = (json_codec.decode(text) for text in texts if text is not None and text.startswith("["))
    return {digest for _, digests in packed for digest in digests.values()}


def unpack(text: str, values: Mapping[str, str]) -> str:
    """Return the document that was packed. ``values``: digest -> JSON text. Raises KeyError for a missing digest."""
    if not text.startswith("["):
        return text
    document, digests = json_codec.decode(text)
    parsed = {pointer: json_codec.decode(values[digest]) for pointer, digest in digests.items()}
    return json_codec.text(applied(document, parsed))
