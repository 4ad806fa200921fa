"""Files on object stores, addressed by URLs such as s3://bucket/logs/, read through fsspec.

fsspec comes with the extra ``s3``, together with the driver of S3. Other stores have other drivers: gcsfs reads gs://,
adlfs reads abfs://. The drivers take credentials and endpoints from the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from io import BufferedReader, RawIOBase
from typing import Any, TypeVar, cast

from ..errors import UnreadableSource

#: How many bytes are requested at a time. Larger requests waste more at the end of a range.
_REQUEST_BYTES = 4 * 1024 * 1024

Result = TypeVar("Result")


def is_url(path: str) -> bool:
    """Return whether a path is the URL of a file on an object store."""
    return "://" in path


def open_url(path: str, buffer_bytes: int) -> BufferedReader:
    """Open a file. Raises OSError, and UnreadableSource if the driver is not installed."""
    store, name = _store(path)
    file = _as_os_error(lambda: store.open(name, "rb", block_size=_REQUEST_BYTES))
    return BufferedReader(cast("RawIOBase", _Remote(file)), buffer_bytes)


def size_of_url(path: str) -> int | None:
    """Return the size of a file in bytes, or None if the file does not exist or the URL has no driver."""
    try:
        store, name = _store(path)
        return int(_as_os_error(lambda: store.size(name)))
    except (OSError, TypeError, UnreadableSource):
        return None


def is_folder_url(path: str) -> bool:
    """Return whether a URL is the beginning of the names of other files. Raises as `open_url`."""
    store, name = _store(path)
    return bool(_as_os_error(lambda: store.isdir(name)))


def walk_url(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, folders, names) like `os.walk`, with URLs as folders. The lists may be changed."""
    store, name = _store(path)
    prefix = path[: path.index("://") + 3]
    walk = _as_os_error(lambda: iter(store.walk(name)))
    while (entry := _as_os_error(lambda: next(walk, None))) is not None:
        folder, folders, names = entry
        yield f"{prefix}{folder.rstrip('/')}", folders, names


class _Remote(RawIOBase):
    """A file of fsspec as a raw file, whose errors are all OSError."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        data = _as_os_error(lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _store(path: str) -> tuple[Any, str]:
    try:
        fsspec = import_module("fsspec")
        store, name = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise UnreadableSource(f"no driver: {error}", hint="pip install 'toolparity[s3]'") from None
    except ValueError as error:
        raise UnreadableSource(f"no such object store: {error}") from None
    return store, name


def _as_os_error(call: Callable[[], Result]) -> Result:
    """Call a function of a driver. Drivers raise errors of their libraries, for example for missing credentials."""
    try:
        return call()
    except (OSError, TypeError):
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
