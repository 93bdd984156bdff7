"""Stored contents: found by digest and size among what a key may read, and adopted from completed uploads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, or_, select, text
from sqlalchemy.orm import Session

from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.store import ObjectStore, StoredObject
from noeira_tui.service.tables import Blob, Project, ProjectFile, Recording, RecordingFile, Revision, RevisionFile

_LOCK = 0x626C6F6200000000
_NOTHING_STORED = "Nothing was uploaded for this registration: PUT the bytes to upload_url first"


@dataclass(frozen=True)
class Contents:
    """What bytes are, wherever they are: lower-case hex sha256 and size."""

    sha256: str
    size_bytes: int


def readable_blobs(session: Session, access: Access, wanted: Collection[str]) -> dict[Contents, Blob]:
    """Stored blobs with one of the digests `wanted` that this key may read, the oldest of equal ones."""
    if not wanted:
        return {}
    query = select(Blob).where(Blob.account_pk == access.account_pk, Blob.sha256.in_(wanted)).order_by(Blob.pk.desc())
    if access.project is not None:
        query = query.where(_named_in_project(access))
    return {Contents(blob.sha256, blob.size_bytes): blob for blob in session.scalars(query)}


def readable_blob(session: Session, access: Access, contents: Contents) -> Blob | None:
    return readable_blobs(session, access, [contents.sha256]).get(contents)


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


def check_stored(stored: StoredObject | None, contents: Contents) -> None:
    """Refuse with 422 unless the stored object can be the contents that were announced."""
    if stored is None:
        raise RequestRefusedError(422, _NOTHING_STORED)
    if stored.size_bytes != contents.size_bytes:
        raise RequestRefusedError(422, f"The stored object has {stored.size_bytes} bytes, not {contents.size_bytes}")
    if stored.sha256 is not None and stored.sha256 != contents.sha256:
        raise RequestRefusedError(422, f"The stored object has the sha256 {stored.sha256}, not {contents.sha256}")


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


def look_at_upload(
    store: ObjectStore, object_keys: Sequence[str], contents: Contents, former_key: str | None
) -> Upload:
    """Compare uploaded objects with what was announced, and take the first that fits (422 when none does).

    `former_key` names equal contents that were stored before: if that object was lost, the new one takes its place.
    """
    refused: RequestRefusedError | None = None
    for object_key in object_keys:
        settled_key = store.settle(object_key)
        try:
            check_stored(store.head(settled_key), contents)
        except RequestRefusedError as err:
            refused = refused or err
            if settled_key != object_key:
                store.discard([settled_key])
            continue
        lost = former_key if former_key is not None and not _is_whole(store, former_key, contents) else None
        return Upload(object_key, settled_key, contents, lost)
    raise refused or RequestRefusedError(422, _NOTHING_STORED)


def adopt(session: Session, access: Access, upload: Upload, known: dict[Contents, Blob]) -> Blob:
    """The blob for an upload, inside a write transaction.

    `known` are the blobs this key may read; what is adopted is added to it, so that equal contents are stored once.
    """
    adopt_all(session, access, [upload], known)
    return known[upload.contents]


def adopt_all(session: Session, access: Access, uploads: Iterable[Upload], known: dict[Contents, Blob]) -> None:
    """Add the blobs for many uploads to `known`, as `adopt` does for one; new rows go to the database together."""
    for upload in uploads:
        former = known.get(upload.contents)
        if former is not None:
            if former.object_key == upload.lost_key:
                former.object_key = upload.settled_key
            continue
        blob = Blob(
            account_pk=access.account_pk,
            sha256=upload.contents.sha256,
            size_bytes=upload.contents.size_bytes,
            object_key=upload.settled_key,
        )
        session.add(blob)
        known[upload.contents] = blob
    session.flush()


def _is_whole(store: ObjectStore, object_key: str, contents: Contents) -> bool:
    stored = store.head(object_key, digest=False)
    return stored is not None and stored.size_bytes == contents.size_bytes
