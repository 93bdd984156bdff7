"""Stored contents: found by digest and size among what a key may read, and adopted from completed uploads."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from noeira_tui.core.paths import suffix_of
from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.store import ObjectStore, StoredObject
from noeira_tui.service.tables import Blob, Project, ProjectFile, Recording, RecordingFile, Revision, RevisionFile


@dataclass(frozen=True)
class Contents:
    """What bytes are, wherever they are: lower-case hex sha256 and size."""

    sha256: str
    size_bytes: int


def fresh_object_key(filename: str | None = None) -> str:
    """A random key at the root of the bucket, with the suffix of `filename` so that downloads have a fitting name."""
    return f"{secrets.token_hex(20)}{suffix_of(filename)[:32] if filename else ''}"


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
        raise RequestRefusedError(422, "Nothing was uploaded for this registration: PUT the bytes to upload_url first")
    if stored.size_bytes != contents.size_bytes:
        raise RequestRefusedError(422, f"The stored object has {stored.size_bytes} bytes, not {contents.size_bytes}")
    if stored.sha256 is not None and stored.sha256 != contents.sha256:
        raise RequestRefusedError(422, f"The stored object has the sha256 {stored.sha256}, not {contents.sha256}")


@dataclass(frozen=True)
class Upload:
    """An uploaded object that was looked at: whether equal contents were stored before, and whether they still are."""

    object_key: str
    contents: Contents
    former_key: str | None = None
    former_is_whole: bool = False


def look_at_upload(session: Session, store: ObjectStore, access: Access, object_key: str, contents: Contents) -> Upload:
    """Compare an uploaded object with what was announced (422 when it differs), before any row is changed.

    Equal contents that were stored before are looked at too: if their object was lost, the new one takes its place.
    """
    check_stored(store.head(object_key), contents)
    former = readable_blob(session, access, contents)
    if former is None:
        return Upload(object_key, contents)
    stored = store.head(former.object_key, digest=False)
    whole = stored is not None and stored.size_bytes == contents.size_bytes
    return Upload(object_key, contents, former.object_key, whole)


def adopt(session: Session, access: Access, upload: Upload) -> tuple[Blob, str | None]:
    """The blob for an upload inside a write transaction, and the key of an object nobody needs once it is committed."""
    former = readable_blob(session, access, upload.contents)
    if former is not None and former.object_key == upload.former_key:
        if upload.former_is_whole:
            return former, upload.object_key
        former.object_key = upload.object_key
        return former, None
    blob = Blob(
        account_pk=access.account_pk,
        sha256=upload.contents.sha256,
        size_bytes=upload.contents.size_bytes,
        object_key=upload.object_key,
    )
    session.add(blob)
    session.flush()
    return blob, None
