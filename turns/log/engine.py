"""Engines for SQLite and PostgreSQL with the same transaction modes and the same JSON encoding.

By default a transaction writes. On SQLite it takes the only write lock when it begins, so that two transactions wait
for each other instead of failing half-way. The execution option ``turn_log`` selects another mode: "read" only reads,
from one snapshot; "soft" writes without waiting for the disk, and may be lost if the machine (not the program) crashes.
"""

from __future__ import annotations

import importlib.util
import math
import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MissingExtra

from ..errors import LogFailed

#: Default seconds to wait for a database that does not answer.
PATIENCE = 30.0
#: libpq keywords that detect a server whose machine is unreachable.
_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
#: SQLite's codes for a file that another connection has locked (SQLITE_BUSY, SQLITE_LOCKED).
_LOCKED = (5, 6)
#: Seconds between two attempts to lock a file.
_PAUSE = 0.01
#: Prefixes of PostgreSQL's SQLSTATEs after which the same transaction may succeed: no connection, serialization
#: failure, deadlock, lock not available, too many connections, a server that stops or starts.
_TRANSIENT = ("08", "40001", "40P01", "55P03", "53300", "57P0")
#: Number of reader threads.
READERS = 4


def make_engine(url: str | URL | Path, patience: float = PATIENCE) -> Engine:
    """Return an engine for a database URL or for the path of a SQLite file. It does not connect yet.

    ``patience``: seconds to wait for a connection, and for a lock on the SQLite file. Raises LogFailed for an invalid
    URL, an in-memory database or an unsupported database, and MissingExtra if PostgreSQL needs psycopg.
    """
    parsed = _url(url)
    json = {"json_serializer": json_codec.text, "json_deserializer": json_codec.decode}
    if parsed.get_backend_name() == "sqlite":
        busy = {"timeout": patience}
        engine = sa.create_engine(parsed, connect_args=busy, pool_size=READERS + 1, hide_parameters=True, **json)
        event.listen(engine, "connect", _sqlite_connected)
        event.listen(engine, "begin", _sqlite_begin)
        return engine
    if importlib.util.find_spec("psycopg") is None:
        raise MissingExtra("a turn log in PostgreSQL needs psycopg", hint="pip install 'toolparity[postgres]'")
    waits = {
        "connect_timeout": max(2, math.ceil(patience)),
        "tcp_user_timeout": math.ceil(patience * 1000),
        **_KEEPALIVES,
    }
    waits = {name: value for name, value in waits.items() if name not in parsed.query}
    engine = sa.create_engine(parsed, connect_args=waits, pool_size=READERS + 1, hide_parameters=True, **json)
    event.listen(engine, "begin", _postgres_begin)
    return engine


@contextmanager
def failing(engine: Engine) -> Iterator[None]:
    """Convert SQLAlchemy errors into LogFailed. `make_engine` hides the statements' values in the messages."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        where = engine.url.render_as_string(hide_password=True)
        raise LogFailed(f"the turn log failed: {type(cause).__name__}: {cause}", where=where) from error


def is_transient(error: BaseException | None) -> bool:
    """Return whether the failure is transient, so that the same transaction may succeed later."""
    cause = error.__cause__ if isinstance(error, LogFailed) else error
    if not isinstance(cause, DBAPIError):
        return False
    if cause.connection_invalidated:
        return True
    if not isinstance(cause, OperationalError):
        return False
    code = getattr(cause.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _LOCKED
    state = getattr(cause.orig, "sqlstate", "")
    return state is None or (bool(state) and state.startswith(_TRANSIENT))


def cut(connection: Any) -> None:
    """Shut down the socket of a DBAPI connection, to end its wait for a server that does not answer.

    SQLite connections have no socket, and their waits end after the timeout.
    """
    if hasattr(connection, "fileno"):
        with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as known:
            known.shutdown(socket.SHUT_RDWR)


def _url(url: str | URL | Path) -> URL:
    if isinstance(url, Path):
        return URL.create("sqlite", database=str(url))
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        raise LogFailed("invalid database URL", hint="sqlite:///turns.db or postgresql://user@host/name") from None
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LogFailed(f"unsupported database: {backend}", hint="use SQLite or PostgreSQL")
    if parsed.database in (None, "", ":memory:") or "mode=memory" in str(parsed):
        raise LogFailed("a turn log cannot be in memory", hint="pass a file: sqlite:///turns.db")
    return parsed.set(drivername="sqlite")


def _sqlite_connected(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # stops the sqlite3 module from beginning transactions itself
    _use_wal(connection)
    connection.execute("PRAGMA foreign_keys = ON")


def _use_wal(connection: Any) -> None:
    """Switch the file to a write-ahead log. Raises sqlite3.OperationalError if it stays locked.

    SQLite does not wait here as it does elsewhere: of two connections that switch the same new file, one fails at once.
    """
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = monotonic() + patience / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _LOCKED or monotonic() > deadline:
                raise
        sleep(_PAUSE)


def _sqlite_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("turn_log")
    if mode == "read":
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA synchronous = {'NORMAL' if mode == 'soft' else 'FULL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("turn_log")
    if mode == "read":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    elif mode == "soft":
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
