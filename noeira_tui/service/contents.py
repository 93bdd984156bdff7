"""Stored contents: found by digest and size among what a key may read, and adopted from completed uploads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, or_, select, text
from sqlalchemy.orm import Session

from noeira_tui.service.doomed import spare
from noeira_tui.service.keys import Access
from noeira_tui.service.tables import Blob, Project, ProjectFile, Recording, RecordingFile, Revision, RevisionFile

_LOCK = 0x626C6F6200000000


@dataclass(frozen=True)
class Contents:
    """What bytes are, wherever they are: lower-case hex sha256 and size."""

    sha256: str
    size_bytes: int


def readable_blobs(
    session: Session, access: Access, wanted: Collection[str], checked_up_to: int
) -> dict[Contents, Blob]:
    """Stored blobs with one of the digests `wanted` that this key may read, the oldest of equal ones.

    Those larger than `checked_up_to` bytes have the digest that a client said, and nobody looked: they are never taken
    for somebody else's contents.
    """
    if not wanted:
        return {}
    query = (
        select(Blob)
        .where(Blob.account_pk == access.account_pk, Blob.sha256.in_(wanted), Blob.size_bytes <= checked_up_to)
        .order_by(Blob.pk.desc())
    )
    if access.project is not None:
        query = query.where(_named_in_project(access))
    return {Contents(blob.sha256, blob.size_bytes): blob for blob in session.scalars(query)}


def lock_contents(session: Session, access: Access) -> None:
    """Let one transaction at a time add to the contents of an account, so that equal ones are stored once.

    It is taken last, after any rows, so that nobody waits in a circle.
    """
    if session.get_bind().dialect.name == "postgresql":
        # SQLite has one writer anyway.
        session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK + access.account_pk})


def _named_in_project(access: Access) -> ColumnElement[bool]:
    """Whether a file of the key's project names the blob: working sets, revisions, and definition files."""
    project = (Project.account_pk == access.account_pk, Project.slug == access.project)
    working = (
        select(RecordingFile.pk)
        .join(Recording, Recording.pk == RecordingFile.recording_pk)
        .join(Project, Project.pk == Recording.project_pk)
        .where(RecordingFile.blob_pk == Blob.pk, *project)
    )
    committed = (
        select(RevisionFile.blob_pk)
        .join(Revision, Revision.pk == RevisionFile.revision_pk)
        .join(Recording, Recording.pk == Revision.recording_pk)
        .join(Project, Project.pk == Recording.project_pk)
        .where(RevisionFile.blob_pk == Blob.pk, *project)
    )
    defined = (
        select(ProjectFile.pk)
        .join(Project, Project.pk == ProjectFile.project_pk)
        .where(ProjectFile.blob_pk == Blob.pk, *project)
    )
    return or_(working.exists(), committed.exists(), defined.exists())


@dataclass(frozen=True)
class Upload:
    """An uploaded object that was looked at.

    `settled_key` is where its bytes can no longer be replaced through the upload's URL; `lost_key` names equal contents
    that were stored before and whose object is gone.
    """

    object_key: str
    settled_key: str
    contents: Contents
    lost_key: str | None = None

    def leftovers(self, blob: Blob | None) -> list[str]:
        """Objects that no row names once this upload became `blob`; with None, another request completed it."""
        if blob is None:
            return [self.settled_key] if self.settled_key != self.object_key else []
        return [key for key in dict.fromkeys((self.settled_key, self.object_key)) if key != blob.object_key]


def adopt(session: Session, access: Access, upload: Upload, known: dict[Contents, Blob]) -> Blob:
    """The blob for an upload, inside a write transaction.

    `known` are the blobs this key may read; what is adopted is added to it, so that equal contents are stored once.
    """
    adopt_all(session, access, [upload], known)
    return known[upload.contents]


def adopt_all(session: Session, access: Access, uploads: Iterable[Upload], known: dict[Contents, Blob]) -> None:
    """Add the blobs for many uploads to `known`, as `adopt` does for one; new rows go to the database together."""
    adopted: list[str] = []
    for upload in uploads:
        former = known.get(upload.contents)
        if former is not None:
            if former.object_key == upload.lost_key:
                former.object_key = upload.settled_key
                adopted.append(upload.settled_key)
            keep(former)
            continue
        adopted.append(upload.settled_key)
        blob = Blob(
            account_pk=access.account_pk,
            sha256=upload.contents.sha256,
            size_bytes=upload.contents.size_bytes,
            object_key=upload.settled_key,
        )
        session.add(blob)
        known[upload.contents] = blob
    session.flush()
    spare(session, adopted)


def keep(blob: Blob) -> None:
    """Contents that are named again are new to the sweeper: whoever gets a URL to them now may use it to its end."""
    if blob.unnamed_since is not None:
        blob.unnamed_since = None
