"""Where the strings stand in serialized protobuf, without its schema.

The wire does not tell a string from a message or from packed numbers: a field that reads as text is taken as text, and
one that reads as a message is looked into as well.
Rule: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_DEPTH = 12
_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A string field: the numbers of the fields it stands in, and its bytes' place.

    ``beside``: for each message above it, its number fields and their values, which tell parallel texts apart.
    """

    path: tuple[int, ...]
    beside: tuple[dict[int, int], ...]
    start: int
    end: int


def strings(data: bytes) -> list[Field] | None:
    """Every field that can be a string, the inner before the outer; None where the bytes are no message."""
    found: list[Field] = []
    return found if data and _message(data, 0, len(data), (), (), found) else None


def _message(
    data: bytes, start: int, end: int, path: tuple[int, ...], above: tuple[dict[int, int], ...], found: list[Field]
) -> bool:
    numbers: dict[int, int] = {}
    beside = (*above, numbers)
    at = start
    while at < end:
        tag, at = _varint(data, at, end)
        field, wire = tag >> 3, tag & 7
        if at < 0 or not 0 < field < 1 << 29:
            return False
        if wire == _VARINT:
            value, at = _varint(data, at, end)
            if at < 0:
                return False
            numbers[field] = value
        elif wire in (_I64, _I32):
            at += 8 if wire == _I64 else 4
        elif wire == _LEN:
            size, at = _varint(data, at, end)
            if at < 0 or at + size > end:
                return False
            here = (*path, field)
            inside: list[Field] = []
            if size > 1 and len(here) < _DEPTH and _message(data, at, at + size, here, beside, inside):
                found += inside
            if _is_text(data[at : at + size]):
                found.append(Field(here, beside, at, at + size))
            at += size
        else:
            return False
    return at == end


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number and where it ends; -1 where it does not."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, -1


def _is_text(data: bytes) -> bool:
    if not data:
        return False
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return text.isprintable() or all(char.isprintable() or char in "\t\n\r" for char in text)


def streamed(messages: list[list[Field]]) -> Iterator[list[tuple[int, Field]]]:
    """The pieces of each text that may run over messages: (number of the message, field).

    Texts of one field are told apart by a number beside it. Which number that is, is not on the wire: each that stands
    there is tried, and none. The deepest come first: a message can read as text, and its length bytes as letters.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Field]]] = {}
    levels: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for fields in messages:
        for field in fields:
            seen = levels.setdefault(field.path, set())
            seen.update((level, number) for level, numbers in enumerate(field.beside) for number in numbers)
    for at, fields in enumerate(messages):
        for field in fields:
            groups.setdefault((field.path,), []).append((at, field))
            for level, number in levels[field.path]:
                value = field.beside[level].get(number, 0)  # proto3 does not write a zero
                groups.setdefault((field.path, level, number, value), []).append((at, field))
    split = [pieces for pieces in groups.values() if len(pieces) > 1]
    yield from sorted(split, key=lambda pieces: -len(pieces[0][1].path))
