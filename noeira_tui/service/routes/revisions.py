"""Revisions of a recording: commit, list, restore, remove."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy import func, select

from noeira_tui.catalog.wire import format_time
from noeira_tui.service import answers, revisions
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import RevisionBody
from noeira_tui.service.context import Authorised, Json, ProtectedRoute
from noeira_tui.service.finding import check_path, find_recording
from noeira_tui.service.pages import Paged
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Blob, Revision, RevisionFile

router = APIRouter(
    route_class=ProtectedRoute,
    prefix="/projects/{slug}/datasets/{name}/revisions",
    tags=["revisions"],
    responses=REFUSALS,
)
_COMMITTED = answers.answers(answers.Committed, (200, answers.Committed), status=201)
Number = Annotated[int, Path(ge=1, le=2**62)]


@router.get("", **answers.answers(list[answers.Revision]))
def list_revisions(call: Authorised, slug: str, name: str, page: Paged, response: Response) -> list[Json]:
    """The revisions of a recording, newest first; `after` is a revision's number."""
    if page.after is not None and not (page.after.isascii() and page.after.isdigit() and len(page.after) < 19):
        raise RequestRefusedError(422, "after: a revision's number")
    with call.database.read() as session:
        recording = find_recording(session, call, slug, name)
        query = (
            select(Revision)
            .where(Revision.recording_pk == recording.pk)
            .order_by(Revision.number.desc())
            .limit(page.fetch)
        )
        if page.after is not None:
            query = query.where(Revision.number < int(page.after))
        rows = page.cut(session.scalars(query).all(), response, lambda row: str(row.number))
        counted = (
            select(RevisionFile.revision_pk, func.count(), func.coalesce(func.sum(Blob.size_bytes), 0))
            .join(Blob, Blob.pk == RevisionFile.blob_pk)
            .where(RevisionFile.revision_pk.in_([row.pk for row in rows]))
            .group_by(RevisionFile.revision_pk)
        )
        counts = {pk: (files, int(size)) for pk, files, size in session.execute(counted)}
    return [_row(row, *counts.get(row.pk, (0, 0))) for row in rows]


@router.post("", status_code=201, **_COMMITTED)
def commit_revision(call: Authorised, slug: str, name: str, body: RevisionBody, response: Response) -> Json:
    """Commit the named files as what readers get; one equal to the newest is answered 200 with that one."""
    for path in body.files:
        check_path(path)
    with call.database.write() as session:
        recording = find_recording(session, call, slug, name, lock=True)
        elsewhere = partial(call.readable_blobs, session)
        committed = revisions.commit_named(session, recording, body.files, elsewhere, body.n_episodes, body.n_frames)
        if committed.created:
            call.bounds.made_revision(session, recording)
            call.note(session, Action.COMMITTED, f"{_subject(slug, name)}/revisions/{committed.revision.number}")
        return _committed(committed, response)


@router.post("/{number}/restore", status_code=201, **_COMMITTED)
def restore_revision(call: Authorised, slug: str, name: str, number: Number, response: Response) -> Json:
    """Make an old revision the newest again; repeated, it is answered 200."""
    with call.database.write() as session:
        recording = find_recording(session, call, slug, name, lock=True)
        restored = revisions.restore(session, recording, number)
        if restored.created:
            call.note(session, Action.RESTORED, f"{_subject(slug, name)}/revisions/{number}")
        return _committed(restored, response)


@router.delete("/{number}", status_code=204)
def remove_revision(call: Authorised, slug: str, name: str, number: Number) -> None:
    """Forget an old revision; 409 for the newest one, which is what readers get."""
    with call.database.write() as session:
        recording = find_recording(session, call, slug, name, lock=True)
        row = revisions.numbered(session, recording, number)
        newest = revisions.newest(session, recording)
        if newest is not None and newest.pk == row.pk:
            raise RequestRefusedError(409, f"Revision {number} is the newest of {name}: restore another one first")
        session.delete(row)
        call.note(session, Action.DELETED, f"{_subject(slug, name)}/revisions/{number}")


def _subject(slug: str, name: str) -> str:
    return f"projects/{slug}/datasets/{name}"


def _committed(committed: revisions.Committed, response: Response) -> Json:
    if not committed.created:
        response.status_code = 200
    return {"revision": committed.revision.number, "createdAt": format_time(committed.revision.created_at)}


def _row(row: Revision, file_count: int, size_bytes: int) -> Json:
    return {
        "revision": row.number,
        "createdAt": format_time(row.created_at),
        "nEpisodes": row.n_episodes,
        "nFrames": row.n_frames,
        "fps": row.fps,
        "fileCount": file_count,
        "sizeBytes": size_bytes,
    }
