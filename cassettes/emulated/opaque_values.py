"""Placeholders for values that only the provider can decode: signatures and encrypted content. They contain no data."""

from __future__ import annotations

import base64

from .script_player import Play


def noise(play: Play, what: str, size: int) -> bytes:
    """Return ``size`` deterministic bytes. ``what``: identifies the value within the answer."""
    return bytes.fromhex(play.hex(what, 2 * size))


def plain(play: Play, what: str, size: int) -> str:
    """Return ``size`` bytes in Base64 without padding, as xAI sends them."""
    return base64.b64encode(noise(play, what, size)).decode().rstrip("=")


def framed(play: Play, what: str, size: int) -> str:
    """Return ``size`` bytes inside a protobuf message in Base64, as Anthropic sends them."""
    return base64.b64encode(b"\x12" + _varint(size) + noise(play, what, size) + b"\x18\x01").decode()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
