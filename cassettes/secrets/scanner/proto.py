"""Binary data: the strings of a serialized protobuf message of unknown type, and the formats that can be searched.

Protobuf's own parser reads the messages.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.sources.bodies import unpacked

_DEPTH = 12
_VARINT, _LENGTH_DELIMITED = 0, 2
#: First bytes of known formats without other text.
_BEGINNINGS = (
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-", b"PK\x03\x04", b"\x00\x00\x01\x00"),
    *(b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2"),
)


class TextField(NamedTuple):
    """A string: the field numbers on the path to it, and the integer fields beside it ("2.3": 1)."""

    place: str
    beside: dict[str, int]
    text: str


def fields_of(data: bytes) -> list[TextField]:
    """Return every string; an empty list if the bytes are not a message."""
    fields: list[TextField] = []
    _read(data, "", {}, fields, 0)
    return fields


def put_together(messages: list[list[TextField]]) -> Iterator[tuple[str, str]]:
    """Yield (location, text) for a field's text over all messages: for all of its occurrences, and separately for each
    number beside it, and for its first, second, … occurrence in each message.
    """
    beside: dict[str, set[str]] = {}
    for field in (field for fields in messages for field in fields):
        beside.setdefault(field.place, set()).update(field.beside)
    pieces: dict[str, list[str]] = {}
    for fields in messages:
        order: dict[str, int] = {}
        for field in fields:
            order[field.place] = order.get(field.place, 0) + 1
            pieces.setdefault(f"{field.place}, number {order[field.place]} of each message", []).append(field.text)
    for field in (field for fields in messages for field in fields):
        pieces.setdefault(field.place, []).append(field.text)
        for number in beside[field.place]:  # zeros are omitted on the wire
            pieces.setdefault(f"{field.place} where {number} is {field.beside.get(number, 0)}", []).append(field.text)
    yield from ((place, "".join(texts)) for place, texts in pieces.items() if len(set(texts)) > 1)


@functools.cache
def _parser() -> tuple[Callable[[bytes], Any], type[Exception]]:
    """Return the function that parses a message, and the error that it raises. Text needs neither."""
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    return lambda data: UnknownFieldSet(Empty.FromString(data)), DecodeError


def _read(data: bytes, numbers: str, above: dict[str, int], collected: list[TextField], depth: int) -> bool:
    if not data or depth > _DEPTH:
        return False
    parse, decode_error = _parser()
    try:
        fields = list(parse(data))
    except (decode_error, ValueError, RuntimeError):
        return False
    beside = {**above, **{f"{numbers}{f.field_number}": f.data for f in fields if f.wire_type == _VARINT}}
    for field in fields:
        if field.wire_type != _LENGTH_DELIMITED:
            continue
        place = f"{numbers}{field.field_number}"
        inside: list[TextField] = []
        if _read(field.data, f"{place}.", beside, inside, depth + 1):
            collected += inside
        text = _text(field.data)
        if text:
            collected.append(TextField(place, beside, text))
    return True


def _text(data: Any) -> str:
    try:
        text: str = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(char.isprintable() or char in "\t\r\n" for char in text) else ""


def is_readable(data: bytes) -> bool:
    """Return whether the data is UTF-8 or a known format. Another text encoding would hide it from every search."""
    if data.startswith(_BEGINNINGS) or data[4:8] == b"ftyp" or _is_packed(data):
        return True
    try:
        data.decode()
    except UnicodeDecodeError as error:
        cut = error.end == len(data) and error.reason == "unexpected end of data"
        return cut or _is_event_stream(data) or bool(fields_of(data))
    return b"\0" not in data or bool(fields_of(data))


def _is_packed(data: bytes) -> bool:
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            return bool(unpacked(data, "zstd"))
        except UnreadableSource:
            return False
    wbits = 31 if data[:2] == b"\x1f\x8b" else 15 if data[:1] == b"\x78" else 0
    try:
        return bool(wbits) and bool(zlib.decompressobj(wbits).decompress(data, 1 << 16))  # the reader checks the rest
    except zlib.error:
        return False


def _is_event_stream(data: bytes) -> bool:
    """Detect AWS's binary event stream: length of the message, length of its headers, checksum of both."""
    return len(data) >= 16 and zlib.crc32(data[:8]) == int.from_bytes(data[8:12], "big")
