"""What the pages show, as frozen facts, read in one go; and how sizes, times and counts are written."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from noeira_tui.core.paths import suffix_of
from noeira_tui.core.quantity import show_size
from noeira_tui.service import revisions
from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Blob, Dataset, Project, Recording, RecordingFile, Revision

PAGE = 200


@dataclass(frozen=True)
class DatasetLine:
    """A catalog dataset in a list, and on its own page."""

    id: str
    state: str
    size: str
    sha256: str | None
    recipe: str
    facts: tuple[tuple[str, str], ...]
    filename: str
    updated: str


@dataclass(frozen=True)
class RecordingLine:
    """A recording in a project's list."""

    name: str
    state: str
    episodes: str
    frames: str
    fps: str
    files: str
    size: str
    updated: str


@dataclass(frozen=True)
class ProjectLine:
    slug: str
    description: str
    recordings: int


@dataclass(frozen=True)
class FileLine:
    path: str
    state: str
    size: str
    sha256: str | None


@dataclass(frozen=True)
class RecordingPage:
    """A recording with the newest of its files and revisions. `revision` is the one readers get."""

    line: RecordingLine
    revision: int | None
    files: tuple[FileLine, ...]
    more: int
    revisions: tuple[tuple[int, str], ...]


def datasets(session: Session, access: Access, after: str) -> list[DatasetLine]:
    """One page of datasets and one more; a key limited to a project sees none."""
    if access.project is not None:
        return []
    query = (
        select(Dataset)
        .where(Dataset.account_pk == access.account_pk, Dataset.id > after)
        .options(joinedload(Dataset.blob))
        .order_by(Dataset.id)
        .limit(PAGE + 1)
    )
    return [_dataset(row) for row in session.scalars(query)]


def dataset(session: Session, access: Access, dataset_id: str) -> DatasetLine:
    """One dataset; 404 when this key may see none of that id."""
    query = select(Dataset).where(Dataset.account_pk == access.account_pk, Dataset.id == dataset_id)
    row = session.scalar(query.options(joinedload(Dataset.blob))) if access.project is None else None
    if row is None:
        raise RequestRefusedError(404, f"There is no dataset {dataset_id}")
    return _dataset(row)


def projects(session: Session, access: Access, after: str) -> list[ProjectLine]:
    """One page of projects and one more."""
    counted = select(func.count()).select_from(Recording).where(Recording.project_pk == Project.pk).scalar_subquery()
    query = select(Project, counted).where(Project.account_pk == access.account_pk, Project.slug > after)
    if access.project is not None:
        query = query.where(Project.slug == access.project)
    found = session.execute(query.order_by(Project.slug).limit(PAGE + 1))
    return [ProjectLine(row.slug, row.description or "", int(count)) for row, count in found]


def recordings(session: Session, access: Access, slug: str) -> tuple[ProjectLine, list[RecordingLine]]:
    """A project and its recordings; 404 when this key may see none of that name."""
    project = _project(session, access, slug)
    rows = session.scalars(
        select(Recording).where(Recording.project_pk == project.pk).order_by(Recording.name).limit(10 * PAGE)
    ).all()
    lines = [_recording(session, row) for row in rows]
    return ProjectLine(project.slug, project.description or "", len(lines)), lines


def recording(session: Session, access: Access, slug: str, name: str) -> RecordingPage:
    """A recording as readers get it: its newest revision, else its working set; 404 when there is none."""
    project = _project(session, access, slug)
    row = session.scalar(select(Recording).where(Recording.project_pk == project.pk, Recording.name == name))
    if row is None:
        raise RequestRefusedError(404, f"There is no dataset {name} in project {slug}")
    newest = revisions.newest(session, row)
    if newest is not None:
        files = [
            FileLine(path, "ready", show_size(blob.size_bytes), blob.sha256)
            for path, blob in revisions.files_of(session, newest)
        ]
    else:
        query = (
            select(RecordingFile).where(RecordingFile.recording_pk == row.pk).options(joinedload(RecordingFile.blob))
        )
        files = [
            FileLine(one.path, "ready", show_size(one.blob.size_bytes), one.blob.sha256)
            if one.blob is not None
            else FileLine(one.path, "pending", "—", None)
            for one in session.scalars(query.options(joinedload(RecordingFile.blob)).order_by(RecordingFile.path))
        ]
    history = session.execute(
        select(Revision.number, Revision.created_at)
        .where(Revision.recording_pk == row.pk)
        .order_by(Revision.number.desc())
        .limit(20)
    )
    return RecordingPage(
        line=_recording(session, row),
        revision=newest.number if newest is not None else None,
        files=tuple(files[:PAGE]),
        more=max(0, len(files) - PAGE),
        revisions=tuple((number, _time(at)) for number, at in history),
    )


def curl_line(base: str, row: DatasetLine) -> str:
    """A line for a shell that fetches a dataset: asks for the URL with the key, reads it without."""
    ask = f'curl -fsS -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" {shlex.quote(f"{base}/datasets/{row.id}")}'
    pick = """sed -n 's/.*"download_url":"\\([^"]*\\)".*/\\1/p'"""
    return f'curl -fL -o {shlex.quote(row.id + suffix_of(row.filename))} "$({ask} | {pick})"'


def _project(session: Session, access: Access, slug: str) -> Project:
    row = None
    if access.sees_project(slug):
        row = session.scalar(select(Project).where(Project.account_pk == access.account_pk, Project.slug == slug))
    if row is None:
        raise RequestRefusedError(404, f"There is no project {slug}")
    return row


def _dataset(row: Dataset) -> DatasetLine:
    told = (
        ("environment", row.env_id),
        ("rows", row.n_rows),
        ("episodes", row.n_episodes),
        ("columns", row.columns),
        ("created", _time(row.created_at)),
        ("updated", _time(row.updated_at)),
    )
    commit = f" @ {row.source_commit}" if row.source_commit else ""
    return DatasetLine(
        id=row.id,
        state="ready" if row.blob is not None else "pending",
        size=show_size(row.blob.size_bytes) if row.blob is not None else "—",
        sha256=row.blob.sha256 if row.blob is not None else None,
        recipe=f"seed {row.seed}{commit}" if row.seed is not None else commit.removeprefix(" "),
        facts=tuple((name, str(value)) for name, value in told if value is not None),
        filename=row.filename or "",
        updated=_time(row.updated_at),
    )


def _recording(session: Session, row: Recording) -> RecordingLine:
    files, ready, size = session.execute(
        select(func.count(), func.count(RecordingFile.blob_pk), func.coalesce(func.sum(Blob.size_bytes), 0))
        .select_from(RecordingFile)
        .outerjoin(Blob, Blob.pk == RecordingFile.blob_pk)
        .where(RecordingFile.recording_pk == row.pk)
    ).one()
    return RecordingLine(
        name=row.name,
        state="ready" if files and files == ready else "pending" if files else "empty",
        episodes=_count(row.n_episodes),
        frames=_count(row.n_frames),
        fps="—" if row.fps is None else f"{row.fps:g}",
        files=str(files) if files == ready else f"{ready} of {files}",
        size=show_size(int(size)),
        updated=_time(row.updated_at),
    )


def _count(number: int | None) -> str:
    return "—" if number is None else f"{number:,}"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
