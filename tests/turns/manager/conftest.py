"""The databases of the tests of the turn log, for those of the manager."""

from tests.turns.log.conftest import (
    _migrated,
    _migrated_postgres_database,
    clock,
    log,
    postgres,
    postgres_database,
    pytest_pyfunc_call,
    url,
)

_SHARED = (_migrated, _migrated_postgres_database, clock, log, postgres, postgres_database, pytest_pyfunc_call, url)
