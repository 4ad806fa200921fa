"""The databases of the tests of the turn log, for those of the manager."""

from tests.turns.log.conftest import (
    _migrated,
    _migrated_postgres_database,
    clock,
    log,
    postgres,
    postgres_database,
    url,
)

__all__ = [
    "_migrated",
    "_migrated_postgres_database",
    "clock",
    "log",
    "postgres",
    "postgres_database",
    "url",
]
