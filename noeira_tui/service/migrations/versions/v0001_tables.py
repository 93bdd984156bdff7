"""The tables of the first release.

Databases that were made before there were migrations have these tables already; they are adopted at this step.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables."""
    _accounts()
    _datasets()
    _projects()
    _recordings()


def _accounts() -> None:
    op.create_table(
        "schema_version",
        sa.Column("version", _PK, primary_key=True, autoincrement=False),
    )
    op.create_table(
        "accounts",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("account_pk", _PK, sa.ForeignKey("accounts.pk"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("project", sa.String),
        sa.Column("secret_sha256", sa.String, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("last_used_at", _TIME),
        sa.Column("revoked_at", _TIME),
    )
    op.create_table(
        "blobs",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("account_pk", _PK, sa.ForeignKey("accounts.pk"), nullable=False),
        sa.Column("sha256", sa.String, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("object_key", sa.String, nullable=False, unique=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("unnamed_since", _TIME),
    )
    op.create_index("blobs_by_contents", "blobs", ["account_pk", "sha256", "size_bytes"])
    op.create_index("ix_blobs_unnamed_since", "blobs", ["unnamed_since"])


def _datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("account_pk", _PK, sa.ForeignKey("accounts.pk"), nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("blob_pk", _PK, sa.ForeignKey("blobs.pk")),
        sa.Column("env_id", sa.String),
        sa.Column("n_rows", sa.BigInteger),
        sa.Column("n_episodes", sa.BigInteger),
        sa.Column("seed", sa.BigInteger),
        sa.Column("source_commit", sa.String),
        sa.Column("columns", sa.String),
        sa.Column("filename", sa.String),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.UniqueConstraint("account_pk", "id"),
    )
    op.create_index("ix_datasets_blob_pk", "datasets", ["blob_pk"])
    op.create_table(
        "dataset_uploads",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("dataset_pk", _PK, sa.ForeignKey("datasets.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("api_key_id", sa.String, sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("object_key", sa.String, nullable=False, unique=True),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("completed_sha256", sa.String),
        sa.Column("completed_bytes", sa.BigInteger),
    )
    op.create_index("ix_dataset_uploads_dataset_pk", "dataset_uploads", ["dataset_pk"])


def _projects() -> None:
    op.create_table(
        "projects",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("account_pk", _PK, sa.ForeignKey("accounts.pk"), nullable=False),
        sa.Column("slug", sa.String, nullable=False),
        sa.Column("description", sa.String),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.UniqueConstraint("account_pk", "slug"),
    )
    op.create_table(
        "project_files",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("project_pk", _PK, sa.ForeignKey("projects.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("blob_pk", _PK, sa.ForeignKey("blobs.pk"), nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.UniqueConstraint("project_pk", "path"),
    )
    op.create_index("ix_project_files_blob_pk", "project_files", ["blob_pk"])


def _recordings() -> None:
    op.create_table(
        "recordings",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("project_pk", _PK, sa.ForeignKey("projects.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("n_episodes", sa.BigInteger),
        sa.Column("n_frames", sa.BigInteger),
        sa.Column("fps", sa.Double),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.UniqueConstraint("project_pk", "name"),
    )
    op.create_table(
        "recording_files",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("recording_pk", _PK, sa.ForeignKey("recordings.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("blob_pk", _PK, sa.ForeignKey("blobs.pk")),
        sa.Column("offered_sha256", sa.String),
        sa.Column("offered_bytes", sa.BigInteger),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.UniqueConstraint("recording_pk", "path"),
    )
    op.create_index("ix_recording_files_blob_pk", "recording_files", ["blob_pk"])
    op.create_table(
        "file_uploads",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("project_pk", _PK, sa.ForeignKey("projects.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("recording_pk", _PK, sa.ForeignKey("recordings.pk", ondelete="CASCADE")),
        sa.Column("api_key_id", sa.String, sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("sha256", sa.String, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("object_key", sa.String, nullable=False, unique=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("completed_at", _TIME),
    )
    op.create_index("file_uploads_of_recording", "file_uploads", ["recording_pk", "path"])
    op.create_index("file_uploads_of_project", "file_uploads", ["project_pk", "path"])
    op.create_table(
        "revisions",
        sa.Column("pk", _PK, primary_key=True),
        sa.Column("recording_pk", _PK, sa.ForeignKey("recordings.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("n_episodes", sa.BigInteger),
        sa.Column("n_frames", sa.BigInteger),
        sa.Column("fps", sa.Double),
        sa.Column("explicit", sa.Boolean, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.UniqueConstraint("recording_pk", "number"),
    )
    op.create_table(
        "revision_files",
        sa.Column("revision_pk", _PK, sa.ForeignKey("revisions.pk", ondelete="CASCADE"), primary_key=True),
        sa.Column("path", sa.String, primary_key=True),
        sa.Column("blob_pk", _PK, sa.ForeignKey("blobs.pk"), nullable=False),
    )
    op.create_index("ix_revision_files_blob_pk", "revision_files", ["blob_pk"])
