"""Decompression of files as streams, chosen by their first bytes.

gzip, bzip2 and xz are in Python's standard library. Zstandard is there from Python 3.14 on; before that,
`backports.zstd`, a dependency of the extra ``cassettes``, provides the same module.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from importlib import import_module
from io import RawIOBase
from typing import Any

from ..errors import UnreadableSource

#: Modules that unpack Zstandard. The first installed one is used.
ZSTD = ("compression.zstd", "backports.zstd")
#: Suffixes of compressed files. The part before them names the format.
PACKED_SUFFIXES = (".gz", ".zst", ".zstd", ".bz2", ".xz")
#: Exceptions that reading damaged data raises.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


class _Zstd(RawIOBase):
    """Zstandard frames as a stream. Raises EOFError instead of the module's own error class."""

    def __init__(self, raw: Any) -> None:
        module = next((found for name in ZSTD if (found := imported(name)) is not None), None)
        if module is None:
            hint = "pip install 'toolparity[cassettes]', or unpack the file with zstd -d"
            raise UnreadableSource("the file is compressed with zstd", hint=hint)
        self._error: type[Exception] = module.ZstdError
        self._file = module.ZstdFile(raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count: int = self._file.readinto(buffer)
        except self._error as error:
            raise EOFError(str(error)) from None
        return count


def imported(name: str) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _gzip(raw: Any) -> Any:
    return gzip.GzipFile(fileobj=raw)


#: First bytes -> function that opens a decompressing stream.
_MAGIC: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", _gzip),
    (b"\x28\xb5\x2f\xfd", _Zstd),
    *((bytes((first,)) + b"\x2a\x4d\x18", _Zstd) for first in range(0x50, 0x60)),  # skippable frames
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
LONGEST_MAGIC = max(len(magic) for magic, _ in _MAGIC)


def unpacker(head: bytes) -> Callable[[Any], Any] | None:
    """Return the function that opens a file with these first bytes, or None if it is not compressed."""
    return next((unpack for magic, unpack in _MAGIC if head.startswith(magic)), None)
