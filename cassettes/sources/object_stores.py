"""Files on object stores, addressed by URLs such as s3://bucket/logs/, read through fsspec.

fsspec comes with the extra ``s3``, together with obstore, which reads s3://. Where obstore is missing, the driver that
fsspec has for s3:// reads it. Other stores have other drivers: gcsfs reads gs://, adlfs reads abfs://. The drivers take
credentials and endpoints from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BufferedReader, RawIOBase
from typing import Any, TypeVar, cast

from ..errors import UnreadableSource
from . import s3

#: How many bytes are requested at a time. Larger requests waste more at the end of a range.
_REQUEST_BYTES = 4 * 1024 * 1024
_S3_PREFIXES = ("s3://", "s3a://")
#: What S3 answers, in an error of obstore.
_S3_ANSWER = re.compile(r"<Code>(?P<code>[^<]*)</Code>.*?<Message>(?P<message>[^<]*)</Message>", re.DOTALL)
#: How long a request took and how often it was repeated, in an error of obstore.
_TIMING = re.compile(r" in [\d.]+\w+(, after \d+ retries.*?)? +- ")

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
    """Return the store that a URL names, and the name of the file there."""
    if path.startswith(_S3_PREFIXES) and (own := _as_os_error(_s3_store)) is not None:
        return own, path[path.index("://") + 3 :].rstrip("/")
    try:
        fsspec = import_module("fsspec")
        store, name = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise UnreadableSource(f"no driver: {error}", hint="pip install 'toolparity[s3]'") from None
    except ValueError as error:
        raise UnreadableSource(f"no such object store: {error}") from None
    return store, name


def _s3_store() -> s3.S3Store | None:
    try:
        return s3.store()
    except ImportError:
        return None  # fsspec may have another driver


def _as_os_error(call: Callable[[], Result]) -> Result:
    """Call a function of a driver. Drivers raise errors of their libraries, for example for missing credentials."""
    try:
        return call()
    except (FileNotFoundError, TypeError):
        raise
    except OSError as error:
        if "\n" in str(error):
            raise OSError(_in_a_line(error)) from None
        raise
    except Exception as error:
        raise OSError(_in_a_line(error)) from None


def _in_a_line(error: Exception) -> str:
    """Return what an error says. The further lines of an error of obstore are the structures of its Rust code."""
    text = str(error)
    if answer := _S3_ANSWER.search(text):
        return f"{answer['message']} ({answer['code']})"
    kind = type(error)
    prefix = "" if kind.__module__.startswith("obstore") else f"{kind.__name__}: "
    return prefix + _TIMING.sub(": ", text.split("\n", 1)[0])
