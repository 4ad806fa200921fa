"""Tests that are coroutines, and databases for the tests of the turn log: each runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import URL

from tests.support import postgres as postgres_servers
from tests.turns.log.shared import Clock, empty_log
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.turns.log import Log

#: Seconds after which an asynchronous test hangs: no test takes as long.
HANGS = 300


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop."""
    if not asyncio.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), HANGS))
    return True


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """The emulated providers, which play every script."""
    with running() as up:
        yield up


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    """The URL of a running PostgreSQL server."""
    with postgres_servers.server() as url:
        yield url


@pytest.fixture
def postgres_database(postgres: URL) -> Iterator[URL]:
    """The URL of an empty PostgreSQL database."""
    with postgres_servers.database(postgres) as database_url:
        yield database_url


@pytest.fixture(scope="session")
def _migrated(postgres: URL) -> Iterator[str]:
    """The name of a PostgreSQL database with the tables of an empty log."""
    with postgres_servers.database(postgres) as url:
        with Log(url):
            pass
        yield url.database or ""


@pytest.fixture
def _migrated_postgres_database(postgres: URL, _migrated: str) -> Iterator[URL]:
    with postgres_servers.database(postgres, _migrated) as database_url:
        yield database_url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.service("turns/log"))])
def url(request: pytest.FixtureRequest) -> Iterator[URL]:
    """The URL of an empty database, for a test that uses the `log` fixture with the tables of an empty log.

    SQLite uses a memory file system if there is one: no test kills the machine.
    """
    migrated = "log" in request.fixturenames
    if request.param == "sqlite":
        memory = Path("/dev/shm")
        with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
            path = Path(folder) / "turns.db"
            yield URL.create("sqlite", database=str(empty_log(path) if migrated else path))
        return
    yield request.getfixturevalue("_migrated_postgres_database" if migrated else "postgres_database")


@pytest.fixture
def clock() -> Clock:
    """The clock of the `log` fixture."""
    return Clock()


@pytest.fixture
def log(url: URL, clock: Clock) -> Iterator[Log]:
    """An empty log that uses the `clock` fixture."""
    with Log(url, clock=clock, lease=60.0) as log:
        yield log
