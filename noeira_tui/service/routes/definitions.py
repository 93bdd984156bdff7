"""Definition files of a project: small, and changed by compare-and-swap on their digest."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from noeira_tui.service import answers
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import DefinitionBody
from noeira_tui.service.contents import Contents, adopt, lock_contents
from noeira_tui.service.context import Authorised, Call, Json, ProtectedRoute
from noeira_tui.service.finding import check_path, find_project
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.store import fresh_object_key
from noeira_tui.service.tables import Blob, FileUpload, Project, ProjectFile, now

router = APIRouter(
    route_class=ProtectedRoute, prefix="/projects/{slug}/files", tags=["definitions"], responses=REFUSALS
)
_CANDIDATES = 4


@router.get("", **answers.answers(answers.Definitions))
def list_definitions(call: Authorised, slug: str) -> Json:
    """The definition files of a project, with URLs to read them."""
    with call.database.read() as session:
        project = find_project(session, call, slug)
        query = (
            select(ProjectFile)
            .where(ProjectFile.project_pk == project.pk)
            .options(joinedload(ProjectFile.blob))
            .order_by(ProjectFile.path)
        )
        rows = session.scalars(query).all()
    return {
        "project": project.slug,
        "description": project.description,
        "max_file_bytes": call.context.config.max_definition_bytes,
        "files": [
            {
                "path": row.path,
                "sha256": row.blob.sha256,
                "sizeBytes": row.blob.size_bytes,
                **call.links.download(row.blob.object_key),
            }
            for row in rows
        ],
    }


@router.post("/presign", **answers.answers(answers.Unchanged, (201, answers.Offered), words="Stored already"))
def offer_definition(call: Authorised, slug: str, body: DefinitionBody) -> JSONResponse:
    """Offer a definition file that changes the one with the digest `base_sha256`; 409 when that is no longer so."""
    _check(call, body)
    unchanged = JSONResponse({"path": body.path, "unchanged": True})
    with call.database.write() as session:
        project = find_project(session, call, slug, lock=True)
        row = _row(session, project, body.path)
        if _is_now(row, body):
            return unchanged
        _compare(row, body)
        blob = call.readable_blobs(session, [body.sha256]).get(body.contents)
        if blob is not None:
            _swap(session, call, project, row, body.path, blob)
            call.note(session, Action.COMPLETED, f"projects/{slug}", [body.path], body.size_bytes)
            return unchanged
        if row is None:
            call.bounds.new_definition(session, project)
        call.bounds.room(session, call.access).take(body.contents)
        object_key = fresh_object_key(body.path)
        session.add(
            FileUpload(
                project_pk=project.pk,
                api_key_id=call.access.key_id,
                path=body.path,
                sha256=body.sha256,
                size_bytes=body.size_bytes,
                object_key=object_key,
            )
        )
        call.note(session, Action.REGISTERED, f"projects/{slug}", [body.path], body.size_bytes)
    return JSONResponse({"path": body.path, **call.links.upload(object_key)}, 201)


@router.post("/complete", **answers.answers(answers.DefinitionReady))
def complete_definition(call: Authorised, slug: str, body: DefinitionBody) -> Json:
    """Publish an uploaded definition file, if the one it was based on is still the current one."""
    _check(call, body)
    done = {"path": body.path, "sha256": body.sha256}
    with call.database.read() as session:
        project = find_project(session, call, slug)
        row = _row(session, project, body.path)
        if _is_now(row, body):
            return done
        _compare(row, body)
        object_keys = [upload.object_key for upload in _open_uploads(session, call, project, body)]
        former = call.readable_blobs(session, [body.sha256]).get(body.contents)
    if not object_keys:
        raise RequestRefusedError(404, f"{body.path} is not registered by this API key: presign it first")
    former_key = former.object_key if former is not None else None
    try:
        looked = call.comparisons.look_at_upload(object_keys, body.contents, former_key)
    except RequestRefusedError:
        with call.database.read() as session:
            if _is_now(_row(session, find_project(session, call, slug), body.path), body):
                # A request for the same upload published it meanwhile, and tidied up.
                return done
        raise
    call.store.flush()
    blob = None
    with call.database.write() as session:
        project = find_project(session, call, slug, lock=True)
        row = _row(session, project, body.path)
        if not _is_now(row, body):
            _compare(row, body)
            opened = {upload.object_key: upload for upload in _open_uploads(session, call, project, body)}
            if looked.object_key not in opened:
                raise RequestRefusedError(409, "Completed meanwhile by another request", current_sha256=_digest(row))
            lock_contents(session, call.access)
            known = call.readable_blobs(session, [body.sha256])
            if body.contents not in known:
                call.bounds.room(session, call.access).take(body.contents)
            blob = adopt(session, call.access, looked, known)
            opened[looked.object_key].completed_at = now()
            _swap(session, call, project, row, body.path, blob)
            call.note(session, Action.COMPLETED, f"projects/{slug}", [body.path], body.size_bytes)
    call.store.discard(looked.leftovers(blob))
    return done


def _check(call: Call, body: DefinitionBody) -> None:
    check_path(body.path)
    cap = call.context.config.max_definition_bytes
    if body.size_bytes > cap:
        raise RequestRefusedError(413, f"{body.path} has {body.size_bytes} bytes; a definition file has at most {cap}")


def _row(session: Session, project: Project, path: str) -> ProjectFile | None:
    query = (
        select(ProjectFile)
        .where(ProjectFile.project_pk == project.pk, ProjectFile.path == path)
        .options(joinedload(ProjectFile.blob, innerjoin=True))
        .with_for_update(of=ProjectFile, key_share=True)
    )
    return session.scalar(query)


def _digest(row: ProjectFile | None) -> str | None:
    return row.blob.sha256 if row is not None else None


def _is_now(row: ProjectFile | None, body: DefinitionBody) -> bool:
    return row is not None and Contents(row.blob.sha256, row.blob.size_bytes) == body.contents


def _compare(row: ProjectFile | None, body: DefinitionBody) -> None:
    current = _digest(row)
    if current != body.base:
        raise RequestRefusedError(409, f"{body.path} was changed by someone else", current_sha256=current)


def _swap(session: Session, call: Call, project: Project, row: ProjectFile | None, path: str, blob: Blob) -> None:
    if row is None:
        call.bounds.new_definition(session, project)
        session.add(ProjectFile(project_pk=project.pk, path=path, blob_pk=blob.pk))
    else:
        row.blob_pk, row.updated_at = blob.pk, now()
    project.updated_at = now()


def _open_uploads(session: Session, call: Call, project: Project, body: DefinitionBody) -> list[FileUpload]:
    query = (
        select(FileUpload)
        .where(
            FileUpload.project_pk == project.pk,
            FileUpload.recording_pk.is_(None),
            FileUpload.path == body.path,
            FileUpload.api_key_id == call.access.key_id,
            FileUpload.sha256 == body.sha256,
            FileUpload.size_bytes == body.size_bytes,
            FileUpload.completed_at.is_(None),
        )
        .order_by(FileUpload.pk.desc())
        .limit(_CANDIDATES)
    )
    return list(session.scalars(query))
