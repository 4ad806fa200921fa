"""Readers that turn files into exchanges: recordings, cassettes of several recorders, HAR files, single bodies.

    for found in read("tests/cassettes"):
        if isinstance(found, Problem): ...       # one line: path, location, what, hint
        else: ...                                # an Exchange

A file's content never makes `read` raise: it yields a `Problem` instead. Where the format allows it, one record is in
memory at a time: JSON lines and YAML are read as streams; JSON and HAR files are held as bytes, their members parsed
one by one.

To add a format of recordings, write a module with ``exchange(source, line, item) -> Exchange`` and list it in a table
here. Formats of logs have a table in `logs`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from .files import size_of
from .formats import FORMATS, SUFFIXES
from .model import WEBSOCKET, Exchange, FilePart, Problem, ReadItem
from .parts import Numbering, PartReader, moved
from .splitting import split_files


def read(
    path: str | os.PathLike[str],
    wire: str | None = None,
    format: str | None = None,
    columns: tuple[str, ...] = (),
) -> Iterator[ReadItem]:
    """Yield every exchange of a file, or of all files below a directory, and a Problem for each unreadable location.

    ``wire``: the wire to assume where the content does not show it. ``format``: a key of `FORMATS`, by default the
    format that the name and the beginning of each file show. ``columns``: the columns of tables and of rows that hold
    an entry (see `tables`).
    """
    for part in split_files([os.fspath(path)], format=format, columns=columns):
        if isinstance(part, Problem):
            yield part
        else:
            yield from PartReader(part, wire)


def disk_size(paths: Iterable[str]) -> int:
    """Return the bytes on disk of everything that `split_files` would read."""
    return sum(size_of(path, tuple(SUFFIXES)) for path in paths)


__all__ = [
    "FORMATS",
    "SUFFIXES",
    "WEBSOCKET",
    "Exchange",
    "FilePart",
    "Numbering",
    "PartReader",
    "Problem",
    "ReadItem",
    "disk_size",
    "moved",
    "read",
    "split_files",
]
