"""Engines for SQLite and PostgreSQL that behave alike: transactions that begin when they are said to, JSON as it was.

Transactions write, and take SQLite's only write lock at once, so that two of them wait for each other instead of
failing half-way. The execution option ``turn_log`` says otherwise: "read" only reads (one snapshot); "soft" may be
lost when the machine (not the program) goes down, which saves waiting for the disk.
"""

from __future__ import annotations

import importlib.util
import math
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from ... import json_codec
from ...errors import LogFailed, MissingExtra

#: How long the program waits for a database that does not answer, in seconds.
PATIENCE = 30.0
#: Of a server whose machine is gone, as the keywords of libpq.
_GONE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
#: SQLite's codes for a file that another connection has locked.
_LOCKED = (5, 6)
#: SQLSTATEs of PostgreSQL after which the same transaction may succeed: no connection, serialization, deadlock, lock
#: not available, too many connections, a server that stops or starts.
_PASSING = ("08", "40001", "40P01", "55P03", "53300", "57P0")
#: Connections that read at once.
READERS = 4


def make_engine(url: str | URL | Path, patience: float = PATIENCE) -> Engine:
    """An engine for the database of that URL, or for the SQLite file of that path. Connects to nothing yet.

    ``patience``: seconds to wait for a connection, and for a lock on the SQLite file. Raises LogFailed for a URL that
    is none, or of another database; MissingExtra without psycopg.
    """
    made = _url(url)
    json = {"json_serializer": json_codec.text, "json_deserializer": json_codec.decode}
    if made.get_backend_name() == "sqlite":
        busy = {"timeout": patience}
        engine = sa.create_engine(made, connect_args=busy, pool_size=READERS + 1, hide_parameters=True, **json)
        event.listen(engine, "connect", _sqlite_connected)
        event.listen(engine, "begin", _sqlite_begin)
        return engine
    if importlib.util.find_spec("psycopg") is None:
        raise MissingExtra("a turn log in PostgreSQL needs psycopg", hint="pip install 'toolparity[postgres]'")
    waits = {"connect_timeout": max(2, math.ceil(patience)), "tcp_user_timeout": math.ceil(patience * 1000), **_GONE}
    waits = {name: value for name, value in waits.items() if name not in made.query}
    engine = sa.create_engine(made, connect_args=waits, pool_size=READERS + 1, hide_parameters=True, **json)
    event.listen(engine, "begin", _postgres_begin)
    return engine


@contextmanager
def failing(engine: Engine) -> Iterator[None]:
    """What the database raises inside becomes LogFailed, without the values that were to be written."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        where = engine.url.render_as_string(hide_password=True)
        raise LogFailed(f"the turn log failed: {type(cause).__name__}: {cause}", where=where) from error


def passes(error: BaseException | None) -> bool:
    """Whether the database may do later what it could not do now: the same transaction is worth another try."""
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
    return state is None or (bool(state) and state.startswith(_PASSING))


def cut(connection: Any) -> None:
    """End what a connection waits for: its server does not answer. SQLite's waits end by themselves."""
    if hasattr(connection, "fileno"):
        with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as known:
            known.shutdown(socket.SHUT_RDWR)


def _url(url: str | URL | Path) -> URL:
    if isinstance(url, Path):
        return URL.create("sqlite", database=str(url))
    try:
        made = sa.make_url(url)
    except ArgumentError:
        raise LogFailed("no URL of a database", hint="sqlite:///turns.db, or postgresql://user@host/name") from None
    backend = made.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return made.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LogFailed(f"no turn log is kept in {backend}", hint="SQLite or PostgreSQL")
    if made.database in (None, "", ":memory:") or "mode=memory" in str(made):
        raise LogFailed("a turn log in memory would be lost with its program", hint="name a file: sqlite:///turns.db")
    return made.set(drivername="sqlite")


def _sqlite_connected(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # Python's module begins transactions where it likes; we say when
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")


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
