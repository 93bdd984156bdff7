"""Files offered for a recording: one or a thousand, by the same code."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from noeira_tui.catalog.wire import MAX_SINGLE_PUT_BYTES
from noeira_tui.core.paths import is_wire_path
from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import FileBody
from noeira_tui.service.bounds import Room
from noeira_tui.service.contents import Contents, keep
from noeira_tui.service.context import Call
from noeira_tui.service.finding import PATH_RULE, find_recording
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.revisions import INFO_PATH, commit_working_set
from noeira_tui.service.store import fresh_object_key
from noeira_tui.service.tables import Blob, FileUpload, Recording, RecordingFile, now
from noeira_tui.service.workingset import (
    FileResult,
    file_rows,
    insert_rows,
    is_ready,
    names_info,
    ready_contents,
    refused_as_changed,
)


def offer_files(call: Call, slug: str, name: str, files: Sequence[FileBody]) -> list[FileResult]:
    """Say for each file whether its contents are here already, or where they are to be put."""
    with call.database.read() as session:
        recording = find_recording(session, call, slug, name)
        ready = ready_contents(session, recording, files)
        # Most offers repeat what is here: those are answered without a turn at writing.
        if all(ready.get(file.path) == file.contents for file in files) and not names_info(files):
            return [FileResult(file.path) for file in files]
    with call.database.write() as session:
        recording = find_recording(session, call, slug, name, lock=True)
        rows = file_rows(session, recording, files)
        known = call.readable_blobs(session, {file.sha256 for file in files})
        call.bounds.new_files(session, recording, len({file.path for file in files} - rows.keys()))
        found: list[str] = []
        room = call.bounds.room(session, call.access)
        before = frozenset(rows)
        results = [_offer(recording, rows, known, room, file, found) for file in files]
        insert_rows(session, RecordingFile, [_columns(row) for path, row in rows.items() if path not in before])
        insert_rows(session, FileUpload, _uploads_of(call, recording, files, results))
        subject = f"projects/{slug}/datasets/{name}"
        registered = [one.path for one in results if one.object_key is not None]
        for action, paths in ((Action.REGISTERED, registered), (Action.COMPLETED, found)):
            if paths:
                call.note(session, action, subject, paths)
        session.flush()
        if names_info(files) and _is_settled(session, recording) and _is_ready_now(rows.get(INFO_PATH)):
            commit_working_set(session, recording)
    return results


def _offer(
    recording: Recording,
    rows: dict[str, RecordingFile],
    known: dict[Contents, Blob],
    room: Room,
    file: FileBody,
    found: list[str],
) -> FileResult:
    """One offered file; a path that got contents which were stored already is added to `found`, a new one to `rows`."""
    problem = _problem(file)
    if problem is not None:
        return problem
    row = rows.get(file.path)
    changed = refused_as_changed(file, row.blob.sha256 if row is not None and row.blob is not None else None)
    if changed is not None:
        return changed
    blob = row.blob if row is not None and is_ready(row, file) else known.get(file.contents)
    if blob is None:
        try:
            room.take(file.contents)
        except RequestRefusedError as err:
            return FileResult(file.path, error=err.message, status=err.status)
    if row is None:
        row = rows[file.path] = RecordingFile(recording_pk=recording.pk, path=file.path)
    if blob is None:
        row.offered_sha256, row.offered_bytes = file.sha256, file.size_bytes
        return FileResult(file.path, object_key=fresh_object_key(file.path), status=201)
    if row.blob_pk != blob.pk:
        row.blob_pk, row.blob, row.updated_at = blob.pk, blob, now()
        keep(blob)
        recording.updated_at = now()
        found.append(file.path)
    row.offered_sha256 = row.offered_bytes = None
    return FileResult(file.path)


def _problem(file: FileBody) -> FileResult | None:
    if not is_wire_path(file.path):
        return FileResult(file.path, error=f"Bad path {file.path[:600]!r}: {PATH_RULE}", status=400)
    if file.size_bytes > MAX_SINGLE_PUT_BYTES and not file.in_parts:
        return FileResult(file.path, error="Larger than one PUT may be (5 GiB)", status=413)
    return None


def _columns(row: RecordingFile) -> dict[str, object]:
    return {
        "recording_pk": row.recording_pk,
        "path": row.path,
        "blob_pk": row.blob_pk,
        "offered_sha256": row.offered_sha256,
        "offered_bytes": row.offered_bytes,
    }


def _uploads_of(
    call: Call, recording: Recording, files: Sequence[FileBody], results: Sequence[FileResult]
) -> list[dict[str, object]]:
    """The registrations of the files that are to be uploaded."""
    return [
        {
            "project_pk": recording.project_pk,
            "recording_pk": recording.pk,
            "api_key_id": call.access.key_id,
            "path": file.path,
            "sha256": file.sha256,
            "size_bytes": file.size_bytes,
            "object_key": result.object_key,
        }
        for file, result in zip(files, results, strict=True)
        if result.object_key is not None
    ]


def _is_ready_now(row: RecordingFile | None) -> bool:
    return row is not None and row.blob_pk is not None


def _is_settled(session: Session, recording: Recording) -> bool:
    """Whether nothing of the working set is on its way."""
    query = select(RecordingFile.pk).where(
        RecordingFile.recording_pk == recording.pk, RecordingFile.offered_sha256.is_not(None)
    )
    return session.scalar(query.limit(1)) is None
