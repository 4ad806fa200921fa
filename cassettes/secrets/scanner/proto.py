"""The strings of a serialized protobuf message of unknown type, read with protobuf's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

_DEPTH = 12
_VARINT, _LENGTH_DELIMITED = 0, 2


class Field(NamedTuple):
    """A string: the field numbers on the path to it, and the integer fields beside it ("2.3": 1)."""

    place: str
    beside: dict[str, int]
    text: str


def fields_of(data: bytes) -> list[Field]:
    """Return every string; an empty list if the bytes are not a message."""
    found: list[Field] = []
    _read(data, "", {}, found, 0)
    return found


def put_together(messages: list[list[Field]]) -> Iterator[tuple[str, str]]:
    """Yield (location, text) for a field's text over all messages, and separately for each number beside it."""
    beside: dict[str, set[str]] = {}
    for field in (field for fields in messages for field in fields):
        beside.setdefault(field.place, set()).update(field.beside)
    pieces: dict[str, list[str]] = {}
    for field in (field for fields in messages for field in fields):
        pieces.setdefault(field.place, []).append(field.text)
        for number in beside[field.place]:  # zeros are omitted on the wire
            pieces.setdefault(f"{field.place} where {number} is {field.beside.get(number, 0)}", []).append(field.text)
    yield from ((place, "".join(texts)) for place, texts in pieces.items() if len(set(texts)) > 1)


def _read(data: bytes, numbers: str, above: dict[str, int], found: list[Field], depth: int) -> bool:
    if not data or depth > _DEPTH:
        return False
    try:
        unknown: Any = UnknownFieldSet(Empty.FromString(data))
        fields = list(unknown)
    except (DecodeError, ValueError, RuntimeError):
        return False
    beside = {**above, **{f"{numbers}{f.field_number}": f.data for f in fields if f.wire_type == _VARINT}}
    for field in fields:
        if field.wire_type != _LENGTH_DELIMITED:
            continue
        place = f"{numbers}{field.field_number}"
        inside: list[Field] = []
        if _read(field.data, f"{place}.", beside, inside, depth + 1):
            found += inside
        text = _text(field.data)
        if text:
            found.append(Field(place, beside, text))
    return True


def _text(data: Any) -> str:
    try:
        text: str = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(char.isprintable() or char in "\t\r\n" for char in text) else ""
