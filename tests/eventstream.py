"""AWS event streams made by hand: messages with their headers and checksums."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any


def message(payload: bytes, **headers: str) -> bytes:
    """One message with its lengths and checksums; `_` in a header's name represents the dash, a `:` goes before."""
    spelled = b""
    for name, value in headers.items():
        key, text = f":{name.replace('_', '-')}".encode(), value.encode()
        spelled += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(text)) + text
    prelude = struct.pack(">II", 16 + len(spelled) + len(payload), len(spelled))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + spelled + payload
    return body + struct.pack(">I", zlib.crc32(body))


def event(kind: str, payload: Any) -> bytes:
    """One event, its type in the headers."""
    data = json.dumps(payload).encode()
    return message(data, event_type=kind, content_type="application/json", message_type="event")


def exception(kind: str, payload: Any) -> bytes:
    """One exception, its type in the headers."""
    data = json.dumps(payload).encode()
    return message(data, exception_type=kind, content_type="application/json", message_type="exception")
