"""Databases behind a URL of SQLAlchemy, such as ``postgresql+psycopg://host/logs``, in which each row holds an entry.

Rows are those of a table or view, in the order of the database, and mean the same as in `tables`. The path of a part is
the URL without its password, so that no place and no file has it; the content of the part is the whole URL.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from ..errors import UnreadableSource
from . import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Inspector

#: The databases that SQLAlchemy supports itself. Other packages register theirs.
_DIALECTS = frozenset(("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql"))
_URL = re.compile(r"([a-z][a-z0-9_]*)(?:\+[a-z0-9_]+)?://")
#: A password before a host, also one with an "@" that is not quoted; members of a query with a secret; and the whole
#: connection string of ODBC, in which the password may be quoted.
_PASSWORDS = re.compile(
    r"(://[^:/@]*:)(?:[^/]*(?=@)|[^@]*(?=@))"
    r"|([?&;][^=&;]*(?:password|passwd|pwd|passphrase|token|secret|key)=|[?&]odbc_connect=)[^&]*",
    re.IGNORECASE,
)
#: How many rows are in memory at a time.
_BATCH = 256


def is_url(path: str) -> bool:
    """Return whether a path is the URL of a database."""
    url = _URL.match(path)
    if url is None:
        return False
    registered = (entry.name.partition(".")[0] for entry in entry_points(group="sqlalchemy.dialects"))
    return url[1] in _DIALECTS or url[1] in registered


def without_password(url: str) -> str:
    """Return a URL that may be shown and stored."""
    return _PASSWORDS.sub(lambda found: f"{found[1] or found[2]}***", url)


def rows(url: str, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield each row. Raises UnreadableSource if the database cannot be read, or has no such table."""
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        raise UnreadableSource("reading a database needs SQLAlchemy", hint="pip install sqlalchemy") from None
    engine = _engine(url)
    try:
        with engine.connect() as connection:
            yield from _rows(connection, columns)
    except SQLAlchemyError as error:
        what = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise UnreadableSource(f"the database cannot be read: {what}") from None
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    import sqlalchemy as sa

    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise UnreadableSource("not a URL of SQLAlchemy", hint="DIALECT+DRIVER://USER@HOST/DATABASE") from None
    if "@" in (parsed.host or ""):  # the rest of the password, which errors of the driver would show
        raise UnreadableSource("the URL has an @ in its password", hint="write it as %40")
    file = parsed.database if parsed.get_backend_name() == "sqlite" else None
    if file is not None and not file.startswith("file:") and not os.path.exists(file):
        raise UnreadableSource("the file does not exist")  # SQLite would create it
    try:
        return sa.create_engine(parsed, poolclass=sa.NullPool)
    except ModuleNotFoundError as error:
        hint = f"pip install {error.name}, or name an installed driver: {parsed.get_backend_name()}+DRIVER://"
        raise UnreadableSource(f"the driver {error.name} is not installed", hint=hint) from None
    except sa.exc.NoSuchModuleError:
        raise UnreadableSource(f"unknown driver: {parsed.drivername}", hint="see SQLAlchemy's dialects") from None


def _rows(connection: Connection, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    import sqlalchemy as sa

    with warnings.catch_warnings():  # of types that SQLAlchemy does not know
        warnings.simplefilter("ignore", sa.exc.SAWarning)
        name, schema, present = _table(sa.inspect(connection), columns)
    wanted = [*map(tables.column_name, columns)]
    chosen: list[sa.ColumnElement[Any]] = [sa.column(column) for column in wanted]
    if not chosen or not present.issuperset(wanted):  # `tables.entry` reports a missing column
        chosen = [sa.literal_column("*")]
    query = sa.select(*chosen).select_from(sa.table(name, schema=schema))
    for row in connection.execution_options(yield_per=_BATCH).execute(query).mappings():
        yield dict(row)


def _table(database: Inspector, columns: tuple[str, ...]) -> tuple[str, str | None, set[str]]:
    """Return name, schema and columns of the table or view that the columns name, or of the only one."""
    named = tables.table_of(columns)
    schema, _, name = (named or "").rpartition(".")
    if not schema or not database.has_table(name, schema):
        names = sorted({*database.get_table_names(), *database.get_view_names()})
        schema, name = "", tables.pick_table(names, columns)
    return name, schema or None, {str(column["name"]) for column in database.get_columns(name, schema or None)}
