"""The result of rewriting one schema, and the notes that a description gets."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import json_codec
from .codecs import SAME, Codec

#: Maximum characters of a value that a description quotes.
_QUOTED = 400


class TooLarge(Exception):
    """A schema has too many parts once its references are replaced."""


class Rewritten(NamedTuple):
    """An adapted schema and the codec of its values."""

    schema: dict[str, Any]
    codec: Codec = SAME


def quoted(keyword: str, value: Any) -> str:
    """Return the note about a keyword."""
    text = json_codec.text(value)
    return f"{keyword}: {text if len(text) <= _QUOTED else text[:_QUOTED] + '…'}"


def described(node: dict[str, Any], notes: list[str]) -> str:
    """Return the description of a schema with notes in parentheses."""
    text = node.get("description")
    note = f"({'; '.join(notes)})"
    return f"{text} {note}" if isinstance(text, str) and text else note
