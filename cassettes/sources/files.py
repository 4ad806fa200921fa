"""Walking directories in a stable order, and opening files as streams, decompressed according to their first bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import cast

from ..errors import UnreadableSource
from .decompression import DAMAGED, LONGEST_MAGIC, PACKED_SUFFIXES, unpacker

#: Far above any real exchange. A longer "line" means that the file is not made of lines.
MAX_RECORD_BYTES = 256 * 1024 * 1024
HEAD_BYTES = 64 * 1024
#: The path that means standard input.
STDIN = "-"
_IGNORED = frozenset(("__pycache__", "node_modules"))


class Opened:
    """An open file. ``head``: its first bytes. ``stream``: its content from the start."""

    def __init__(self, path: str, raw: BufferedReader) -> None:
        self.path = path
        self._raw = raw
        unpack = unpacker(raw.peek(LONGEST_MAGIC))
        self.stream = raw if unpack is None else BufferedReader(cast("RawIOBase", unpack(raw)), HEAD_BYTES)
        self.head = self.stream.peek(HEAD_BYTES)[:HEAD_BYTES]

    def consumed(self) -> int:
        """Return the bytes read from disk so far, for progress display; 0 if unknown, as for a pipe."""
        try:
            return self._raw.tell()
        except OSError:
            return 0

    def read_all(self) -> bytes:
        """Return the whole content. Raises UnreadableSource above MAX_RECORD_BYTES."""
        data = self.stream.read(MAX_RECORD_BYTES + 1)
        if len(data) > MAX_RECORD_BYTES:
            raise UnreadableSource(f"longer than {MAX_RECORD_BYTES >> 20} MB", hint="split it, or record JSON lines")
        return data


@contextmanager
def opened(path: str, content: bytes | None = None) -> Iterator[Opened]:
    """Open a file, or its ``content`` if it was already read.

    Every I/O or decompression error, also one during reading, becomes UnreadableSource.
    """
    try:
        if content is not None:
            yield Opened(path, BufferedReader(cast("RawIOBase", BytesIO(content)), HEAD_BYTES))
            return
        if path == STDIN:
            piped = BufferedReader(cast("RawIOBase", sys.stdin.buffer), HEAD_BYTES)
            try:
                yield Opened(path, cast("BufferedReader", piped))
            finally:
                piped.detach()  # do not close stdin
            return
        with open(path, "rb", buffering=HEAD_BYTES) as raw:
            yield Opened(path, cast("BufferedReader", raw))
    except FileNotFoundError:
        raise UnreadableSource("the file does not exist") from None
    except DAMAGED as error:
        raise UnreadableSource(f"damaged or truncated compressed data: {error}", hint="compress it again") from None
    except OSError as error:
        raise UnreadableSource(f"cannot be read: {error.strerror or error}") from None


def walk(path: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Yield (path, walked) for the file itself, or for every file with one of the suffixes below a directory, sorted.

    Hidden files and directories are skipped, and links to directories are not followed.
    """
    if not os.path.isdir(path):
        yield path, False
        return
    for folder, directories, names in os.walk(path):
        directories[:] = sorted(d for d in directories if d not in _IGNORED and not d.startswith("."))
        for name in sorted(names):
            path_found = os.path.join(folder, name)
            if not name.startswith(".") and plain_name(name).endswith(suffixes) and _is_file(path_found):
                yield path_found, True


def size_of(path: str, suffixes: tuple[str, ...]) -> int:
    """Return the bytes on disk, for progress display. Files without a known size count 0."""
    total = 0
    for file, _ in walk(path, suffixes):
        try:
            total += Path(file).stat().st_size
        except OSError:
            continue
    return total


def plain_name(path: str) -> str:
    """Return the path in lower case, without a compression suffix."""
    name = path.lower()
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # reading a pipe or a device might never end
    except OSError:
        return False
