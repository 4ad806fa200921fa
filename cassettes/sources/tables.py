"""Tables: CSV and Parquet files and SQLite databases, in which each row holds an entry.

Without columns, the row itself is the entry, as an object of its cells. One column holds the whole entry: a body, or a
row of another format. Several columns are the members of the entry, such as ``request`` and ``response``; a column that
has another name is written as ``request=req_body``. A column of a database may have the name of its table before it:
``logs.response``.
"""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from .files import MAX_RECORD_BYTES, STDIN, Opened, plain_name
from .json_text import parsed

PARQUET, SQLITE = b"PAR1", b"SQLite format 3\0"
#: How many rows of a Parquet file are in memory at a time.
_BATCH = 256
#: A column with the member that it holds.
_RENAMED = re.compile(r"([A-Za-z_]\w*)=(.+)")
#: A name of a column or member. Keys and other data are longer, or have other characters.
_NAME = re.compile(r"[^\W\d][\w .:/-]{0,31}")
#: The maximum length of a line or a cell of CSV in characters, of which `csv` keeps four bytes each.
_LONGEST = MAX_RECORD_BYTES // 4
_TEXT_TABLES = (".csv", ".tsv")


def is_table(head: bytes) -> bool:
    """Return whether a file is a binary table, by its first bytes."""
    return head.startswith((PARQUET, SQLITE))


def is_text_table(path: str) -> bool:
    """Return whether a file has the name of a table of text."""
    return plain_name(path).endswith(_TEXT_TABLES)


def row_groups(file: Opened) -> list[tuple[int, int]]:
    """Return rows and bytes of each row group of a Parquet file; nothing for other tables, and without pyarrow.

    Raises UnreadableSource if the file is damaged.
    """
    if not file.head.startswith(PARQUET) or find_spec("pyarrow") is None:
        return []
    with _parquet_file(file) as table:
        groups = (table.metadata.row_group(number) for number in range(table.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]


def rows(file: Opened, columns: tuple[str, ...], groups: range | None = None) -> Iterator[dict[str, Any]]:
    """Yield each row. ``groups``: row groups of a Parquet file, by default all.

    Raises UnreadableSource if the file is damaged, or has no such table or column.
    """
    if file.head.startswith(PARQUET):
        return _parquet(file, columns, groups)
    if file.head.startswith(SQLITE):
        return _sqlite(file.path, columns)
    return _csv(file)


def entry(row: dict[str, Any], columns: tuple[str, ...]) -> bytes | None:
    """Return the bytes of the entry in a row, or None if its columns are empty.

    Raises UnreadableSource if the row has no such column, or if a cell cannot be written as JSON.
    """
    named = [(member, _in_row(name, row)) for member, name in map(_named, columns)]
    names = {member or name: name for member, name in named}
    missing = [name for name in names.values() if name not in row]
    if missing:
        raise UnreadableSource(f"no column {missing[0]!r}", hint=f"one of {shown_names(row)}")
    if len(named) == 1 and not named[0][0]:
        cell = row[named[0][1]]
        if cell is None or isinstance(cell, (str, bytes)):
            return cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else cell
        return _encoded(cell)
    cells = {member: _parsed(row[name]) for member, name in (names or {name: name for name in row}).items()}
    return None if all(cell is None for cell in cells.values()) else _encoded(cells)


def shown_names(names: Iterable[str], most: int = 12) -> str:
    """Return names of columns or members for an error. Only what looks like a name is shown: others can be data."""
    listed = [name if _NAME.fullmatch(name) else "…" for name in map(str, names)]
    return ", ".join(dict.fromkeys(listed[:most])) + (", …" if len(listed) > most else "")


def column_name(column: str) -> str:
    """Return the name of a column without its table and without the member that it holds."""
    return _named(column)[1].rpartition(".")[2]


def _named(column: str) -> tuple[str, str]:
    """Return the member that a column holds, if it has another name, and the column: ``response=resp_body``."""
    renamed = _RENAMED.fullmatch(column)
    return (renamed[1], renamed[2]) if renamed else ("", column)


def _in_row(name: str, row: dict[str, Any]) -> str:
    return name if name in row else name.rpartition(".")[2]


def _parsed(cell: Any) -> Any:
    """Return the value of JSON text; other text and values unchanged."""
    return parsed(cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell)


def _encoded(value: Any) -> bytes:
    try:
        return json_codec.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableSource(f"a cell cannot be written as JSON: {error}") from None


def _csv(file: Opened) -> Iterator[dict[str, Any]]:
    """Yield the rows of a text file. Its delimiter is the one that its first line, the header, has most."""
    header = file.head.partition(b"\n")[0]
    delimiter = max(",;\t", key=lambda one: header.count(one.encode()))
    csv.field_size_limit(_LONGEST)  # by default 128 KB; it is one limit for the process
    text = TextIOWrapper(file.stream, "utf-8-sig", "surrogateescape", newline="")
    try:
        lines = csv.reader(iter(partial(text.readline, _LONGEST), ""), delimiter=delimiter, strict=True)
        names = next(lines, [])
        if not is_text_table(file.path) and len(names) == 1:
            raise UnreadableSource("not a table: neither CSV nor Parquet nor a SQLite database")
        if any(name.lstrip()[:1] in ("{", "[") or name.startswith("data:") for name in names):
            raise UnreadableSource(
                "the first row is not a header: a cell has JSON", hint="add the names of the columns"
            )
        if len({*names}) < len(names):
            raise UnreadableSource("two columns have the same name")
        for cells in lines:
            if len(cells) > len(names):
                raise UnreadableSource(f"a row has more cells than the header: {len(cells)} at line {lines.line_num}")
            row = {name: cell or None for name, cell in zip(names, cells, strict=False)}
            if row:
                yield row | dict.fromkeys(names[len(cells) :])
    except csv.Error as error:
        raise UnreadableSource(f"damaged CSV: {error}, at line {lines.line_num}") from None
    finally:
        text.detach()


def _parquet(file: Opened, columns: tuple[str, ...], groups: range | None) -> Iterator[dict[str, Any]]:
    with _parquet_file(file) as table:
        names = dict.fromkeys(table.schema_arrow.names)
        wanted = [_in_row(_named(column)[1], names) for column in columns]
        present = wanted if columns and set(names).issuperset(wanted) else None
        chosen = range(table.num_row_groups) if groups is None else groups
        for batch in table.iter_batches(_BATCH, row_groups=list(chosen), columns=present):
            yield from batch.to_pylist()


@contextmanager
def _parquet_file(file: Opened) -> Iterator[Any]:
    """Open a Parquet file where it is, or in memory if its bytes cannot be read in any order."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise UnreadableSource("reading Parquet needs pyarrow", hint="pip install 'toolparity[parquet]'") from None
    try:
        in_place = file.size is not None and not file.compressed
        with parquet.ParquetFile(file.stream if in_place else pyarrow.BufferReader(file.read_all())) as table:
            yield table
    except pyarrow.ArrowException as error:
        raise UnreadableSource(f"damaged Parquet: {error}") from None


def _sqlite(path: str, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if path == STDIN:
        raise UnreadableSource("a database must be a file")
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            table = _table(database, columns)
            for row in database.execute(f'SELECT * FROM "{table.replace(chr(34), chr(34) * 2)}"'):
                yield dict(row)
    except sqlite3.Error as error:
        raise UnreadableSource(f"the database cannot be read: {error}") from None


def _table(database: sqlite3.Connection, columns: tuple[str, ...]) -> str:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return pick_table([str(row[0]) for row in database.execute(query)], columns)


def table_of(columns: tuple[str, ...]) -> str | None:
    """Return the name of the table that the columns name, or None."""
    return next((name.rpartition(".")[0] for _, name in map(_named, columns) if "." in name), None)


def pick_table(names: list[str], columns: tuple[str, ...]) -> str:
    """Return the table that the columns name, or the only one. Raises UnreadableSource if the database has no such."""
    named = table_of(columns)
    if named is None and len(names) == 1:
        return names[0]
    if named not in names:
        what = "the database has several tables" if named is None else f"no table {named!r}"
        what = what if names else "the database has no tables"
        raise UnreadableSource(what, hint=f"--column TABLE.COLUMN; tables: {', '.join(names) or 'none'}")
    return named
