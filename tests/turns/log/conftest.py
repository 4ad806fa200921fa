"""Databases for the tests of the turn log: each test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import URL

from tests import postgres as servers
from tests.turns.log.shared import Clock
from toolparity.normalizer.turns.log import Log


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    """The URL of a running PostgreSQL server."""
    with servers.server() as url:
        yield url


@pytest.fixture
def postgres_database(postgres: URL) -> Iterator[URL]:
    """The URL of an empty PostgreSQL database."""
    with servers.database(postgres) as database_url:
        yield database_url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[URL]:
    """The URL of an empty database. SQLite uses a memory file system if there is one: no test kills the machine."""
    if request.param == "sqlite":
        memory = Path("/dev/shm")
        with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
            yield URL.create("sqlite", database=f"{folder}/turns.db")
        return
    yield request.getfixturevalue("postgres_database")


@pytest.fixture
def clock() -> Clock:
    """The clock of the `log` fixture."""
    return Clock()


@pytest.fixture
def log(url: URL, clock: Clock) -> Iterator[Log]:
    """An empty log that uses the `clock` fixture."""
    with Log(url, clock=clock, lease=60.0) as log:
        yield log
