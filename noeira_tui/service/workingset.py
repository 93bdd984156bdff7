"""The working set of a recording: what its files are, row by row, and what is said of a file that is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session, joinedload

from noeira_tui.service.bodies import FileBody
from noeira_tui.service.contents import Contents
from noeira_tui.service.revisions import INFO_PATH
from noeira_tui.service.tables import Base, Blob, Recording, RecordingFile


@dataclass(frozen=True)
class FileResult:
    """What became of one file: an upload to make, an error, or nothing to do (`unchanged`, or ready now)."""

    path: str
    object_key: str | None = None
    error: str | None = None
    status: int = 200


def file_rows(session: Session, recording: Recording, files: Sequence[FileBody]) -> dict[str, RecordingFile]:
    """The rows of these paths, with what they contain."""
    query = (
        select(RecordingFile)
        .where(RecordingFile.recording_pk == recording.pk, RecordingFile.path.in_({file.path for file in files}))
        .options(joinedload(RecordingFile.blob))
    )
    return {row.path: row for row in session.scalars(query)}


def ready_contents(session: Session, recording: Recording, files: Sequence[FileBody]) -> dict[str, Contents]:
    """What is ready under the offered paths, without the rows themselves."""
    query = (
        select(RecordingFile.path, Blob.sha256, Blob.size_bytes)
        .join(Blob, Blob.pk == RecordingFile.blob_pk)
        .where(RecordingFile.recording_pk == recording.pk, RecordingFile.path.in_({file.path for file in files}))
    )
    return {path: Contents(sha256, size_bytes) for path, sha256, size_bytes in session.execute(query)}


def is_ready(row: RecordingFile | None, file: FileBody) -> bool:
    """Whether the row has the very contents of a file."""
    return row is not None and row.blob is not None and Contents(row.blob.sha256, row.blob.size_bytes) == file.contents


def names_info(files: Iterable[FileBody]) -> bool:
    """Whether `info.json`, which tells readers of all the rest, is among the files."""
    return any(file.path == INFO_PATH for file in files)


def refused_as_changed(file: FileBody, there: str | None) -> FileResult | None:
    """The refusal of a file that somebody else changed after its sender had compared."""
    if file.base_sha256 is None or (there or "") in {file.base_sha256, file.sha256}:
        return None
    return FileResult(file.path, error="Changed here meanwhile by somebody else: compare again", status=409)


def insert_rows(session: Session, table: type[Base], rows: list[dict[str, object]]) -> None:
    """Make rows: an object each would cost more than all the rest of a batch."""
    if rows:
        session.execute(insert(table), rows)


def update_rows(session: Session, table: type[Base], rows: list[dict[str, object]]) -> None:
    """Change rows by their `pk`; every one names the same columns."""
    if rows:
        session.execute(update(table), rows)
