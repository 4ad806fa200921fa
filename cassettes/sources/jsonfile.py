"""JSON files: detection of the format by its top-level member, and parsing of one element at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])


def items(data: bytes, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]] | None:
    """Yield each element of the list under one of ``keys`` ("log.entries" is a path); None if no key is present.

    An element that cannot be parsed is yielded as an UnreadableSource.
    """
    for key in keys:
        raw = _at(data, key.split("."))
        if raw is not None:
            return ((key, _value(element)) for element in raw)
    return None


def _at(data: bytes, path: list[str]) -> list[msgspec.Raw] | None:
    try:
        found: Any = data
        for name in path:
            found = _members.decode(found).get(name)
            if found is None:
                return None
        return _elements.decode(found)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _value(raw: msgspec.Raw) -> Any:
    try:
        return json_codec.decode(bytes(raw))
    except (ValueError, RecursionError) as error:
        return UnreadableSource(f"no JSON: {error}")
