"""Columns under the terms of the documentation: the input and the events of a step, the outcome of a call."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Rename the columns."""
    for table, old, new in (
        ("steps", "happening", "input"),
        ("steps", "told", "event_count"),
        ("calls", "how", "outcome"),
    ):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")  # a batch would copy the table
