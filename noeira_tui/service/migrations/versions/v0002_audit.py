"""The audit log, and objects that are to be removed from the store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make both tables, and tell releases that know no migrations that this database is newer than they are."""
    op.create_table(
        "audit_events",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("account_pk", _PK, sa.ForeignKey("accounts.pk"), nullable=False),
        sa.Column("key_id", sa.String),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("paths", sa.JSON, nullable=False),
        sa.Column("size_bytes", sa.BigInteger),
    )
    op.create_index("audit_events_of_account", "audit_events", ["account_pk", "pk"])
    op.create_index("ix_audit_events_at", "audit_events", ["at"])
    op.create_table(
        "doomed_objects",
        sa.Column("object_key", sa.String, primary_key=True),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
    )
    op.execute("DELETE FROM schema_version")
    op.execute("INSERT INTO schema_version (version) VALUES (2)")
