"""The name of a conversation belongs to its user. A turn without a user has an empty one, since NULLs are distinct."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Replace the index of conversations."""
    op.execute("UPDATE turns SET user_id = '' WHERE user_id IS NULL")
    op.drop_index("turns_by_conversation", table_name="turns")
    op.create_index("turns_by_conversation", "turns", ["conversation", "user_id", "position"], unique=True)
