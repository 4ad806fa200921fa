"""What alembic runs to migrate: always over the connection, and inside the transaction, that `migrate` gives it."""

from __future__ import annotations

from alembic import context

from toolparity.normalizer.turns.log.migrate import VERSION_TABLE
from toolparity.normalizer.turns.log.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table by making another
)
with context.begin_transaction():
    context.run_migrations()
