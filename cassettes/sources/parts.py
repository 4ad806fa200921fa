"""Reads the parts of the input, and makes the places in them absolute."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..errors import UnreadableSource
from . import databases, lines, tables
from .entries import with_excerpt
from .files import opened
from .formats import shows_traffic
from .model import Exchange, FilePart, Problem, ReadItem
from .readers import file_items, line_items, row_items

_NUMBERED = re.compile(r"(.*[#:])(\d+)", re.DOTALL)


class PartReader:
    """Yields the exchanges and problems of a part, in order, once.

    ``lines``: the number of lines or rows that were read, blank ones included; 0 for a file of another form.
    ``detailed``: yield also the entries without traffic, and excerpts of the lines and rows of problems.
    """

    def __init__(self, part: FilePart, wire: str | None = None, *, detailed: bool = False) -> None:
        self.lines = 0
        self._detailed = detailed
        self._part = part
        self._wire = wire

    def __iter__(self) -> Iterator[ReadItem]:
        items = self._items()
        if self._detailed:
            return items
        return (item for item in items if not (isinstance(item, Problem) and item.skipped))

    def _items(self) -> Iterator[ReadItem]:
        part = self._part
        try:
            if part.format == "lines":
                yield from self._lines()
            elif part.format == "database":
                yield from self._rows(databases.rows((part.content or b"").decode(), part.columns))
            else:
                yield from self._file()
        except UnreadableSource as error:
            at_line = int(error.where) if error.where.isdigit() else None
            yield Problem(part.path, error.what, error.hint, at_line, not part.walked or shows_traffic(part.path))

    def _lines(self) -> Iterator[ReadItem]:
        part, wire = self._part, self._wire
        for number, line in lines.of_part(part):
            self.lines += 1
            if line is None:
                yield lines.too_long(part.path, number)
            elif not line.isspace():
                yield from self._with_excerpts(line_items(part, number, line, wire), line)

    def _file(self) -> Iterator[ReadItem]:
        part, wire = self._part, self._wire
        groups = None if part.end is None else range(part.start, part.end)
        with opened(part.path, part.content) as file:
            is_table = part.format == "table"
            items = self._rows(tables.rows(file, part.columns, groups)) if is_table else file_items(part, file, wire)
            for item in items:
                if wire is not None and isinstance(item, Exchange) and item.wire is None:
                    item.wire = wire
                yield item

    def _rows(self, rows: Iterator[dict[str, Any]]) -> Iterator[ReadItem]:
        part = self._part
        for number, row in enumerate(rows, (part.before or 0) + 1):
            self.lines += 1
            yield from self._with_excerpts(row_items(part, number, None, row, self._wire), row)

    def _with_excerpts(self, items: Iterator[ReadItem], entry: bytes | dict[str, Any]) -> Iterator[ReadItem]:
        """Yield items; if details are wanted, problems with the beginning of the entry in which they are."""
        return map(partial(with_excerpt, entry), items) if self._detailed else items


class Numbering:
    """Counts the lines before each part. Parts come in the order of `split_files`."""

    def __init__(self) -> None:
        self._before = 0

    def offset(self, part: FilePart, lines: int) -> int:
        """Return what `moved` adds to the places in a part. ``lines``: those of its reader."""
        before = self._before if part.before is None else part.before
        self._before = before + lines
        return before if part.before is None else 0


def moved(place: str, offset: int) -> str:
    """Return a place, "path#7" or "path:7", with ``offset`` added to its number. Other places stay unchanged."""
    match = _NUMBERED.fullmatch(place) if offset else None
    return place if match is None else f"{match[1]}{int(match[2]) + offset}"
