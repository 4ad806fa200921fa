"""Creates the tables of a turn log, migrates them to the current version, or rejects a newer version.

    upgrade("postgresql://…/gateway")

`Log` does the same when it is opened. The version is in the table `toolparity_version`, separate from alembic's default
table, so that a program with its own alembic migrations can share the database.
"""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine

from ..errors import NewerLog
from .engine import address, failing, make_engine

VERSION_TABLE = "toolparity_version"
#: The last migration, so that opening a log that is up to date need not load alembic.
LATEST = "0006"
#: alembic keeps the current migration in globals, so only one thread may migrate at a time.
_alembic = threading.Lock()
#: Key of PostgreSQL's advisory lock that lets one process migrate while the others wait. An arbitrary constant.
_LOCK = 7_083_422_316


def upgrade(url: str | URL | Path) -> None:
    """Create the tables in the database, or migrate them to the current version.

    Raises NewerLog if a later version of this program wrote the database, LogFailed, and MissingExtra.
    """
    engine = make_engine(url)
    try:
        migrate(engine)
    finally:
        engine.dispose()


def migrate(engine: Engine) -> None:
    """Do what `upgrade` does, with an engine of `make_engine`. Several processes may call it at once."""
    with failing(engine):
        with engine.connect().execution_options(turn_log="read") as connection:
            if _version(connection) == LATEST:
                return
        with _alembic, engine.begin() as connection:  # on SQLite, this takes the only write lock
            if engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            version = _version(connection)
            if version != LATEST:
                _run(connection, version)


def _version(connection: Connection) -> str | None:
    """Return the version of the database, None if it has no version table."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))
    return version


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
            f"unknown version of the turn log: {version}",
            where=address(connection.engine.url),
            hint=f"this program knows up to {LATEST}: use a later one, or another database",
        )
    command.upgrade(config, "head")
