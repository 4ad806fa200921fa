"""Kinds of bytes that the scanner can search: UTF-8 text, and known formats without other text.

Another text encoding would hide its content from every search for ASCII letters.
"""

from __future__ import annotations

import zlib

from .proto import fields_of

_BEGINNINGS = (
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-", b"PK\x03\x04", b"\x00\x00\x01\x00"),
    *(b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2"),
)


def is_readable(data: bytes) -> bool:
    """Return whether a search sees the same content as a reader."""
    if data.startswith(_BEGINNINGS) or data[4:8] == b"ftyp" or _is_packed(data):
        return True
    try:
        data.decode()
    except UnicodeDecodeError as error:
        cut = error.end == len(data) and error.reason == "unexpected end of data"
        return cut or _is_event_stream(data) or bool(fields_of(data))
    return b"\0" not in data or bool(fields_of(data))


def _is_packed(data: bytes) -> bool:
    wbits = 31 if data[:2] == b"\x1f\x8b" else 15 if data[:1] == b"\x78" else 0
    try:
        return bool(wbits) and bool(zlib.decompressobj(wbits).decompress(data, 1 << 16))  # the reader checks the rest
    except zlib.error:
        return False


def _is_event_stream(data: bytes) -> bool:
    """Detect AWS's binary event stream: length of the message, length of its headers, checksum of both."""
    return len(data) >= 16 and zlib.crc32(data[:8]) == int.from_bytes(data[8:12], "big")
