"""Tables of turns, their blocks, events, calls and states."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "turns",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("wire", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("termination", sa.Text),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", sa.Double),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("updated", sa.Double, nullable=False),
    )
    op.create_index("turns_by_status", "turns", ["status"])
    op.create_table(
        "turn_blocks",
        _turn(),
        sa.Column("sequence", sa.Integer, primary_key=True),
        sa.Column("block_type", sa.Text, nullable=False),
        sa.Column("text_content", sa.Text),
        sa.Column("content", _JSON),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("cut", sa.Boolean, nullable=False),
        sa.Column("exact", sa.Text),
    )
    op.create_table(
        "events",
        _turn(),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_table(
        "calls",
        _turn(),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("how", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("server", sa.Text),
    )
    op.create_table(
        "states",
        _turn(),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
    )


def _turn() -> sa.Column[str]:
    return sa.Column("turn_id", sa.Text, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)
