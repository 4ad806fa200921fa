"""Splits input into parts that can be read independently, without reading more than the beginning of each file.

Plain JSON lines are cut into ranges of bytes, and Parquet files into ranges of row groups. Every other file is one
part. A pipe can be read only once, so its parts have their content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from ..errors import UnreadableSource
from . import databases, lines, logs, recordings, tables, traffic_marks, wiremock
from .files import Opened, is_readable, opened, walk
from .formats import FORMATS, SUFFIXES, reader_of, shows_traffic
from .model import FilePart, Problem

_Parts = Iterator[FilePart | Problem]


def split_files(
    paths: Iterable[str],
    part_bytes: int = 0,
    format: str | None = None,
    columns: tuple[str, ...] = (),
    *,
    unpack: bool = False,
) -> _Parts:
    """Split files and directories, in order, into parts of about ``part_bytes`` bytes; 0 means one part per file.

    ``format``: a key of `FORMATS`. ``columns``: see `read`. ``unpack``: cut compressed JSON lines as well. They are
    unpacked here, and the parts have their content, so they are for workers of this machine.
    """
    paths = [*paths]
    for path in paths:
        if databases.is_url(path):
            yield FilePart(databases.without_password(path), "database", content=path.encode(), columns=columns)
            continue
        empty = True
        try:
            for path_found, walked in walk(path, tuple(SUFFIXES)):
                empty = False
                if walked and not is_readable(path_found):
                    yield Problem(path_found, "neither a file nor a directory", fault=False)
                    continue
                if walked and wiremock.is_body_of_mapping(path_found, path):
                    continue
                try:
                    for piece in _split(path_found, walked, part_bytes, format, columns, unpack):
                        is_open = isinstance(piece, FilePart) and piece.log is not None and logs.is_open(piece.log)
                        yield replace(piece, beside=tuple(paths)) if is_open else piece
                except UnreadableSource as error:
                    yield Problem(path_found, error.what, error.hint, fault=not walked or shows_traffic(path_found))
        except UnreadableSource as error:
            empty = False
            yield Problem(path, error.what, error.hint)
        if empty:
            what = "the directory contains no file with a suffix of traffic"
            yield Problem(path, what, hint=f"looked for {' '.join(SUFFIXES)}", fault=False, folder=True)


def _split(
    path: str, walked: bool, part_bytes: int, format: str | None, columns: tuple[str, ...], unpack: bool
) -> _Parts:
    with opened(path) as file:
        reader, log, rule = _reader(file, format, bool(columns))
        if walked and tables.is_text_table(path) and not traffic_marks.in_file(file.head):
            raise UnreadableSource("no traffic in the first rows")
        size = file.size or 0
        whole = FilePart(path, reader, size=size, weight=size, walked=walked, log=log, columns=columns, rule=rule)
        if reader == "lines" and (file.size is None or (unpack and part_bytes and file.compressed)):
            yield from _blocks(file, whole, part_bytes)
        elif file.size is None:
            yield replace(whole, content=file.read_all())
        elif not part_bytes or file.compressed:
            yield whole
        else:
            yield from _CUTS.get(reader, _uncut)(file, whole, part_bytes)


def _reader(file: Opened, format: str | None, has_columns: bool) -> tuple[str, str | None, str]:
    """Return the reader of a file, the format of the log if the reader needs it, and the rule that recognized it."""
    reader, rule = reader_of(file) if format is None else (FORMATS[format], "--format names it")
    log = format if reader == "log" else None
    sequence = log if log is not None and logs.is_sequence(log) else None
    if format is None and reader in ("lines", "json", "body"):
        sequence = logs.sequence_of(file.head)
    if sequence is not None:
        return "log", sequence, rule if format is not None else f"its first entry is one of {sequence}"
    if reader == "log":
        reader = "lines" if recordings.has_lines(file.head) else "json"
    if has_columns and reader == "body" and recordings.has_lines(file.head):
        reader = "lines"  # only the cells of the lines are entries
    return reader, log, rule


def _uncut(file: Opened, whole: FilePart, part_bytes: int) -> _Parts:
    yield whole


def _byte_ranges(file: Opened, whole: FilePart, part_bytes: int) -> _Parts:
    for start in range(0, whole.size, part_bytes):
        end = min(start + part_bytes, whole.size)
        is_last = end == whole.size
        yield replace(whole, start=start, end=end, is_last=is_last, weight=end - start, before=None if start else 0)


def _row_groups(file: Opened, whole: FilePart, part_bytes: int) -> _Parts:
    """Cut a Parquet file. Any other table is one part."""
    sizes = tables.row_groups(file)
    if not sizes:
        yield whole
    first = weight = before = rows = 0
    for number, (count, size) in enumerate(sizes, 1):
        weight += size
        rows += count
        if weight >= part_bytes or number == len(sizes):
            is_last = number == len(sizes)
            yield replace(whole, start=first, end=number, is_last=is_last, weight=weight, before=before)
            first, weight, before, rows = number, 0, before + rows, 0


def _blocks(file: Opened, whole: FilePart, part_bytes: int) -> _Parts:
    """Cut lines while they are read."""
    consumed = 0
    for before, block in lines.blocks(file.stream, part_bytes):
        if block is None:
            yield lines.too_long(file.path, before + 1)
            continue
        now = file.consumed()
        yield replace(whole, content=block, before=before, weight=now - consumed)
        consumed = now


_CUTS: dict[str, Callable[[Opened, FilePart, int], _Parts]] = {"lines": _byte_ranges, "table": _row_groups}
