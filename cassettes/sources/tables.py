"""Tables: Parquet files and SQLite databases, in which each row holds an entry.

Without columns, the row itself is the entry, as an object of its cells. One column holds the whole entry: a body, or a
row of another format. Several columns are the members of the entry, such as ``request`` and ``response``. A column of a
database may have the name of its table before it: ``logs.response``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from .files import STDIN, Opened

PARQUET, SQLITE = b"PAR1", b"SQLite format 3\0"
#: How many rows of a Parquet file are in memory at a time.
_BATCH = 256


def is_table(head: bytes) -> bool:
    """Return whether a file is a table, by its first bytes."""
    return head.startswith((PARQUET, SQLITE))


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
    raise UnreadableSource("neither a Parquet file nor a SQLite database")


def entry(row: dict[str, Any], columns: tuple[str, ...]) -> bytes | None:
    """Return the bytes of the entry in a row, or None if its columns are empty.

    Raises UnreadableSource if the row has no such column, or if a cell cannot be written as JSON.
    """
    names = [column.rpartition(".")[2] if column not in row else column for column in columns]
    missing = [name for name in names if name not in row]
    if missing:
        raise UnreadableSource(f"no column {missing[0]!r}", hint=f"one of {', '.join(map(str, row))}")
    if len(names) == 1:
        cell = row[names[0]]
        if cell is None or isinstance(cell, (str, bytes)):
            return cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else cell
        return _encoded(cell)
    cells = {name: _parsed(row[name]) for name in names or row}
    return None if all(cell is None for cell in cells.values()) else _encoded(cells)


def _parsed(cell: Any) -> Any:
    """Return the value of JSON text; other text and values unchanged."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if isinstance(cell, str) and cell.lstrip()[:1] in ("{", "["):
        try:
            return json_codec.decode(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _encoded(value: Any) -> bytes:
    try:
        return json_codec.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableSource(f"a cell cannot be written as JSON: {error}") from None


def _parquet(file: Opened, columns: tuple[str, ...], groups: range | None) -> Iterator[dict[str, Any]]:
    with _parquet_file(file) as table:
        names = set(table.schema_arrow.names)
        present = [column for column in columns if column in names] or None
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
    return next((column.rpartition(".")[0] for column in columns if "." in column), None)


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
