"""Alembic's entry: runs the steps on the connection that `noeira_tui.service.schema` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from noeira_tui.service.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite too rolls table changes back: the transaction was begun by us, not by its driver.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
