"""Engines for SQLite and PostgreSQL with the same transaction modes and the same JSON encoding.

By default a transaction writes. On SQLite it takes the only write lock when it begins, so that two transactions wait
for each other instead of failing half-way. The execution option ``turn_log`` selects another mode: "read" only reads,
from one snapshot; "write" does not wait for the locks of others in PostgreSQL; "soft" neither waits for them nor for
the disk, and may be lost if the machine (not the program) crashes.
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
from ..secrets.names import Certainty, certainty_of
from .tables import turns

#: Default seconds to wait for a database that does not answer.
PATIENCE = 30.0
#: Seconds after which PostgreSQL ends a transaction whose client sends nothing, and releases its locks.
IDLE = 10.0
#: libpq keywords that detect a server whose machine is unreachable. The server detects a client in the same way.
_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
#: SQLite's codes for a file that another connection has locked (SQLITE_BUSY, SQLITE_LOCKED).
_LOCKED = (5, 6)
#: Seconds between two attempts to lock a file.
_PAUSE = 0.01
#: PostgreSQL's SQLSTATE for a lock that another transaction holds.
_LOCK_NOT_AVAILABLE = "55P03"
#: Prefixes of PostgreSQL's SQLSTATEs after which the same transaction may succeed: no connection, a session that the
#: server ended because its client stopped, serialization failure, deadlock, lock not available, too many connections, a
#: server that stops or starts.
_TRANSIENT = ("08", "25P03", "40001", "40P01", _LOCK_NOT_AVAILABLE, "53300", "57P0")
#: Milliseconds that a write waits for a lock of another transaction before it lets other turns pass.
_LOCK_WAIT = 50
_WAIT = "SET LOCAL lock_timeout TO 0"
#: Key in the `info` of a connection whose session is set up.
_SET = "turn_log"
_END_IDLE = sa.text("""
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE relation = CAST(:table AS regclass) AND mode = 'RowExclusiveLock' AND granted
    AND datname = current_database() AND usename = current_user AND wait_event_type = 'Client'
    AND state_change < clock_timestamp() - make_interval(secs => :idle)
""")
#: Number of threads for reads and for writes outside the queue.
READERS = 4


def make_engine(url: str | URL | Path, patience: float = PATIENCE, idle: float = IDLE) -> Engine:
    """Return an engine for a database URL or for the path of a SQLite file. It does not connect yet.

    ``patience``: seconds to wait for a connection, and for a lock on the SQLite file. ``idle``: see `IDLE`. Raises
    LogFailed for an invalid URL, an in-memory database or an unsupported database, and MissingExtra if PostgreSQL needs
    psycopg.
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
        "connect_timeout": max(2, math.ceil(patience / 2)),  # so that there is time for a second attempt
        "tcp_user_timeout": math.ceil(patience * 500),
        **_KEEPALIVES,
    }
    waits = {name: value for name, value in waits.items() if name not in parsed.query}
    engine = sa.create_engine(parsed, connect_args=waits, pool_size=READERS + 2, hide_parameters=True, **json)
    settings = _settings(idle)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if _SET not in connection.info:
            used: Any = connection.connection.dbapi_connection
            used.autocommit = True  # a rollback would undo the settings
            used.execute(settings)
            used.autocommit = False
            connection.info[_SET] = True
        _postgres_begin(connection)

    return engine


def _settings(idle: float) -> str:
    """Return the SQL that sets up a session, except for settings in the URL.

    The server then ends the session of a client that stops or vanishes in a transaction, and releases its locks.
    """
    values = {
        "idle_in_transaction_session_timeout": math.ceil(idle * 1000),
        "tcp_user_timeout": math.ceil(idle * 1000),
        "lock_timeout": _LOCK_WAIT,
        **{f"tcp_{name}": value for name, value in _KEEPALIVES.items()},
    }
    rows = ", ".join(f"('{name}', '{value}')" for name, value in values.items())
    return (
        "SELECT set_config(name, value, false) FROM pg_settings"
        f" JOIN (VALUES {rows}) AS wanted (name, value) USING (name) WHERE source <> 'client'"
    )


def end_idle(connection: Connection, idle: float) -> bool:
    """End the sessions that have written turns and have waited for their client for ``idle`` seconds since.

    Return whether there were any. PostgreSQL does this by itself (`IDLE`), except between the statements of a pipeline
    and while it sends a result.
    """
    return connection.dialect.name == "postgresql" and bool(
        connection.execute(_END_IDLE, {"table": turns.name, "idle": idle}).all()
    )


def address(url: URL) -> str:
    """Return the URL for messages, without its password and without the secrets in its query."""
    secret = [name for name in url.query if certainty_of(name) is not Certainty.NOTHING]
    return url.difference_update_query(secret).render_as_string(hide_password=True)


@contextmanager
def failing(engine: Engine) -> Iterator[None]:
    """Convert SQLAlchemy errors into LogFailed. `make_engine` hides the statements' values in the messages."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        where = address(engine.url)
        raise LogFailed(f"the turn log failed: {type(cause).__name__}: {cause}", where=where) from error


def is_locked(error: BaseException | None) -> bool:
    """Return whether another transaction locks a row or a table that this one needs, in PostgreSQL."""
    cause = error.__cause__ if isinstance(error, LogFailed) else error
    return isinstance(cause, DBAPIError) and getattr(cause.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def is_transient(error: BaseException | None) -> bool:
    """Return whether the failure is transient, so that the same transaction may succeed later."""
    cause = error.__cause__ if isinstance(error, LogFailed) else error
    if not isinstance(cause, DBAPIError):
        return False
    if cause.connection_invalidated:
        return True
    code = getattr(cause.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _LOCKED
    state = getattr(cause.orig, "sqlstate", "")
    if state is None:
        return isinstance(cause, OperationalError)
    return bool(state) and state.startswith(_TRANSIENT)


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
    synchronous = "NORMAL" if mode == "soft" else "FULL"
    if connection.info.get("synchronous") != synchronous:  # of the connection, not of the transaction
        connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
        connection.info["synchronous"] = synchronous
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("turn_log")
    if mode == "read":
        connection.exec_driver_sql(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; {_WAIT}")
    elif mode == "soft":
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
    elif mode is None:  # a migration, which loads modules while it runs
        connection.exec_driver_sql(f"{_WAIT}; SET LOCAL idle_in_transaction_session_timeout TO '1min'")
