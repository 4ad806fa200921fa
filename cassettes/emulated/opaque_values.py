"""Values that only their provider could open: signatures, encrypted contents. Here they hold nothing."""

from __future__ import annotations

import base64

from .script_player import Play


def noise(play: Play, what: str, size: int) -> bytes:
    """Bytes that stand for one thing of an answer, always the same."""
    return bytes.fromhex(play.hex(what, 2 * size))


def plain(play: Play, what: str, size: int) -> str:
    """Base64 without padding, as xAI sends it. ``size`` in bytes."""
    return base64.b64encode(noise(play, what, size)).decode().rstrip("=")


def framed(play: Play, what: str, size: int) -> str:
    """Base64 of a message with the sealed bytes and a mark behind them, as Anthropic sends it. ``size`` in bytes."""
    return base64.b64encode(b"\x12" + _varint(size) + noise(play, what, size) + b"\x18\x01").decode()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
