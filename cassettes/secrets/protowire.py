"""Location of strings in serialized protobuf without a schema.

The encoding does not distinguish strings from messages or packed numbers. A field that decodes as text counts as text,
and one that parses as a message is also searched inside. Rule: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_DEPTH = 12
_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


class StringField(NamedTuple):
    """A string field: the field numbers on the path to it, and the position of its bytes.

    ``beside``: for each message above it, its integer fields and their values, which distinguish parallel texts.
    """

    path: tuple[int, ...]
    beside: tuple[dict[int, int], ...]
    start: int
    end: int


def strings(data: bytes) -> list[StringField] | None:
    """Return every field that can be a string, inner ones first; None if the bytes are not a message."""
    found: list[StringField] = []
    return found if data and _message(data, 0, len(data), (), (), found) else None


def _message(
    data: bytes,
    start: int,
    end: int,
    path: tuple[int, ...],
    above: tuple[dict[int, int], ...],
    found: list[StringField],
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
            inside: list[StringField] = []
            if size > 1 and len(here) < _DEPTH and _message(data, at, at + size, here, beside, inside):
                found += inside
            if _is_text(data[at : at + size]):
                found.append(StringField(here, beside, at, at + size))
            at += size
        else:
            return False
    return at == end


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number and its end; the end is -1 if the number is incomplete."""
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


def streamed(messages: list[list[StringField]]) -> Iterator[list[tuple[int, StringField]]]:
    """Yield the pieces of each text that may span several messages, as (index of the message, field).

    A number beside the pieces distinguishes texts in the same field, or their order in each message does. The schema is
    unknown, so every number is tried, the order, and also none. The deepest fields come first, because a message can
    decode as text, with its length bytes as letters. Of the texts in one field, those with a number come first, and
    then the one of fewest pieces: in another, the pieces of two texts take turns, and a change of it could leave a part
    of a secret.
    """
    groups: dict[tuple[object, ...], list[tuple[int, StringField]]] = {}
    levels: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for fields in messages:
        for field in fields:
            seen = levels.setdefault(field.path, set())
            seen.update((level, number) for level, numbers in enumerate(field.beside) for number in numbers)
    for at, fields in enumerate(messages):
        order: Counter[tuple[int, ...]] = Counter()
        for field in fields:
            groups.setdefault((field.path,), []).append((at, field))
            groups.setdefault((field.path, order[field.path]), []).append((at, field))
            order[field.path] += 1
            for level, number in levels[field.path]:
                value = field.beside[level].get(number, 0)  # proto3 omits zeros
                groups.setdefault((field.path, level, number, value), []).append((at, field))
    split = [(key, pieces) for key, pieces in groups.items() if len(pieces) > 1]
    split.sort(key=lambda each: (-len(each[1][0][1].path), -len(each[0]), len(each[1])))
    yield from (pieces for _, pieces in split)
