"""The files of a recording: listed with URLs, offered, completed, one by one or in batches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from noeira_tui.catalog.wire import RowStatus
from noeira_tui.service import answers, revisions
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.bodies import BatchBody, FileBody
from noeira_tui.service.completions import complete_files
from noeira_tui.service.context import Authorised, Json, Links, ProtectedRoute
from noeira_tui.service.finding import find_recording
from noeira_tui.service.offers import offer_files
from noeira_tui.service.pages import Page, Paged
from noeira_tui.service.problems import error_answer
from noeira_tui.service.tables import Blob, Recording, RecordingFile, Revision
from noeira_tui.service.workingset import FileResult

router = APIRouter(
    route_class=ProtectedRoute, prefix="/projects/{slug}/datasets/{name}/files", tags=["files"], responses=REFUSALS
)
_REVISION = r"^(working|[1-9][0-9]{0,17})$"


@router.get("", **answers.answers(answers.Files))
def list_files(
    call: Authorised,
    slug: str,
    name: str,
    page: Paged,
    response: Response,
    revision: Annotated[str | None, Query(pattern=_REVISION)] = None,
) -> JSONResponse:
    """The newest committed revision's files where there is one, else the working set; or whichever is asked for."""
    with call.database.read() as session:
        recording = find_recording(session, call, slug, name)
        chosen = _chosen(session, recording, revision)
        if chosen is None:
            files = _working_files(session, recording)
        else:
            files = [(path, blob) for path, blob in revisions.files_of(session, chosen)]
    shown = page.cut(_after(files, page), response, lambda file: file[0])
    facts = chosen if chosen is not None else recording
    return JSONResponse(
        {
            "dataset": {
                "name": recording.name,
                "nEpisodes": facts.n_episodes,
                "nFrames": facts.n_frames,
                "fps": facts.fps,
            },
            "revision": chosen.number if chosen is not None else None,
            "files": [_file(path, blob, call.links) for path, blob in shown],
        },
        headers={name: text for name, text in response.headers.items() if name == "x-next-after"},
    )


@router.post(
    "", **answers.answers(answers.Unchanged, (201, answers.OfferedInParts | answers.Offered), words="Stored already")
)
def offer_file(call: Authorised, slug: str, name: str, body: FileBody) -> JSONResponse:
    """Offer a file: `unchanged` when its contents are stored, else where to put them."""
    (result,) = offer_files(call, slug, name, [body])
    if result.error is not None:
        return error_answer(result.status, result.error)
    offered = _offered(result, call.links)
    if body.in_parts and result.object_key is not None:
        offered |= {"bucket": call.store.bucket, "object_key": result.object_key}
    return JSONResponse(offered, result.status)


@router.post("/complete", **answers.answers(answers.FileReady))
def complete_file(call: Authorised, slug: str, name: str, body: FileBody) -> JSONResponse:
    """Publish an uploaded file, after looking at what the store has."""
    (result,) = complete_files(call, slug, name, [body])
    if result.error is not None:
        return error_answer(result.status, result.error)
    return JSONResponse(_completed(result))


@router.post("/batch", **answers.answers(answers.OfferedBatch))
def offer_batch(call: Authorised, slug: str, name: str, body: BatchBody) -> JSONResponse:
    """Offer up to 1,000 files; each has its own answer."""
    results = offer_files(call, slug, name, body.files)
    return JSONResponse({"files": [_offered(result, call.links) for result in results]})


@router.post("/complete-batch", **answers.answers(answers.CompletedBatch))
def complete_batch(call: Authorised, slug: str, name: str, body: BatchBody) -> JSONResponse:
    """Publish up to 1,000 uploaded files; each has its own answer."""
    return JSONResponse({"files": [_completed(result) for result in complete_files(call, slug, name, body.files)]})


def _chosen(session: Session, recording: Recording, asked: str | None) -> Revision | None:
    if asked == "working":
        return None
    if asked is not None:
        return revisions.numbered(session, recording, int(asked))
    return revisions.newest(session, recording)


def _working_files(session: Session, recording: Recording) -> list[tuple[str, Blob | None]]:
    query = (
        select(RecordingFile)
        .where(RecordingFile.recording_pk == recording.pk)
        .options(joinedload(RecordingFile.blob))
        .order_by(RecordingFile.path)
    )
    return [(row.path, row.blob) for row in session.scalars(query)]


def _after(files: list[tuple[str, Blob | None]], page: Page) -> list[tuple[str, Blob | None]]:
    after = page.after
    return files if after is None else [file for file in files if file[0] > after]


def _file(path: str, blob: Blob | None, links: Links) -> Json:
    if blob is None:
        return {
            "path": path,
            "sha256": None,
            "sizeBytes": None,
            "status": RowStatus.PENDING.value,
            "download_url": None,
            "expires_at": None,
        }
    return {
        "path": path,
        "sha256": blob.sha256,
        "sizeBytes": blob.size_bytes,
        "status": RowStatus.READY.value,
        **links.download(blob.object_key),
    }


def _offered(result: FileResult, links: Links) -> Json:
    if result.error is not None:
        return {"path": result.path, "error": result.error}
    if result.object_key is None:
        return {"path": result.path, "unchanged": True}
    return {"path": result.path, **links.upload(result.object_key)}


def _completed(result: FileResult) -> Json:
    if result.error is not None:
        return {"path": result.path, "error": result.error}
    return {"path": result.path, "status": RowStatus.READY.value}
