"""Compressed files: recognized by their first bytes, unpacked as streams.

gzip, bzip2 and xz are in Python's library. Zstandard is from version 3.14 on; before, `backports.zstd` is the same
module, a dependency of the extra ``conformance``.
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

from toolparity.normalizer.errors import UnreadableSource

#: The modules that unpack Zstandard; the first that is installed counts.
ZSTD = ("compression.zstd", "backports.zstd")
#: Suffixes of compressed files: what is before them names the format.
PACKED_SUFFIXES = (".gz", ".zst", ".zstd", ".bz2", ".xz")
#: What reading damaged data raises.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


class _Zstd(RawIOBase):
    """Zstandard frames as a stream. The module's error is no error of Python's, and becomes an EOFError."""

    def __init__(self, raw: Any) -> None:
        module = next((found for name in ZSTD if (found := _imported(name)) is not None), None)
        if module is None:
            hint = f"pip install {ZSTD[-1]}, or unpack the file with zstd -d"
            raise UnreadableSource("the file is packed with zstd", hint=hint)
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


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _gzip(raw: Any) -> Any:
    return gzip.GzipFile(fileobj=raw)


#: First bytes -> what unpacks the stream that begins so.
_MAGIC: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", _gzip),
    (b"\x28\xb5\x2f\xfd", _Zstd),
    *((bytes((first,)) + b"\x2a\x4d\x18", _Zstd) for first in range(0x50, 0x60)),  # frames that are skipped
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
LONGEST_MAGIC = max(len(magic) for magic, _ in _MAGIC)


def unpacker(head: bytes) -> Callable[[Any], Any] | None:
    """What unpacks a file that begins with these bytes; None where it is not compressed."""
    return next((unpack for magic, unpack in _MAGIC if head.startswith(magic)), None)
