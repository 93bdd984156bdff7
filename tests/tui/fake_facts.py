"""Facts of a box, for tests and screenshots of the app: recordings, datasets, packs and jobs in every state."""

from __future__ import annotations

import time
from pathlib import Path

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import SPECS, Setting, Source
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobFailure, JobRecord, JobSpec, JobState
from noeira_tui.overview.picture import (
    DatasetView,
    Overview,
    ProjectView,
    RecordingView,
    ServiceView,
)
from noeira_tui.overview.safety import count, unsafe_reasons
from noeira_tui.recordings.compare import FileComparison, FileState

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


NO_SETTINGS = {spec.name: Setting(spec, None, Source.DEFAULT, "") for spec in SPECS}


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


def pack(
    name: str, version: str, state: State, size_bytes: int | None, detail: str = "", **facts: object
) -> PackStatus:
    defaults: dict[str, object] = {
        "locator": f"https://assets.example.org/{name}-{version}.tar.zst",
        "files": None if state in {State.MISSING, State.INVALID} else 3,
    }
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
        **{**defaults, **facts},  # type: ignore[arg-type]
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


def recorded_files() -> tuple[FileComparison, ...]:
    """The files of a recording that is being made."""
    return (
        FileComparison("data/chunk-000/file-000.parquet", FileState.CURRENT, 4_100_000, digest("data")),
        FileComparison("videos/front/chunk-000/file-011.mp4", FileState.AHEAD, 9_700_000, digest("front"), is_new=True),
        FileComparison(
            "videos/wrist/chunk-000/file-011.mp4", FileState.HELD, 38_300_000, None, "still being written", is_new=True
        ),
        FileComparison("meta/info.json", FileState.AHEAD, 2_100, digest("info")),
    )


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
                        episodes_readable=12,
                        episodes_sent=11,
                        changed_at=NOW - 3,
                        comparison=recorded_files(),
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
    params: str = "{}",
) -> JobRecord:
    live = state in {JobState.QUEUED, JobState.RUNNING, JobState.PAUSED}
    verb = kind.rpartition("-")[2]
    return JobRecord(
        id=job_id,
        spec=JobSpec(kind, f"{verb} {target}", target, params, ROOT, ROOT, service_url="https://cloud.noeira.ai"),
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


def watch_job(job_id: int = 5, target: str = "so101-tower/cube-in-bowl", sent_s_ago: float = 4) -> JobRecord:
    """A watch as its process tells of itself: with the time of day of what it sent last."""
    moment = time.strftime("%H:%M:%S", time.localtime(NOW - sent_s_ago))
    phase = f"11 of 12 episodes sent · 1 held back (still being written) · last sent {moment}"
    counters = ProgressSnapshot(items_done=11, items_total=12, rate=2_400_000, phase=phase)
    return job(job_id, "dataset-watch", target, JobState.RUNNING, progress=counters)
