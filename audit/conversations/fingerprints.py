"""Fingerprints: 64-bit digests of content, by which messages are compared without keeping them.

Two contents that mean the same have one fingerprint: ids, cache marks, item ids and the spelling of JSON do not count.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import JsonPart, MediaPart, Part, TextPart

#: The types of JSON that `_plain` may change.
_CONVERTED = frozenset((dict, list, float))
_sorted = msgspec.json.Encoder(order="deterministic").encode


def of_bytes(data: bytes) -> int:
    """Return the fingerprint of bytes."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def of_text(text: str) -> int:
    """Return the fingerprint of a text. White space at its ends does not count."""
    return of_bytes(text.strip().encode("utf-8", "surrogatepass"))


def of_value(value: Any) -> int:
    """Return the fingerprint of a JSON value. The order of members and the spelling of numbers do not count."""
    value = _plain(value)
    try:
        return of_bytes(_sorted(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return of_bytes(repr(value).encode("utf-8", "surrogatepass"))


def of_parts(parts: list[Part]) -> int:
    """Return the fingerprint of a message's content. How a text is divided into parts does not count."""
    texts: list[str] = []
    others: list[Any] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif isinstance(part, JsonPart):
            texts.append(json_codec.text(part.value))
        elif isinstance(part, MediaPart):
            others.append([part.kind, part.data or part.url or part.file_id])
        else:
            others.append([part.wire_type])
    return of_text("".join(texts)) if not others else of_value(["".join(texts).strip(), others])


def chained(before: int, fingerprint: int) -> int:
    """Return the fingerprint of a sequence, given that of all but its last element and that of the last element."""
    return of_bytes(before.to_bytes(8, "big") + fingerprint.to_bytes(8, "big"))


def _plain(value: Any) -> Any:
    """Return a value with whole numbers as int, as JavaScript writes them."""
    kind = type(value)
    if kind is dict:
        return {key: _plain(member) if type(member) in _CONVERTED else member for key, member in value.items()}
    if kind is list:
        return [_plain(member) if type(member) in _CONVERTED else member for member in value]
    if kind is float and value.is_integer():
        return int(value)
    return value
