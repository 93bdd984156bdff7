"""The projects' side of the picture: recordings here and on the service, and what `dataset=` lines want."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.catalog.wire import RecordingAnswer, RecordingRow
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.overview.asking import Asked
from noeira_tui.overview.datasets import NOT_ASKED
from noeira_tui.overview.digests import GlanceDigests
from noeira_tui.overview.picture import ProjectView, RecordingView
from noeira_tui.recordings.atglance import compare_at_glance, episodes_there
from noeira_tui.recordings.compare import FileState
from noeira_tui.recordings.projects import LocalProject
from noeira_tui.recordings.tables import TableReader

_UNSEEN = "is not entered"
_KNOWN_OFFLINE = frozenset({State.MISSING, State.INVALID, State.RECORDING})


@dataclass(frozen=True)
class Glance:
    """What a look reads recordings with: `now` is the wall clock in seconds, `db` remembers what was synced, `tables`
    what the tables hold."""

    digests: GlanceDigests
    now: float
    db: StateDb
    tables: TableReader


def view_projects(projects_here: Iterable[LocalProject], asked: Asked, glance: Glance) -> tuple[ProjectView, ...]:
    """Every project here or on the service with its recordings; sorted by name."""
    here = {project.slug: project for project in projects_here}
    there = {row.slug: row for row in asked.answer.projects} if asked.answer is not None else {}
    views = []
    for slug in sorted(here.keys() | there.keys()):
        local, row = here.get(slug), there.get(slug)
        views.append(
            ProjectView(
                project=slug,
                here=local is not None and local.has_definition,
                on_service=row is not None,
                description=(local.description if local else None) or (row.description if row else None),
                recordings=_view_recordings(slug, local, asked, glance),
                wants=local.wanted if local else (),
                problem="; ".join(local.problems) if local else "",
            )
        )
    return tuple(views)


def wanted_datasets(
    projects_here: Iterable[LocalProject], recordings: Set[tuple[str, str]], asked: Asked
) -> Mapping[str, tuple[str, ...]]:
    """Catalog ids that `dataset=` lines need here, each with the projects that need it.

    A line names a recording of its project first; what is neither that nor a row of the catalog is not taken for an id.
    """
    rows = {row.id for row in asked.answer.datasets} if asked.answer is not None else set()
    wanted: dict[str, tuple[str, ...]] = {}
    for project in projects_here:
        for name in project.wanted:
            if (project.slug, name) not in recordings and name in rows:
                wanted[name] = (*wanted.get(name, ()), project.slug)
    return wanted


def add_missing(
    projects: tuple[ProjectView, ...], projects_here: Iterable[LocalProject], dataset_ids: Set[str]
) -> tuple[ProjectView, ...]:
    """The projects with what they want and neither this box nor the service has, as missing recordings."""
    wanted = {project.slug: project.wanted for project in projects_here}
    result = []
    for view in projects:
        known = {recording.dataset for recording in view.recordings}
        lacking = [name for name in wanted.get(view.project, ()) if name not in known and name not in dataset_ids]
        extra = tuple(
            RecordingView(
                view.project,
                name,
                State.MISSING,
                wanted=True,
                detail="a dataset= line names it; it is not here, and the service is not known to have it",
            )
            for name in lacking
        )
        result.append(replace(view, recordings=(*view.recordings, *extra)) if extra else view)
    return tuple(result)


def _view_recordings(slug: str, local: LocalProject | None, asked: Asked, glance: Glance) -> tuple[RecordingView, ...]:
    folders = {folder.name: folder for folder in local.recordings} if local else {}
    rows = {row.name: row for row in asked.answer.recordings.get(slug, ())} if asked.answer is not None else {}
    wanted = set(local.wanted) if local else set()
    views = []
    for name in sorted(folders.keys() | rows.keys()):
        files = asked.answer.files.get((slug, name)) if asked.answer is not None else None
        if name in folders:
            view = _view_here(folders[name], rows.get(name), files, name in wanted, asked.service.url, glance)
        else:
            view = _view_remote(slug, rows[name], name in wanted)
        views.append(_as_asked(view, asked))
    return tuple(views)


def _view_here(
    folder: Path,
    row: RecordingRow | None,
    files: RecordingAnswer | None,
    wanted: bool,
    service_url: str | None,
    glance: Glance,
) -> RecordingView:
    recording, result = compare_at_glance(
        glance.db,
        service_url,
        folder,
        files,
        glance.digests.of,
        glance.now,
        look_up=glance.digests.look_up,
        wanted=wanted,
        tables=glance.tables,
    )
    detail = result.reason or (recording.problems[0] if recording.problems else "")
    return RecordingView(
        project=recording.project,
        dataset=recording.dataset,
        state=result.state,
        episodes=recording.episodes,
        frames=recording.frames,
        fps=recording.fps,
        files=len(recording.files),
        size_bytes=recording.size_bytes,
        ahead=result.ahead,
        behind=result.behind,
        held_back=result.held_back,
        unverified=sum(file.state is FileState.UNVERIFIED for file in result.files),
        unseen=tuple(problem for problem in recording.problems if problem.endswith(_UNSEEN) or "/ cannot" in problem),
        here=True,
        on_service=row is not None,
        folder=recording.folder,
        unsent_bytes=recording.size_bytes if files is None else result.unsent_bytes,
        bytes_to_fetch=result.bytes_to_fetch,
        wanted=wanted,
        problems=recording.problems,
        detail=detail,
        episodes_readable=recording.readable_episodes,
        episodes_sent=episodes_there(recording, result, files),
        changed_at=recording.changed_at,
        comparison=result.files,
    )


def _view_remote(slug: str, row: RecordingRow, wanted: bool) -> RecordingView:
    """A recording that only the service has; its row tells enough, its files need not be asked for."""
    complete = row.ready_count is None or row.ready_count > 0
    if not complete:
        state, detail = State.PENDING, "none of its files has been uploaded completely"
    elif wanted:
        state, detail = State.MISSING, "the project needs it here"
    else:
        state, detail = State.REMOTE, ""
    return RecordingView(
        project=slug,
        dataset=row.name,
        state=state,
        episodes=row.n_episodes,
        frames=row.n_frames,
        fps=row.fps,
        files=row.file_count or 0,
        size_bytes=row.size_bytes,
        behind=row.ready_count or row.file_count or 0,
        on_service=True,
        bytes_to_fetch=(row.size_bytes or 0) if complete else 0,
        wanted=wanted,
        detail=detail,
    )


def _as_asked(view: RecordingView, asked: Asked) -> RecordingView:
    if asked.tells or view.state in _KNOWN_OFFLINE:
        return view
    if asked.answer is None:
        return replace(view, state=State.UNKNOWN, unsent_bytes=0, detail=NOT_ASKED)
    return replace(view, state=State.UNKNOWN, last_state=view.state, detail=NOT_ASKED)
