"""States as changes, and long values stored once: a turn's size grows with its length, and not with its square.

A state that version 2 stored becomes a change of the whole document. So does each state that a step of version 2 began
with. Documents written before keep their long values in place.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Convert the states of each turn to a chain of changes, and create a table of parts."""
    op.add_column("turns", sa.Column("written", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "parts",
        _turn(),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.rename_table("states", "states_of_version_2")
    op.create_table(
        "states",
        _turn(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
    )
    whole = "'{\"\":' || %s || '}'"  # pointer "" is the whole document
    initial = f"SELECT turn_id, number, seq, {whole % 'begins'} FROM steps WHERE begins IS NOT NULL"
    after = "COALESCE((SELECT MAX(number) FROM steps WHERE steps.turn_id = stored.turn_id), 0) + 1"
    last = f"SELECT turn_id, {after}, seq, {whole % 'state'} FROM states_of_version_2 AS stored"
    for rows in (initial, last):
        op.execute(f"INSERT INTO states (turn_id, number, seq, change) {rows}")
    op.drop_table("states_of_version_2")
    op.add_column("steps", sa.Column("begins_with", sa.Integer))
    op.add_column("steps", sa.Column("ends_with", sa.Integer))
    op.execute("UPDATE steps SET begins_with = number WHERE begins IS NOT NULL")
    op.execute("ALTER TABLE steps DROP COLUMN begins")  # a batch would drop the table, and the rows that refer to it


def _turn() -> sa.Column[str]:
    return sa.Column("turn_id", sa.Text, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)
