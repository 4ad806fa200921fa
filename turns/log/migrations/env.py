"""Alembic environment script: it runs the migrations in the connection and transaction that `migrate` passes."""

from __future__ import annotations

from alembic import context

from toolparity.turns.log.migrate import VERSION_TABLE
from toolparity.turns.log.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # on SQLite, alembic alters a table by creating a copy
)
with context.begin_transaction():
    context.run_migrations()
