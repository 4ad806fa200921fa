"""Messages on the pipes between the proxy and its workers: a length of four bytes, then the content."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO

_LENGTH = struct.Struct(">I")


def framed(message: bytes) -> bytes:
    """Return the bytes of a message."""
    return _LENGTH.pack(len(message)) + message


def write(pipe: IO[bytes], message: bytes) -> None:
    """Write a message."""
    pipe.write(framed(message))
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or None at the end of the pipe, also in the middle of a message."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def messages(descriptor: int) -> Iterator[bytes | None]:
    """Yield the messages of a pipe until its end, and None whenever the next one must be waited for."""
    waiting = bytearray()
    while data := os.read(descriptor, 1 << 20):
        waiting += data
        while len(waiting) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(waiting)[0]
            if len(waiting) < end:
                break
            yield bytes(waiting[_LENGTH.size : end])
            del waiting[:end]
        yield None
