"""Messages on the pipes between the proxy and its workers: a length of four bytes, then the content."""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct(">I")


def write(pipe: IO[bytes], message: bytes) -> None:
    """Write a message."""
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or None at the end of the pipe, also in the middle of a message."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None
