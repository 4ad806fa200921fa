"""Walking directories in a stable order, and opening files as streams, decompressed according to their first bytes."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO, RawIOBase
from typing import cast

from ..errors import UnreadableSource
from . import object_stores
from .decompression import DAMAGED, LONGEST_MAGIC, PACKED_SUFFIXES, unpacker

#: Far above any real exchange. A longer "line" means that the file is not made of lines.
MAX_RECORD_BYTES = 256 * 1024 * 1024
HEAD_BYTES = 64 * 1024
#: The path that means standard input.
STDIN = "-"
_IGNORED = frozenset(("__pycache__", "node_modules"))
_DIGITS = re.compile(r"(\d+)")
#: The end of the name of a file that was rotated.
_ROTATED = re.compile(r"[.-](?:\d+|\d{4}-\d\d-\d\d.*)\Z")


class Opened:
    """An open file. ``head``: its first bytes. ``stream``: its content from the start. ``compressed``: it is unpacked.

    ``size``: its size on disk in bytes, None for a pipe and for content that was read already.
    """

    def __init__(self, path: str, raw: BufferedReader, size: int | None = None) -> None:
        self.path = path
        self.size = size
        self._raw = raw
        unpack = unpacker(raw.peek(LONGEST_MAGIC))
        self.compressed = unpack is not None
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
    with _readable_errors():
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
        with _open(path) as raw:
            yield Opened(path, raw, size_on_disk(path))


@contextmanager
def opened_at(path: str, start: int, size: int) -> Iterator[BufferedReader]:
    """Open an uncompressed file at a byte. ``size``: the size in bytes that it must still have, at least.

    Every I/O error, also one during reading, becomes UnreadableSource.
    """
    with _readable_errors(), _open(path) as raw:
        now = size_on_disk(path) or 0
        if now < size:
            raise UnreadableSource(
                f"the file became shorter while it was read: {now:,} instead of {size:,} bytes", hint="read a copy"
            )
        raw.seek(start)
        yield raw


def size_on_disk(path: str) -> int | None:
    """Return the size of a file in bytes, or None for what can be read only once, such as a pipe."""
    if object_stores.is_url(path):
        return object_stores.size_of_url(path)
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size if path != STDIN and stat.S_ISREG(status.st_mode) else None


def _open(path: str) -> BufferedReader:
    if object_stores.is_url(path):
        return object_stores.open_url(path, HEAD_BYTES)
    return cast("BufferedReader", open(path, "rb", buffering=HEAD_BYTES))


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if error.filename == "":
            raise UnreadableSource("an empty path: is a variable not set?") from None
        raise UnreadableSource("the file does not exist") from None
    except DAMAGED as error:
        raise UnreadableSource(f"damaged or truncated compressed data: {error}", hint="compress it again") from None
    except OSError as error:
        raise UnreadableSource(f"cannot be read: {error.strerror or error}") from None


def walk(path: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Yield (path, walked) for the file itself, or for every file below a directory that its name permits, in order.

    A name permits it with one of the suffixes, also before the number or date of a rotation (`traffic.jsonl.1`), with
    `.log`, or without a suffix (`000000.gz`). The order is that of the names, with numbers in them by value: 9.json
    comes before 10.json. Hidden files and directories are skipped. Links to directories are not followed, but yielded,
    as devices and pipes are: see `is_readable`. Raises UnreadableSource if an object store does not list its files.
    """
    if not is_folder(path):
        yield path, False
        return
    remote = object_stores.is_url(path)
    for folder, directories, names in _walk_url(path) if remote else os.walk(path):
        directories[:] = sorted((d for d in directories if d not in _IGNORED and not d.startswith(".")), key=_order)
        links = [d for d in directories if not remote and os.path.islink(os.path.join(folder, d))]
        yield from ((os.path.join(folder, name), True) for name in links)
        for name in sorted(names, key=_order):
            path_found = f"{folder.rstrip('/')}/{name}" if remote else os.path.join(folder, name)
            if name.startswith(".") or not _is_permitted(plain_name(name), suffixes):
                continue
            yield path_found, True


def _is_permitted(name: str, suffixes: tuple[str, ...]) -> bool:
    name = _ROTATED.sub("", name)
    return name.endswith((*suffixes, ".log")) or "." not in name


def _walk_url(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    try:
        yield from object_stores.walk_url(path)
    except OSError as error:
        raise UnreadableSource(f"cannot be listed: {error.strerror or error}") from None


def is_folder(path: str) -> bool:
    """Return whether a path is that of a directory. An object store that cannot be reached has none."""
    if object_stores.is_url(path):
        try:
            return object_stores.is_folder_url(path)
        except (OSError, UnreadableSource):
            return False  # opening the path as a file reports the error
    return os.path.isdir(path)


def position_of(path: str) -> tuple[tuple[bool, tuple[list[str], list[int], str]], ...]:
    """Return a sort key by which paths of files have the order of `walk`: the files of a folder before its folders."""
    *folders, name = path.replace(os.sep, "/").split("/")
    return (*((True, _order(folder)) for folder in folders), (False, _order(name)))


def _order(name: str) -> tuple[list[str], list[int], str]:
    """Return a sort key by which numbers in names count by value."""
    parts = _DIGITS.split(name)
    return parts[::2], [int(digits) for digits in parts[1::2]], name


def size_of(path: str, suffixes: tuple[str, ...]) -> int:
    """Return the bytes on disk, for progress display. Files without a known size count 0."""
    total = 0
    with suppress(UnreadableSource):  # reading the files reports the error
        for file, _ in walk(path, suffixes):
            total += size_on_disk(file) or 0
    return total


def plain_name(path: str) -> str:
    """Return the path in lower case, without a compression suffix."""
    name = path.lower()
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


def is_readable(path: str) -> bool:
    """Return whether a path found in a directory is a file: reading a pipe or a device might never end."""
    if object_stores.is_url(path):
        return True
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
