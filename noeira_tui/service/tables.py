"""The service's tables. Portable SQL only: SQLite by default, Postgres by address.

What is stored is a `Blob` (digest, size, object key); rows of datasets, recordings, revisions and definition files name
blobs. An object that a blob names is never removed, and a blob that any row names is never removed either.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, ForeignKey, Index, Integer, String, TypeDecorator
from sqlalchemy import UniqueConstraint as Unique
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC time on databases that forget zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)


# SQLite counts rows by itself only in a column of the type INTEGER.
Pk = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcTime, int: BigInteger, str: String, dict[str, Any]: JSON, list[str]: JSON}  # noqa: RUF012


class SchemaVersion(Base):
    """What releases before migrations look at, so that they refuse a database that is newer than they are."""

    __tablename__ = "schema_version"
    version: Mapped[int] = mapped_column(Pk, primary_key=True, autoincrement=False)


class Account(Base):
    __tablename__ = "accounts"
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class ApiKey(Base):
    """A key of an account, known only by the digest of its secret part."""

    __tablename__ = "api_keys"
    id: Mapped[str] = mapped_column(primary_key=True)
    account_pk: Mapped[int] = mapped_column(ForeignKey("accounts.pk"))
    name: Mapped[str]
    scope: Mapped[str]
    project: Mapped[str | None]
    secret_sha256: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Blob(Base):
    """Stored contents of an account. `unnamed_since` is when a sweep first found that no row names them."""

    __tablename__ = "blobs"
    __table_args__ = (Index("blobs_by_contents", "account_pk", "sha256", "size_bytes"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    account_pk: Mapped[int] = mapped_column(ForeignKey("accounts.pk"))
    sha256: Mapped[str]
    size_bytes: Mapped[int]
    object_key: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    unnamed_since: Mapped[datetime | None] = mapped_column(index=True)


class Dataset(Base):
    """A catalog dataset: pending until it has a blob."""

    __tablename__ = "datasets"
    __table_args__ = (Unique("account_pk", "id"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    account_pk: Mapped[int] = mapped_column(ForeignKey("accounts.pk"))
    id: Mapped[str]
    name: Mapped[str]
    version: Mapped[str]
    blob_pk: Mapped[int | None] = mapped_column(ForeignKey("blobs.pk"), index=True)
    env_id: Mapped[str | None]
    n_rows: Mapped[int | None]
    n_episodes: Mapped[int | None]
    seed: Mapped[int | None]
    source_commit: Mapped[str | None]
    columns: Mapped[str | None]
    filename: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    blob: Mapped[Blob | None] = relationship(lazy="raise")


class DatasetUpload(Base):
    """One registration of a dataset: a fresh object key, and the facts the row gets when it completes."""

    __tablename__ = "dataset_uploads"
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    dataset_pk: Mapped[int] = mapped_column(ForeignKey("datasets.pk", ondelete="CASCADE"), index=True)
    api_key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    object_key: Mapped[str] = mapped_column(unique=True)
    facts: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    completed_sha256: Mapped[str | None]
    completed_bytes: Mapped[int | None]


class Project(Base):
    __tablename__ = "projects"
    __table_args__ = (Unique("account_pk", "slug"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    account_pk: Mapped[int] = mapped_column(ForeignKey("accounts.pk"))
    slug: Mapped[str]
    description: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class ProjectFile(Base):
    """A definition file of a project."""

    __tablename__ = "project_files"
    __table_args__ = (Unique("project_pk", "path"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    project_pk: Mapped[int] = mapped_column(ForeignKey("projects.pk", ondelete="CASCADE"))
    path: Mapped[str]
    blob_pk: Mapped[int] = mapped_column(ForeignKey("blobs.pk"), index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    blob: Mapped[Blob] = relationship(lazy="raise")


class Recording(Base):
    __tablename__ = "recordings"
    __table_args__ = (Unique("project_pk", "name"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    project_pk: Mapped[int] = mapped_column(ForeignKey("projects.pk", ondelete="CASCADE"))
    name: Mapped[str]
    n_episodes: Mapped[int | None]
    n_frames: Mapped[int | None]
    fps: Mapped[float | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class RecordingFile(Base):
    """A file of a recording's working set. `offered_*` are contents registered and not complete yet."""

    __tablename__ = "recording_files"
    __table_args__ = (Unique("recording_pk", "path"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    recording_pk: Mapped[int] = mapped_column(ForeignKey("recordings.pk", ondelete="CASCADE"))
    path: Mapped[str]
    blob_pk: Mapped[int | None] = mapped_column(ForeignKey("blobs.pk"), index=True)
    offered_sha256: Mapped[str | None]
    offered_bytes: Mapped[int | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)
    blob: Mapped[Blob | None] = relationship(lazy="raise")


class FileUpload(Base):
    """One registration of a file of a recording (or, without one, of a project's definition)."""

    __tablename__ = "file_uploads"
    __table_args__ = (
        Index("file_uploads_of_recording", "recording_pk", "path"),
        Index("file_uploads_of_project", "project_pk", "path"),
    )
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    project_pk: Mapped[int] = mapped_column(ForeignKey("projects.pk", ondelete="CASCADE"))
    recording_pk: Mapped[int | None] = mapped_column(ForeignKey("recordings.pk", ondelete="CASCADE"))
    api_key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    path: Mapped[str]
    sha256: Mapped[str]
    size_bytes: Mapped[int]
    object_key: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    completed_at: Mapped[datetime | None]


class Revision(Base):
    """A committed state of a recording. `explicit` tells a client's own commit from one made by the service."""

    __tablename__ = "revisions"
    __table_args__ = (Unique("recording_pk", "number"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    recording_pk: Mapped[int] = mapped_column(ForeignKey("recordings.pk", ondelete="CASCADE"))
    number: Mapped[int]
    n_episodes: Mapped[int | None]
    n_frames: Mapped[int | None]
    fps: Mapped[float | None]
    explicit: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(default=now)


class RevisionFile(Base):
    __tablename__ = "revision_files"
    revision_pk: Mapped[int] = mapped_column(ForeignKey("revisions.pk", ondelete="CASCADE"), primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    blob_pk: Mapped[int] = mapped_column(ForeignKey("blobs.pk"), index=True)
    blob: Mapped[Blob] = relationship(lazy="raise")


class AuditEvent(Base):
    """Who did what, once a request: `subject` is what it was done to, `paths` the files of it, if any.

    `key_id` is None for what the command line on the service's own box did. Events outlive keys and subjects.
    """

    __tablename__ = "audit_events"
    __table_args__ = (Index("audit_events_of_account", "account_pk", "pk"),)
    pk: Mapped[int] = mapped_column(Pk, primary_key=True)
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    account_pk: Mapped[int] = mapped_column(ForeignKey("accounts.pk"))
    key_id: Mapped[str | None]
    action: Mapped[str]
    subject: Mapped[str]
    paths: Mapped[list[str]]
    size_bytes: Mapped[int | None]


class DoomedObject(Base):
    """An object that lost its row in the same transaction and is to be removed from the store."""

    __tablename__ = "doomed_objects"
    object_key: Mapped[str] = mapped_column(primary_key=True)
    since: Mapped[datetime] = mapped_column(default=now)
