"""A box made of facts, for tests and screenshots of the app: no disk, no service, no jobs of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from noeira_tui.assets.keep import CachedPack
from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import JobError, NoeiraError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobRecord, JobState
from noeira_tui.overview.packfacts import PackFacts
from noeira_tui.overview.picture import (
    DatasetView,
    Overview,
    RecordingView,
    Totals,
)
from tests.tui.fake_facts import (
    NO_SETTINGS,
    NOW,
    ROOT,
    WEIRD_NAMES,
    dataset,
    digest,
    frozen_clock,
    job,
    overview,
    pack,
    recorded_files,
    recording,
    sample,
    sample_jobs,
    watch_job,
)
from tests.tui.fake_space import FakeSpace


@dataclass
class FakeBox:
    """Implements `noeira_tui.tui.ports.BoxLike` from facts a test may change at any time; remembers what was asked."""

    picture: Overview = field(default_factory=sample)
    rows: tuple[JobRecord, ...] = ()
    settings: Settings = field(
        default_factory=lambda: Settings(root=ROOT, cwd=ROOT, env_file=None, places=(), _values=NO_SETTINGS)
    )
    asked: list[tuple[object, ...]] = field(default_factory=list)
    fails_with: NoeiraError | None = None
    looks_fail_with: NoeiraError | None = None
    jobs_fail_with: NoeiraError | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    log_text: str = "12:00:01 describe\n12:00:02 downloading\n"
    hold_looks: threading.Event | None = None
    on_look: Callable[[], None] | None = None
    hold_verify: threading.Event | None = None
    verified: dict[str, PackStatus] = field(default_factory=dict)
    facts: PackFacts = field(default_factory=PackFacts)
    faults: Mapping[str, str] | NoeiraError = field(default_factory=dict)
    hold_proof: threading.Event | None = None
    unproven: set[str] = field(default_factory=set)
    cache: tuple[CachedPack, ...] = ()
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _version: int = 0

    def use(self, settings: Settings) -> None:
        self._record(("use",))
        self.settings = settings

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

    def can_pull_recording(self, view: RecordingView) -> str | None:
        reasons = {State.CURRENT: "It is here and current.", State.LOCAL: "The service does not have it."}
        return self.refusals.get(f"{view.project}/{view.dataset}") or reasons.get(view.state)

    def can_push_recording(self, view: RecordingView) -> str | None:
        refusal = self.refusals.get(f"{view.project}/{view.dataset}")
        if refusal or not view.here:
            return refusal or "It is not on this box: there is nothing to send."
        return "The service has the same contents already." if view.state is State.CURRENT else None

    def can_watch(self, view: RecordingView) -> str | None:
        return None if view.here else "It is not on this box: there is nothing to send."

    def pull_recording(self, view: RecordingView, *, create_project: bool = False, force: bool = False) -> JobRecord:
        target = f"{view.project}/{view.dataset}"
        return self._start("dataset-pull", target, ("pull_recording", target, create_project, force))

    def push_recording(self, view: RecordingView, *, force: bool = False) -> JobRecord:
        target = f"{view.project}/{view.dataset}"
        return self._start("dataset-push", target, ("push_recording", target, force))

    def watch(self, view: RecordingView) -> JobRecord:
        target = f"{view.project}/{view.dataset}"
        return self._start("dataset-watch", target, ("watch", target))

    def unwatch(self, view: RecordingView) -> JobRecord | None:
        target = f"{view.project}/{view.dataset}"
        self._record(("unwatch", target))
        found = [row for row in self.rows if row.is_live and row.spec.target == target]
        self.set_jobs(
            *(replace(row, state=JobState.CANCELLED, finished_at=NOW) if row in found else row for row in self.rows)
        )
        return found[0] if found else None

    def can_pull_pack(self, pack: PackStatus) -> str | None:
        return self.refusals.get(pack.title) or ("It is here and current." if pack.state is State.CURRENT else None)

    def can_verify_pack(self, pack: PackStatus) -> str | None:
        return None if pack.files else "Nothing of it is installed: there is nothing to verify."

    def pull_packs(self, packs: Sequence[PackStatus] | None = None, *, force: bool = False) -> JobRecord:
        chosen = tuple(packs or ())
        params = json.dumps({"packs": [[str(one.manifest), one.title] for one in chosen], "force": force})
        titles = tuple(one.title for one in chosen)
        return self._start("assets-pull", ", ".join(titles), ("pull_packs", titles, force), params=params)

    def verify_packs(
        self, packs: Sequence[PackStatus], *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> tuple[PackStatus, ...]:
        self._record(("verify_packs", tuple(one.title for one in packs)))
        if progress is not None:
            progress.expect(size_bytes=100)
            progress.advance(43)
        if self.hold_verify is not None and cancel is not None:
            while not self.hold_verify.wait(0.01):
                cancel.check()
        return tuple(self.verified.get(one.title, one) for one in packs)

    def pack_details(self, pack: PackStatus) -> PackFacts:
        self._record(("pack_details", pack.title))
        return self.facts

    def row_faults(self, view: RecordingView) -> Mapping[str, str]:
        if isinstance(self.faults, NoeiraError):
            raise self.faults
        return self.faults

    def ingest(self, uris: Sequence[str], *, catalog: str | None = None) -> JobRecord:
        params = json.dumps({"uris": list(uris), "catalog": catalog})
        return self._start("episodes-ingest", uris[0], ("ingest", tuple(uris), catalog), params=params)

    @property
    def space(self) -> FakeSpace:
        return FakeSpace(self)

    def pause(self, job_id: int) -> JobRecord:
        return self._ask(job_id, "pause", JobState.PAUSED)

    def resume(self, job_id: int) -> JobRecord:
        return self._ask(job_id, "resume", JobState.RUNNING)

    def _ask(self, job_id: int, what: str, state: JobState) -> JobRecord:
        self._record((what, job_id))
        self.set_jobs(*(replace(row, state=state) if row.id == job_id else row for row in self.rows))
        return next(row for row in self.rows if row.id == job_id)

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

    def _start(self, kind: str, target: str, asked: tuple[object, ...], *, params: str = "{}") -> JobRecord:
        self._record(asked)
        row = job(max((row.id for row in self.rows), default=0) + 1, kind, target, JobState.QUEUED, params=params)
        self.set_jobs(row, *self.rows)
        return row

    def _record(self, asked: tuple[object, ...]) -> None:
        with self._lock:
            self.asked.append(asked)
            if self.fails_with is not None:
                raise self.fails_with


__all__ = [
    "NOW",
    "NO_SETTINGS",
    "ROOT",
    "WEIRD_NAMES",
    "FakeBox",
    "Totals",
    "dataset",
    "digest",
    "frozen_clock",
    "job",
    "overview",
    "pack",
    "recorded_files",
    "recording",
    "sample",
    "sample_jobs",
    "watch_job",
]
