"""Decoding and re-encoding of compressed or base64 data: gzip, deflate, zstd, base64."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable

from ..errors import UnreadableSource
from ..sources.bodies import unpacked
from ..sources.decompression import ZSTD, imported

#: Limit in bytes on decompressed data. Larger data may be a decompression bomb; the scanner refuses it.
MAX_UNPACKED = 64 << 20

#: Shorter runs decode to fewer bytes than any secret pattern needs.
BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
#: Hexadecimal digits of printable ASCII.
HEX_RUN = re.compile(r"(?<![0-9a-fA-F])(?:[2-7][0-9a-f]){16,}(?![0-9a-fA-F])")

_ZSTD_MARK = b"\x28\xb5\x2f\xfd"


def from_base64(run: str) -> bytes | None:
    """Decode a run of base64 or base64url letters; None if it is invalid."""
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
    """Encode ``data`` with the alphabet and the padding of ``like``."""
    text = (base64.urlsafe_b64encode if _is_urlsafe(like) else base64.b64encode)(data).decode().rstrip("=")
    return text + "=" * (len(like) - len(like.rstrip("=")))


def _is_urlsafe(text: str) -> bool:
    return "-" in text or "_" in text


def repacked(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Apply ``change`` to the content of gzip, zlib or zstd data; return other data unchanged.

    The result has the same length if possible, which is only the case for gzip.
    """
    content: bytes | None
    if data[:2] == b"\x1f\x8b":
        content = _inflated(data, 31)
        pack = _gzipped
    elif data[:1] == b"\x78" and len(data) > 2 and int.from_bytes(data[:2], "big") % 31 == 0:
        content = _inflated(data, 15)
        pack = _zlibbed
    elif data.startswith(_ZSTD_MARK):
        content = _of_zstd(data)
        pack = _zstd
    else:
        return data
    if content is None:
        return data
    changed = change(content)
    return data if changed == content else pack(changed, len(data))


def is_packed(data: bytes) -> bool:
    """Return whether the bytes begin like gzip or zstd."""
    return data.startswith((b"\x1f\x8b", _ZSTD_MARK))


def _inflated(data: bytes, wbits: int) -> bytes | None:
    content = b""
    while data:  # gzip allows several concatenated members
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


def _of_zstd(data: bytes) -> bytes | None:
    try:
        return unpacked(data, "zstd")
    except UnreadableSource:  # damaged, or no module: the scanner refuses it
        return None


def _zstd(content: bytes, length: int) -> bytes:
    module = next(found for name in ZSTD if (found := imported(name)) is not None)
    return bytes(module.compress(content))


def _gzipped(content: bytes, length: int) -> bytes:
    """Return gzip data of ``length`` bytes, if the content fits. A file name of blanks is the padding (RFC 1952)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = packer.compress(content) + packer.flush()
    tail = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    missing = length - 10 - len(body) - len(tail)
    name = b" " * (missing - 1) + b"\0" if missing > 0 else b""
    return b"\x1f\x8b\x08" + (b"\x08" if name else b"\0") + b"\0\0\0\0\x02\xff" + name + body + tail


def _zlibbed(content: bytes, length: int) -> bytes:
    return zlib.compress(content, 9)
