"""Uploads of a recording's files completed: looked at side by side, and published in one turn at writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import FileBody
from noeira_tui.service.comparing import StillComparingError
from noeira_tui.service.contents import Contents, Upload, adopt_all, lock_contents
from noeira_tui.service.context import Call
from noeira_tui.service.finding import find_recording
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.revisions import commit_working_set
from noeira_tui.service.tables import Blob, FileUpload, Recording, RecordingFile, now
from noeira_tui.service.workingset import (
    FileResult,
    file_rows,
    is_ready,
    names_info,
    ready_contents,
    refused_as_changed,
    update_rows,
)

_LOOKERS = 16
_CANDIDATES = 4


def complete_files(call: Call, slug: str, name: str, files: Sequence[FileBody]) -> list[FileResult]:
    """Look at what was uploaded and publish what fits; the objects of equal contents are removed afterwards."""
    with call.database.read() as session:
        recording = find_recording(session, call, slug, name)
        ready = ready_contents(session, recording, files)
        waiting = [file for file in files if ready.get(file.path) != file.contents]
        candidates = _candidates(session, call, recording, waiting)
        known = call.readable_blobs(session, {file.sha256 for file in waiting})
    former = {contents: blob.object_key for contents, blob in known.items()}
    looked = _look(call, waiting, candidates, former)
    refused = _still_refused(call, slug, name, files, looked)
    spare: list[str] = []
    if waiting:
        call.store.flush()
        with call.database.write() as session:
            recording = find_recording(session, call, slug, name, lock=True)
            fitting = [one for one in looked.values() if isinstance(one, _Looked)]
            spare, turned_away = _publish(session, call, recording, f"projects/{slug}/datasets/{name}", fitting)
        refused |= {(one.file.path, one.file.contents): err for one, err in turned_away}
    call.store.discard(spare)
    slow = sum(one.status == 503 for one in refused.values())
    if slow:
        # What was compared in time is published, so whoever asks again is further.
        raise StillComparingError(f"{slow} of {len(files)} files are still being compared: complete them again")
    return [refused.get((file.path, file.contents), FileResult(file.path)) for file in files]


@dataclass(frozen=True)
class _Looked:
    """A file whose upload fits."""

    file: FileBody
    upload: Upload


_Key = tuple[str, Contents]
_Candidates = dict[_Key, list[str]]


def _look(
    call: Call, waiting: Sequence[FileBody], candidates: _Candidates, former: dict[Contents, str]
) -> dict[_Key, _Looked | FileResult]:
    deadline = call.comparisons.deadline()

    def look(file: FileBody) -> _Looked | FileResult:
        object_keys = candidates.get((file.path, file.contents))
        if not object_keys:
            return FileResult(file.path, error="Not registered by this API key: offer the file first", status=404)
        try:
            former_key = former.get(file.contents)
            return _Looked(file, call.comparisons.look_at_upload(object_keys, file.contents, former_key, deadline))
        except RequestRefusedError as err:
            return FileResult(file.path, error=err.message, status=err.status)

    if len(waiting) == 1:
        return {(waiting[0].path, waiting[0].contents): look(waiting[0])}
    with ThreadPoolExecutor(_LOOKERS, "look") as pool:
        return {(file.path, file.contents): one for file, one in zip(waiting, pool.map(look, waiting), strict=True)}


def _still_refused(
    call: Call, slug: str, name: str, files: Sequence[FileBody], looked: Mapping[_Key, _Looked | FileResult]
) -> dict[_Key, FileResult]:
    """What was refused, but for what a request for the same upload has published, and tidied up, meanwhile."""
    refused = {key: one for key, one in looked.items() if isinstance(one, FileResult)}
    if not refused:
        return refused
    again = [file for file in files if (file.path, file.contents) in refused]
    with call.database.read() as session:
        rows = file_rows(session, find_recording(session, call, slug, name), again)
        for file in again:
            if is_ready(rows.get(file.path), file):
                refused.pop((file.path, file.contents), None)
    return refused


def _publish(
    session: Session, call: Call, recording: Recording, subject: str, looked: Sequence[_Looked]
) -> tuple[list[str], list[tuple[_Looked, FileResult]]]:
    """Name what was looked at; the objects that are spare now, and files turned away: no room, or changed meanwhile."""
    places = _places(session, recording, [one.file for one in looked])
    lock_contents(session, call.access)
    known = call.readable_blobs(session, {one.file.sha256 for one in looked})
    uploads = _uploads(session, [one.upload.object_key for one in looked])
    spare: list[str] = []
    opened: list[tuple[_Looked, int, _Place]] = []
    turned_away: list[tuple[_Looked, FileResult]] = []
    room = call.bounds.room(session, call.access)
    for one in looked:
        upload_pk, place = uploads.get(one.upload.object_key), places.get(one.file.path)
        if upload_pk is None or place is None:
            # Another request completed or removed it meanwhile.
            spare += one.upload.leftovers(None)
            continue
        changed = refused_as_changed(one.file, place.sha256)
        if changed is not None:
            spare += one.upload.leftovers(None)
            turned_away.append((one, changed))
            continue
        try:
            if one.file.contents not in known:
                room.take(one.file.contents)
        except RequestRefusedError as err:
            spare += one.upload.leftovers(None)
            turned_away.append((one, FileResult(one.file.path, error=err.message, status=err.status)))
            continue
        opened.append((one, upload_pk, place))
    adopt_all(session, call.access, [one.upload for one, _, _ in opened], known)
    moment = now()
    for one, _, _ in opened:
        spare += one.upload.leftovers(known[one.upload.contents])
    update_rows(
        session, RecordingFile, [place.published(known[one.upload.contents], moment) for one, _, place in opened]
    )
    update_rows(session, FileUpload, [{"pk": upload_pk, "completed_at": moment} for _, upload_pk, _ in opened])
    done = [one.file for one, _, _ in opened]
    recording.updated_at = moment
    if done:
        size_bytes = sum(file.size_bytes for file in done)
        call.note(session, Action.COMPLETED, subject, [file.path for file in done], size_bytes)
    session.flush()
    if names_info(done):
        commit_working_set(session, recording)
    return spare, turned_away


@dataclass(frozen=True)
class _Place:
    """A row of the working set: the contents it has, and those that were offered for it last."""

    pk: int
    sha256: str | None
    offered_sha256: str | None
    offered_bytes: int | None

    def published(self, blob: Blob, moment: datetime) -> dict[str, object]:
        """What the row becomes; an offer of other contents stays open."""
        is_what_was_offered = (self.offered_sha256, self.offered_bytes) == (blob.sha256, blob.size_bytes)
        return {
            "pk": self.pk,
            "blob_pk": blob.pk,
            "updated_at": moment,
            "offered_sha256": None if is_what_was_offered else self.offered_sha256,
            "offered_bytes": None if is_what_was_offered else self.offered_bytes,
        }


def _places(session: Session, recording: Recording, files: Sequence[FileBody]) -> dict[str, _Place]:
    query = (
        select(
            RecordingFile.path,
            RecordingFile.pk,
            Blob.sha256,
            RecordingFile.offered_sha256,
            RecordingFile.offered_bytes,
        )
        .outerjoin(Blob, Blob.pk == RecordingFile.blob_pk)
        .where(RecordingFile.recording_pk == recording.pk, RecordingFile.path.in_({file.path for file in files}))
    )
    return {
        path: _Place(pk, sha256, offered_sha256, offered_bytes)
        for path, pk, sha256, offered_sha256, offered_bytes in session.execute(query)
    }


def _candidates(session: Session, call: Call, recording: Recording, files: Sequence[FileBody]) -> _Candidates:
    """Open registrations of these very contents by the same key, newest first; one that is named goes alone."""
    query = (
        select(FileUpload.path, FileUpload.sha256, FileUpload.size_bytes, FileUpload.object_key)
        .where(
            FileUpload.recording_pk == recording.pk,
            FileUpload.path.in_({file.path for file in files}),
            FileUpload.api_key_id == call.access.key_id,
            FileUpload.completed_at.is_(None),
        )
        .order_by(FileUpload.pk.desc())
    )
    named = {(file.path, file.contents): file.object_key for file in files}
    found: _Candidates = {}
    for path, sha256, size_bytes, object_key in session.execute(query):
        key = (path, Contents(sha256, size_bytes))
        if key in named and named[key] in {None, object_key}:
            found.setdefault(key, []).append(object_key)
    return {key: keys[:_CANDIDATES] for key, keys in found.items()}


def _uploads(session: Session, object_keys: Sequence[str]) -> dict[str, int]:
    """Registrations that nobody completed yet, by object key."""
    query = select(FileUpload.object_key, FileUpload.pk).where(
        FileUpload.object_key.in_(object_keys), FileUpload.completed_at.is_(None)
    )
    return {row.object_key: row.pk for row in session.execute(query)}
