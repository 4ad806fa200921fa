"""The conversation and the user of a turn, and what it used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns. Rows of earlier versions have no values in them."""
    for column in (
        sa.Column("conversation", sa.Text),
        sa.Column("position", sa.Integer),
        sa.Column("user_id", sa.Text),
        sa.Column("input_tokens", sa.BigInteger),
        sa.Column("output_tokens", sa.BigInteger),
        sa.Column("cost", sa.Double),
    ):
        op.add_column("turns", column)
    op.create_index("turns_by_conversation", "turns", ["conversation", "position"], unique=True)
    op.create_index("turns_by_user", "turns", ["user_id", "created"])
