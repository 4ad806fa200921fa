"""The databases of the tests of the turn log, for those of the manager."""

from tests.turns.log.conftest import clock, log, postgres, postgres_database, url

__all__ = ["clock", "log", "postgres", "postgres_database", "url"]
