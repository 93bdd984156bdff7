"""Projects: list, make, and the recordings in them."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import func, select

from noeira_tui.catalog.wire import ProjectRow, RecordingRow, format_time
from noeira_tui.service import answers
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import ProjectBody, RecordingBody
from noeira_tui.service.context import Authorised, Json, ProtectedRoute
from noeira_tui.service.doomed import doom_uploads
from noeira_tui.service.finding import check_segment, find_project, find_recording, projects_of
from noeira_tui.service.pages import Paged
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Blob, FileUpload, Project, Recording, RecordingFile, now

router = APIRouter(route_class=ProtectedRoute, prefix="/projects", tags=["projects"], responses=REFUSALS)


@router.get("", **answers.answers(list[answers.Project]))
def list_projects(call: Authorised, page: Paged, response: Response) -> list[Json]:
    """The projects this key may see, by slug."""
    query = projects_of(call).order_by(Project.slug).limit(page.fetch)
    if page.after is not None:
        query = query.where(Project.slug > page.after)
    with call.database.read() as session:
        rows = page.cut(session.scalars(query).all(), response, lambda row: row.slug)
        counted = (
            select(Recording.project_pk, func.count())
            .join(Project, Project.pk == Recording.project_pk)
            .where(Project.account_pk == call.access.account_pk)
            .group_by(Recording.project_pk)
        )
        counts = {row[0]: row[1] for row in session.execute(counted)}
    return [
        ProjectRow(row.slug, row.description, run_count=0, dataset_count=counts.get(row.pk, 0)).to_json()
        for row in rows
    ]


@router.put("/{slug}", **answers.answers(answers.ProjectPut))
def put_project(call: Authorised, slug: str, body: ProjectBody | None = None) -> Json:
    """Make a project, or change its description."""
    check_segment("project", slug)
    if call.access.project not in {None, slug}:
        raise RequestRefusedError(403, f"This API key is limited to the project {call.access.project}")
    description = body.description if body is not None else None
    with call.database.write() as session:
        row = session.scalar(projects_of(call).where(Project.slug == slug).with_for_update(key_share=True))
        if row is None:
            call.bounds.new_project(session, call.access)
            call.note(session, Action.REGISTERED, f"projects/{slug}")
            row = Project(account_pk=call.access.account_pk, slug=slug, description=description)
            session.add(row)
        elif description is not None and description != row.description:
            row.description, row.updated_at = description, now()
    return {"slug": slug, "description": row.description}


@router.get("/{slug}/datasets", **answers.answers(list[answers.Recording]))
def list_recordings(call: Authorised, slug: str, page: Paged, response: Response) -> list[Json]:
    """The recordings of a project, by name, with what their working sets hold."""
    with call.database.read() as session:
        project = find_project(session, call, slug)
        query = select(Recording).where(Recording.project_pk == project.pk).order_by(Recording.name).limit(page.fetch)
        if page.after is not None:
            query = query.where(Recording.name > page.after)
        rows = page.cut(session.scalars(query).all(), response, lambda row: row.name)
        counted = (
            select(
                RecordingFile.recording_pk,
                func.count(),
                func.count(RecordingFile.blob_pk),
                func.coalesce(func.sum(Blob.size_bytes), 0),
            )
            .outerjoin(Blob, Blob.pk == RecordingFile.blob_pk)
            .join(Recording, Recording.pk == RecordingFile.recording_pk)
            .where(Recording.project_pk == project.pk)
            .group_by(RecordingFile.recording_pk)
        )
        counts = {pk: (files, ready, int(size)) for pk, files, ready, size in session.execute(counted)}
    return [_recording_row(row, *counts.get(row.pk, (0, 0, 0))).to_json() for row in rows]


@router.put("/{slug}/datasets/{name}", **answers.answers(answers.Counts))
def put_recording(call: Authorised, slug: str, name: str, body: RecordingBody) -> Json:
    """Make a recording, or change its counts; facts that are absent stay as they are."""
    check_segment("dataset", name)
    with call.database.write() as session:
        project = find_project(session, call, slug, lock=True)
        wanted = select(Recording).where(Recording.project_pk == project.pk, Recording.name == name)
        row = session.scalar(wanted.with_for_update(key_share=True))
        if row is None:
            call.bounds.new_recording(session, project)
            call.note(session, Action.REGISTERED, f"projects/{slug}/datasets/{name}")
            row = Recording(project_pk=project.pk, name=name)
            session.add(row)
        for field in ("n_episodes", "n_frames", "fps"):
            value = getattr(body, field)
            if value is not None:
                setattr(row, field, value)
        row.updated_at = now()
        project.updated_at = now()
    return {"name": row.name, "nEpisodes": row.n_episodes, "nFrames": row.n_frames, "fps": row.fps}


@router.delete("/{slug}/datasets/{name}", status_code=204)
def remove_recording(call: Authorised, slug: str, name: str) -> None:
    """Forget a recording with its files and revisions."""
    with call.database.write() as session:
        row = find_recording(session, call, slug, name, lock=True)
        doom_uploads(session, call.context.config, FileUpload, FileUpload.recording_pk == row.pk)
        session.delete(row)
        call.note(session, Action.DELETED, f"projects/{slug}/datasets/{name}")


def _recording_row(row: Recording, file_count: int, ready_count: int, size_bytes: int) -> RecordingRow:
    return RecordingRow(
        name=row.name,
        n_episodes=row.n_episodes,
        n_frames=row.n_frames,
        fps=row.fps,
        file_count=file_count,
        ready_count=ready_count,
        size_bytes=size_bytes,
        updated_at=format_time(row.updated_at),
    )
