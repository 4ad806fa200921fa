"""The statements of one transaction that many jobs share. Equal statements of different jobs run together.

The driver runs one statement for many rows much faster than one statement per row. The rows of a statement keep their
order; the statements run in the order in which they were added first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable


class RowMissing(Exception):
    """An update of a shared transaction did not find its row. Run each job in a transaction without others."""


class Batch:
    """Collects the statements of the jobs of a transaction. ``shared``: whether there are several jobs.

    A job whose statements depend on each other, or on those of earlier jobs, uses `connection`.
    """

    def __init__(self, connection: Connection, shared: bool) -> None:
        self.shared = shared
        self._connection = connection
        self._updates: dict[Executable, list[Mapping[str, Any]]] = {}
        self._others: dict[Executable, list[Mapping[str, Any]]] = {}

    @property
    def connection(self) -> Connection:
        """The connection, after all statements so far were run."""
        self.flush()
        return self._connection

    def update(self, statement: Executable, row: Mapping[str, Any]) -> None:
        """Run an update that must find exactly one row, before the statements of `add`."""
        self._updates.setdefault(statement, []).append(row)

    def add(self, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for each of these rows."""
        self._others.setdefault(statement, []).extend(rows)

    def flush(self) -> None:
        """Run the statements. Raises RowMissing, and then the transaction must be rolled back."""
        updates, self._updates = self._updates, {}
        others, self._others = self._others, {}
        for statement, rows in updates.items():
            if self._connection.execute(statement, rows).rowcount != len(rows):
                raise RowMissing
        for statement, rows in others.items():
            self._connection.execute(statement, rows)
