"""The database of a turn log at its present version: made, brought up to it, or refused.

    upgrade("postgresql://…/gateway")

A log does the same when it is opened. The version stands in the table `toolparity_version`, so that a database shared
with a program that uses alembic itself keeps both apart.
"""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine

from ...errors import NewerLog
from .engine import failing, make_engine

VERSION_TABLE = "toolparity_version"
#: The last migration, so that opening a log that is up to date need not load alembic.
LATEST = "0003"
#: alembic holds what it migrates in globals: threads that open other databases would get into each other's.
_alembic = threading.Lock()
#: Of the lock in PostgreSQL under which one process migrates and the others wait. Any number, but always the same.
_LOCK = 7_083_422_316


def upgrade(url: str | URL | Path) -> None:
    """Make the tables, or bring them to the present version. Raises NewerLog, LogFailed, MissingExtra."""
    engine = make_engine(url)
    try:
        migrate(engine)
    finally:
        engine.dispose()


def migrate(engine: Engine) -> None:
    """The same with an engine of `make_engine`. Many processes may do so at once."""
    with failing(engine):
        with engine.connect().execution_options(turn_log="read") as connection:
            if _version(connection) == LATEST:
                return
        with _alembic, engine.begin() as connection:  # on SQLite, nobody else writes from here on
            if engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            version = _version(connection)
            if version != LATEST:
                _run(connection, version)


def _version(connection: Connection) -> str | None:
    """The version of the database, null for one without the tables."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.scalar(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))
    return found


def _run(connection: Connection, version: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise NewerLog(
            f"the turn log is of version {version}",
            where=connection.engine.url.render_as_string(hide_password=True),
            hint=f"this program knows up to {LATEST}: use a later one, or another database",
        )
    command.upgrade(config, "head")
