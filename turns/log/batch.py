"""The statements of one transaction that many jobs share. Equal statements of different jobs run together.

The driver runs one statement for many rows much faster than one statement per row. The rows of a statement keep their
order; the statements run in the order in which they were added first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable

#: A statement of SQLAlchemy, or the driver's SQL with named parameters.
Statement = Executable | str


class RowMissing(Exception):
    """A statement of a shared transaction did not change its row. Run each job in a transaction without others."""


class Batch:
    """Collects the statements of the jobs of a transaction. ``shared``: whether there are several jobs.

    A job whose statements depend on each other, or on those of earlier jobs, uses `connection`.
    """

    def __init__(self, connection: Connection, shared: bool) -> None:
        self.shared = shared
        self._connection = connection
        self._changes: dict[str, list[Mapping[str, Any]]] = {}
        self._others: dict[Statement, list[Mapping[str, Any]]] = {}

    @property
    def connection(self) -> Connection:
        """The connection, after all statements so far were run."""
        self.flush()
        return self._connection

    def change(self, statement: str, row: Mapping[str, Any]) -> None:
        """Run an insert or an update that must change exactly one row, before the statements of `add`."""
        self._changes.setdefault(statement, []).append(row)

    def changes(self, statement: str, row: Mapping[str, Any]) -> bool:
        """Run all statements so far, then this one. Return whether it changed exactly one row."""
        return self.connection.exec_driver_sql(statement, row).rowcount == 1

    def add(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for each of these rows."""
        self._others.setdefault(statement, []).extend(rows)

    def flush(self) -> None:
        """Run the statements. Raises RowMissing, and then the transaction must be rolled back."""
        changes, self._changes = self._changes, {}
        others, self._others = self._others, {}
        for change, rows in changes.items():
            if self._connection.exec_driver_sql(change, rows).rowcount != len(rows):
                raise RowMissing
        for statement, rows in others.items():
            if isinstance(statement, str):
                self._connection.exec_driver_sql(statement, rows)
            else:
                self._connection.execute(statement, rows)
