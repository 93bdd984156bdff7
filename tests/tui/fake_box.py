"""A box made of facts, for tests and screenshots of the app: no disk, no service, no jobs of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import JobError, NoeiraError
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobFailure, JobRecord, JobSpec, JobState
from noeira_tui.overview.picture import (
    DatasetView,
    Overview,
    ProjectView,
    RecordingView,
    ServiceView,
    Totals,
)
from noeira_tui.overview.safety import count, unsafe_reasons

NOW = 1_790_000_000.0
ROOT = Path("/data/robots")
WEIRD_NAMES = (
    "[/",
    "[bold",
    "[@click=app.quit]x",
    "é→日本語データ",
    "n" * 200,
    "lone\udcffbyte",
    "tab\tline\nescape\x1b[31mred\x07",
    "right\u202eto\u200bleft",
    "[red]not red[/red]",
    "back\\slash[/]$tone-good",
)


def frozen_clock() -> float:
    return NOW


def digest(seed: str) -> str:
    """Something that looks like a sha256, the same for the same seed."""
    import hashlib

    return hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()


def dataset(dataset_id: str, state: State, size_bytes: int | None = 1_000_000, **facts: object) -> DatasetView:
    """A catalog dataset with plausible facts; `facts` overrule them."""
    name, _, version = dataset_id.rpartition("-")
    in_catalog = state is not State.LOCAL
    here = state in {State.CURRENT, State.STALE, State.MODIFIED, State.DIVERGED, State.LOCAL, State.UNVERIFIED}
    defaults: dict[str, object] = {
        "name": name if in_catalog else None,
        "version": version if in_catalog else None,
        "status": None if not in_catalog else "pending" if state is State.PENDING else "ready",
        "size_bytes": None if state is State.PENDING else size_bytes,
        "sha256": None if state in {State.PENDING, State.LOCAL} else digest(dataset_id),
        "path": ROOT / "data" / f"{dataset_id}.h5" if here else None,
        "local_bytes": size_bytes if here else None,
        "unsent_bytes": (size_bytes or 0) if state in {State.LOCAL, State.MODIFIED, State.DIVERGED} else 0,
    }
    return DatasetView(id=dataset_id, state=state, **{**defaults, **facts})  # type: ignore[arg-type]


def pack(name: str, version: str, state: State, size_bytes: int | None, detail: str = "") -> PackStatus:
    return PackStatus(
        pack=name,
        version=version,
        provider="https",
        manifest=ROOT / "projects/so101-tower/assets.kv",
        dest=ROOT / "projects/so101-tower/assets" / name,
        size_bytes=size_bytes,
        sha256=digest(name),
        state=state,
        detail=detail,
    )


def recording(project: str, name: str, state: State, episodes: int, **facts: object) -> RecordingView:
    defaults: dict[str, object] = {
        "episodes": episodes,
        "frames": episodes * 750,
        "fps": 30.0,
        "files": episodes + 4,
        "size_bytes": episodes * 11_000_000,
        "here": state not in {State.REMOTE, State.MISSING},
        "on_service": state not in {State.LOCAL},
        "folder": ROOT / "projects" / project / name if state not in {State.REMOTE, State.MISSING} else None,
    }
    return RecordingView(project=project, dataset=name, state=state, **{**defaults, **facts})  # type: ignore[arg-type]


def overview(
    *,
    projects: tuple[ProjectView, ...] = (),
    datasets: tuple[DatasetView, ...] = (),
    packs: tuple[PackStatus, ...] = (),
    service: ServiceView | None = None,
    warnings: tuple[str, ...] = (),
    box: str = "gpu-box-3",
) -> Overview:
    reasons = unsafe_reasons(projects, datasets, ())
    return Overview(
        box=box,
        root=ROOT,
        projects_dir=ROOT / "projects",
        service=service or ServiceView("https://cloud.noeira.ai", True, 34.0, checked_at=NOW, answer_at=NOW),
        projects=projects,
        datasets=datasets,
        packs=packs,
        totals=count(projects, datasets, packs),
        safe_to_destroy=not reasons,
        unsafe_because=reasons,
        free_bytes=412_000_000_000,
        taken_at=NOW,
        warnings=warnings,
    )


def sample() -> Overview:
    """A box in the middle of its work: something of everything."""
    return overview(
        projects=(
            ProjectView(
                "so101-tower",
                True,
                True,
                "Stack cubes with an SO-101",
                wants=("pusht-demos-v3",),
                recordings=(
                    recording(
                        "so101-tower",
                        "cube-in-bowl",
                        State.RECORDING,
                        12,
                        held_back=1,
                        ahead=2,
                        unsent_bytes=48_000_000,
                        detail="written 3 s ago",
                    ),
                    recording("so101-tower", "trial-01", State.CURRENT, 40),
                ),
            ),
            ProjectView(
                "pusht",
                True,
                True,
                recordings=(
                    recording("pusht", "expert", State.MISSING, 206, bytes_to_fetch=310_000_000, wanted=True),
                    recording("pusht", "teleop-b", State.AHEAD, 18, ahead=6, unsent_bytes=66_000_000),
                ),
            ),
            ProjectView("aloha-fold", False, True, recordings=(recording("aloha-fold", "shirts", State.REMOTE, 85),)),
        ),
        datasets=(
            dataset("walker-random-v1", State.CURRENT, 992_000_000, n_rows=1_000_000, env_id="Walker2d-v5"),
            dataset(
                "pusht-demos-v3",
                State.STALE,
                2_100_000_000,
                n_episodes=206,
                newer_version="v4",
                wanted_by=("so101-tower",),
                path=ROOT / "data/pusht-demos-v3.zarr.zip",
            ),
            dataset(
                "g1-walk-v2",
                State.PARTIAL,
                40_200_000_000,
                n_episodes=27,
                seed=7,
                source_commit="081b53c0aa41",
                partial_bytes=27_400_000_000,
                env_id="G1Walk-v0",
                path=ROOT / "data/g1-walk-v2.tar.zst",
            ),
            dataset(
                "hopper-medium-v2",
                State.MISSING,
                611_000_000,
                seed=3,
                source_commit="9fc2d1",
                path=ROOT / "data/hopper-medium-v2.h5",
                detail="pulled once, gone since",
            ),
            dataset("walker-broken-v1", State.PENDING),
            dataset("reacher-notes-v1", State.MODIFIED, 4_100_000, detail="changed here since the last pull"),
            dataset("sweep-0419", State.LOCAL, 18_300_000, path=ROOT / "data/sweep-0419.h5"),
            dataset("kitchen-mixed-v1", State.REMOTE, 7_400_000_000, n_episodes=603),
        ),
        packs=(
            pack("libero", "v1", State.MISSING, 189_000_000),
            pack("so101", "v2", State.CURRENT, 41_000_000),
            pack("aloha", "v1", State.PARTIAL, 77_000_000, "1 of 3 files is gone"),
        ),
    )


def job(
    job_id: int,
    kind: str,
    target: str,
    state: JobState,
    *,
    progress: ProgressSnapshot | None = None,
    failure: JobFailure | None = None,
    ended_s_ago: float = 60,
) -> JobRecord:
    live = state in {JobState.QUEUED, JobState.RUNNING, JobState.PAUSED}
    verb = "push" if "push" in kind else "pull"
    return JobRecord(
        id=job_id,
        spec=JobSpec(kind, f"{verb} {target}", target, "{}", ROOT, ROOT, service_url="https://cloud.noeira.ai"),
        state=state,
        progress=progress or ProgressSnapshot(),
        created_at=NOW - 200,
        started_at=None if state is JobState.QUEUED else NOW - 129,
        finished_at=None if live else NOW - ended_s_ago,
        failure=failure,
    )


def sample_jobs() -> tuple[JobRecord, ...]:
    return (
        job(4, "catalog-push", "sweep-0419-v1", JobState.QUEUED),
        job(3, "catalog-pull", "g1-walk-v2", JobState.RUNNING,
            progress=ProgressSnapshot(27_400_000_000, 40_200_000_000, rate=212_000_000, phase="downloading")),
        job(2, "catalog-pull", "kitchen-mixed-v1", JobState.FAILED,
            failure=JobFailure("Disk full", "The disk needs 3.1 GB more for kitchen-mixed-v1.",
                               "Free some space, then retry.")),
        job(1, "catalog-pull", "walker-random-v1", JobState.DONE,
            progress=ProgressSnapshot(992_000_000, 992_000_000), ended_s_ago=240),
    )  # fmt: skip


@dataclass
class FakeBox:
    """Implements `noeira_tui.tui.ports.BoxLike` from facts a test may change at any time; remembers what was asked."""

    picture: Overview = field(default_factory=sample)
    rows: tuple[JobRecord, ...] = ()
    settings: Settings = field(
        default_factory=lambda: Settings(root=ROOT, cwd=ROOT, env_file=None, places=(), _values={})
    )
    asked: list[tuple[object, ...]] = field(default_factory=list)
    fails_with: NoeiraError | None = None
    looks_fail_with: NoeiraError | None = None
    jobs_fail_with: NoeiraError | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    log_text: str = "12:00:01 describe\n12:00:02 downloading\n"
    hold_looks: threading.Event | None = None
    on_look: Callable[[], None] | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _version: int = 0

    def look(self, *, ask_service: bool = True) -> Overview:
        if self.on_look is not None:
            self.on_look()
        if self.hold_looks is not None:
            self.hold_looks.wait(30)
        if self.looks_fail_with is not None:
            raise self.looks_fail_with
        with self._lock:
            self.asked.append(("look", ask_service))
            return self.picture

    def jobs(self) -> tuple[JobRecord, ...]:
        with self._lock:
            return tuple(sorted(self.rows, key=lambda row: -row.id))

    def jobs_version(self) -> object:
        if self.jobs_fail_with is not None:
            raise self.jobs_fail_with
        return self._version

    def set_jobs(self, *rows: JobRecord) -> None:
        with self._lock:
            self.rows = rows
            self._version += 1

    def can_pull(self, dataset: DatasetView) -> str | None:
        if dataset.id in self.refusals:
            return self.refusals[dataset.id]
        reasons = {State.PENDING: "Its upload never completed.", State.CURRENT: "It is here and current."}
        return reasons.get(dataset.state)

    def can_push(self, dataset: DatasetView) -> str | None:
        if dataset.id in self.refusals:
            return self.refusals[dataset.id]
        return None if dataset.local_bytes is not None else "There is no file of it here to push."

    def pull(self, dataset_id: str, *, force: bool = False) -> JobRecord:
        return self._start("catalog-pull", dataset_id, ("pull", dataset_id, force))

    def push(self, dataset: DatasetView) -> JobRecord:
        return self._start("catalog-push", dataset.id, ("push", dataset.id))

    def push_as(self, dataset: DatasetView, name: str, version: str) -> JobRecord:
        return self._start("catalog-push", f"{name}-{version}", ("push_as", dataset.id, name, version))

    def cancel(self, job_id: int) -> None:
        self._record(("cancel", job_id))
        self.set_jobs(
            *(replace(row, state=JobState.CANCELLED, finished_at=NOW) if row.id == job_id else row for row in self.rows)
        )

    def retry(self, job_id: int) -> JobRecord:
        self._record(("retry", job_id))
        found = [row for row in self.rows if row.id == job_id]
        if not found:
            raise JobError(f"There is no job {job_id}.")
        again = replace(found[0], state=JobState.QUEUED, failure=None, finished_at=None)
        self.set_jobs(*(again if row.id == job_id else row for row in self.rows))
        return again

    def log(self, job_id: int) -> str:
        self._record(("log", job_id))
        return self.log_text

    def close(self) -> None:
        self.asked.append(("close",))

    def _start(self, kind: str, target: str, asked: tuple[object, ...]) -> JobRecord:
        self._record(asked)
        row = job(max((row.id for row in self.rows), default=0) + 1, kind, target, JobState.QUEUED)
        self.set_jobs(row, *self.rows)
        return row

    def _record(self, asked: tuple[object, ...]) -> None:
        with self._lock:
            self.asked.append(asked)
            if self.fails_with is not None:
                raise self.fails_with


__all__ = [
    "NOW",
    "ROOT",
    "WEIRD_NAMES",
    "FakeBox",
    "Totals",
    "dataset",
    "frozen_clock",
    "job",
    "overview",
    "pack",
    "recording",
    "sample",
    "sample_jobs",
]
