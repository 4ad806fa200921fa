"""AWS event streams made by hand: messages with their headers and checksums."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any


def message(payload: bytes, **headers: str) -> bytes:
    """One message with its lengths and checksums; `_` in a header's name represents the dash, a `:` goes before."""
    encoded = b""
    for name, value in headers.items():
        key, text = f":{name.replace('_', '-')}".encode(), value.encode()
        encoded += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(text)) + text
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + encoded + payload
    return body + struct.pack(">I", zlib.crc32(body))


def messages(data: bytes) -> Iterator[tuple[dict[str, str], bytes]]:
    """The headers, with their names as they are, and the payload of each message of a sound stream."""
    while data:
        total, size = struct.unpack(">II", data[:8])
        headers: dict[str, str] = {}
        encoded = data[12 : 12 + size]
        while encoded:
            end = 1 + encoded[0]
            (length,) = struct.unpack(">H", encoded[end + 1 : end + 3])
            headers[encoded[1:end].decode()] = encoded[end + 3 : end + 3 + length].decode()
            encoded = encoded[end + 3 + length :]
        yield headers, data[12 + size : total - 4]
        data = data[total:]


def event(kind: str, payload: Any) -> bytes:
    """One event, its type in the headers."""
    data = json.dumps(payload).encode()
    return message(data, event_type=kind, content_type="application/json", message_type="event")


def exception(kind: str, payload: Any) -> bytes:
    """One exception, its type in the headers."""
    data = json.dumps(payload).encode()
    return message(data, exception_type=kind, content_type="application/json", message_type="exception")
