"""The frozen picture of everything on this box: what the app shows and `status` prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.states import State
from noeira_tui.recordings.compare import FileComparison


@dataclass(frozen=True)
class ServiceView:
    """The catalog service, seen from here. `reachable` is None while nobody asked; times are seconds since the epoch.

    `answer_at` is when the rows shown were last heard: older than `checked_at` when the service could not be asked.
    """

    url: str | None
    reachable: bool | None = None
    latency_ms: float | None = None
    error: str | None = None
    error_title: str | None = None
    hint: str | None = None
    checked_at: float | None = None
    answer_at: float | None = None
    retryable: bool = False


@dataclass(frozen=True)
class DatasetView:
    """One catalog dataset and its copy on this box.

    `status` is None for a file that no catalog row knows. `path` is the local copy's place, whether it is there or
    gone since; None when this box never had one. `partial_bytes` is what an interrupted pull left. `unsent_bytes` is
    what would be lost with this box. `detail` says in words why the state is what it is, where the word alone would
    leave one guessing; `last_state` is the state by the last answer, when the service could not be asked.
    """

    id: str
    state: State
    name: str | None = None
    version: str | None = None
    status: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    env_id: str | None = None
    n_rows: int | None = None
    n_episodes: int | None = None
    seed: int | None = None
    source_commit: str | None = None
    columns: str | None = None
    filename: str | None = None
    created_at: str | None = None
    path: Path | None = None
    local_bytes: int | None = None
    partial_bytes: int | None = None
    unsent_bytes: int = 0
    wanted_by: tuple[str, ...] = ()
    newer_version: str | None = None
    detail: str = ""
    last_state: State | None = None

    @property
    def bytes_to_fetch(self) -> int:
        """Bytes a pull would still move; 0 for what needs none or whose size is not known."""
        if self.state not in {State.MISSING, State.STALE, State.PARTIAL}:
            return 0
        return max(0, (self.size_bytes or 0) - (self.partial_bytes or 0))


@dataclass(frozen=True)
class RecordingView:
    """One recording of a project, here and on the service. `ahead`, `behind`, `held_back` and `unverified` count files.

    `unseen` names the parts of its folder that could not be looked at, so that nobody knows what is in them.
    """

    project: str
    dataset: str
    state: State
    episodes: int | None = None
    frames: int | None = None
    fps: float | None = None
    files: int = 0
    size_bytes: int | None = None
    ahead: int = 0
    behind: int = 0
    held_back: int = 0
    unverified: int = 0
    here: bool = False
    on_service: bool = False
    folder: Path | None = None
    unsent_bytes: int = 0
    bytes_to_fetch: int = 0
    wanted: bool = False
    problems: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    detail: str = ""
    last_state: State | None = None
    episodes_readable: int | None = None
    episodes_sent: int | None = None
    changed_at: float | None = None
    comparison: tuple[FileComparison, ...] = ()


@dataclass(frozen=True)
class ProjectView:
    """One project with its recordings, here and on the service."""

    project: str
    here: bool
    on_service: bool
    description: str | None = None
    recordings: tuple[RecordingView, ...] = ()
    wants: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Totals:
    """Counts over recordings, datasets and packs, and bytes to move. `unsent` counts what only this box has."""

    missing: int = 0
    stale: int = 0
    partial: int = 0
    invalid: int = 0
    unknown: int = 0
    unsent: int = 0
    bytes_to_fetch: int = 0
    bytes_unsent: int = 0
    jobs_running: int = 0


@dataclass(frozen=True)
class Overview:
    """Everything on this box and its state at `taken_at` (seconds since the epoch).

    `safe_to_destroy` is True when nothing here would be lost with the box; `unsafe_because` says in words what would.
    """

    box: str
    root: Path
    projects_dir: Path
    service: ServiceView
    projects: tuple[ProjectView, ...]
    datasets: tuple[DatasetView, ...]
    packs: tuple[PackStatus, ...]
    totals: Totals
    safe_to_destroy: bool
    unsafe_because: tuple[str, ...]
    free_bytes: int | None
    taken_at: float
    warnings: tuple[str, ...] = ()

    @property
    def recordings(self) -> tuple[RecordingView, ...]:
        """The recordings of all projects."""
        return tuple(recording for project in self.projects for recording in project.recordings)

    @property
    def has_anything(self) -> bool:
        """Whether a copy of any recording or dataset is on this box."""
        return any(view.here for view in self.recordings) or any(view.local_bytes is not None for view in self.datasets)

    @property
    def states(self) -> frozenset[State]:
        """Every state that occurs."""
        return frozenset(
            [
                *(item.state for item in self.recordings),
                *(item.state for item in self.datasets),
                *(item.state for item in self.packs),
            ]
        )
