"""Bodies and values that are packed: gzip, deflate, base64."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable

#: What one packed text may grow to; more is a bomb, and is left to the scanner to refuse.
MAX_UNPACKED = 64 << 20

#: Shorter runs decode to less than any form needs.
BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")


def from_base64(run: str) -> bytes | None:
    """A run of base64 or base64url letters as bytes; None where it is none."""
    text = run.rstrip("=")
    if len(text) % 4 == 1:
        return None
    try:
        return base64.b64decode(
            text + "=" * (-len(text) % 4), altchars=b"-_" if _is_urlsafe(text) else None, validate=True
        )
    except (binascii.Error, ValueError):
        return None


def to_base64(data: bytes, like: str) -> str:
    """``data`` in the letters and the padding of ``like``."""
    text = (base64.urlsafe_b64encode if _is_urlsafe(like) else base64.b64encode)(data).decode().rstrip("=")
    return text + "=" * (len(like) - len(like.rstrip("=")))


def _is_urlsafe(text: str) -> bool:
    return "-" in text or "_" in text


def repacked(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """gzip or zlib data with its content changed, of the same length where that can be had (gzip); others unchanged."""
    if data[:2] == b"\x1f\x8b":
        content = _inflated(data, 31)
        pack = _gzipped
    elif data[:1] == b"\x78" and len(data) > 2 and int.from_bytes(data[:2], "big") % 31 == 0:
        content = _inflated(data, 15)
        pack = _zlibbed
    else:
        return data
    if content is None:
        return data
    changed = change(content)
    return data if changed == content else pack(changed, len(data))


def is_packed(data: bytes) -> bool:
    """Whether the bytes begin as gzip does."""
    return data[:2] == b"\x1f\x8b"


def _inflated(data: bytes, wbits: int) -> bytes | None:
    content = b""
    while data:  # members of gzip may follow each other
        machine = zlib.decompressobj(wbits)
        try:
            content += machine.decompress(data, MAX_UNPACKED - len(content) + 1)
        except zlib.error:
            return None
        if not machine.eof or len(content) > MAX_UNPACKED:
            return None
        data = machine.unused_data
        if data and wbits != 31:
            return None
    return content


def _gzipped(content: bytes, length: int) -> bytes:
    """gzip data of ``length`` bytes if the content fits: a file name of blanks fills what is left (RFC 1952)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = packer.compress(content) + packer.flush()
    tail = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    missing = length - 10 - len(body) - len(tail)
    name = b" " * (missing - 1) + b"\0" if missing > 0 else b""
    return b"\x1f\x8b\x08" + (b"\x08" if name else b"\0") + b"\0\0\0\0\x02\xff" + name + body + tail


def _zlibbed(content: bytes, length: int) -> bytes:
    return zlib.compress(content, 9)
