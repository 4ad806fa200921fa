"""The name of a conversation belongs to its user. That of a turn without one is empty: an index allows None twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Replace the index of conversations."""
    turns = sa.table("turns", sa.column("user_id"))
    op.execute(turns.update().where(turns.c.user_id.is_(None)).values(user_id=""))
    op.drop_index("turns_by_conversation", table_name="turns")
    op.create_index("turns_by_conversation", "turns", ["conversation", "user_id", "position"], unique=True)
