"""What the app needs of the box it shows; `noeira_tui.overview.box.Box` is the real one, tests bring another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.core.progress import CancelToken, Progress
    from noeira_tui.core.settings import Settings
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.freeing import Proven
    from noeira_tui.overview.packfacts import PackFacts
    from noeira_tui.overview.picture import DatasetView, Overview, RecordingView
    from noeira_tui.overview.space import OldJobs


class SpaceLike(Protocol):
    """Space that can be had back. Every call may block and raise NoeiraError; all are thread-safe."""

    def can_free(self, view: DatasetView | RecordingView) -> str | None:
        """None when it is worth proving that the service holds the same bytes, else why not, in words."""
        ...

    def prove(
        self, view: DatasetView | RecordingView, *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> Proven:
        """Prove that the service holds the same bytes. Takes its time; raises NoeiraError when it does not."""
        ...

    def free(self, proven: Proven) -> None:
        """Remove the copy that was proven."""
        ...

    def unused_cache(self) -> tuple[CachedPack, ...]:
        """What the cache of asset packs holds that nothing uses."""
        ...

    def prune_cache(self, chosen: Sequence[CachedPack]) -> int:
        """Remove that; the bytes freed."""
        ...

    def old_jobs(self) -> OldJobs:
        """The jobs that are over and done with."""
        ...

    def forget_jobs(self, old: OldJobs) -> int:
        """Remove their rows and logs; how many went."""
        ...


class BoxLike(Protocol):
    """The facts of one box and the actions on it. Every call may block and raise NoeiraError; all are thread-safe."""

    settings: Settings

    def use(self, settings: Settings) -> None:
        """Go on with these settings, after one of them was changed."""
        ...

    def look(self, *, ask_service: bool = True) -> Overview:
        """The whole picture; without `ask_service` from the last answers only, which is fast."""
        ...

    def jobs(self) -> tuple[JobRecord, ...]:
        """Every job, newest first."""
        ...

    def jobs_version(self) -> object:
        """Something that changes when any job did; cheaper than `jobs`."""
        ...

    def can_pull(self, dataset: DatasetView) -> str | None:
        """None when a pull can start, else why not, in words."""
        ...

    def can_push(self, dataset: DatasetView) -> str | None:
        """None when a push can start, else why not, in words."""
        ...

    def pull(self, dataset_id: str, *, force: bool = False) -> JobRecord:
        """Start a pull as a job of its own; `force` overwrites what is in the way."""
        ...

    def push(self, dataset: DatasetView) -> JobRecord:
        """Start a push of the local copy under the name and version of its row."""
        ...

    def push_as(self, dataset: DatasetView, name: str, version: str) -> JobRecord:
        """Start a push of a file that the catalog does not know yet."""
        ...

    def can_pull_recording(self, view: RecordingView) -> str | None:
        """None when a pull can start, else why not, in words."""
        ...

    def can_push_recording(self, view: RecordingView) -> str | None:
        """None when a push can start, else why not, in words."""
        ...

    def can_watch(self, view: RecordingView) -> str | None:
        """None when a watch can be switched on or off, else why not, in words."""
        ...

    def pull_recording(self, view: RecordingView, *, create_project: bool = False, force: bool = False) -> JobRecord:
        """Start a pull of a recording; `create_project` makes its project here, `force` takes the service's side."""
        ...

    def push_recording(self, view: RecordingView, *, force: bool = False) -> JobRecord:
        """Start a push of a recording; `force` takes this box's side."""
        ...

    def watch(self, view: RecordingView) -> JobRecord:
        """Start mirroring a recording while it is made."""
        ...

    def unwatch(self, view: RecordingView) -> JobRecord | None:
        """End that; None when nothing watched it."""
        ...

    def can_pull_pack(self, pack: PackStatus) -> str | None:
        """None when a pull can start, else why not, in words."""
        ...

    def can_verify_pack(self, pack: PackStatus) -> str | None:
        """None when there is something to verify, else why not, in words."""
        ...

    def pull_packs(self, packs: Sequence[PackStatus] | None = None, *, force: bool = False) -> JobRecord:
        """Start one job that pulls these packs, else all that need it; `force` replaces files that changed."""
        ...

    def verify_packs(
        self, packs: Sequence[PackStatus], *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> tuple[PackStatus, ...]:
        """Hash every installed file of these packs. Takes its time; raises CancelledError."""
        ...

    def pack_details(self, pack: PackStatus) -> PackFacts:
        """Where a pack comes from, with which credential, and who shares its files."""
        ...

    def row_faults(self, view: RecordingView) -> Mapping[str, str]:
        """What is wrong with the rows of a recording's data files here, by path. Takes its time."""
        ...

    def ingest(self, uris: Sequence[str], *, catalog: str | None = None) -> JobRecord:
        """Start one job that registers and scores the episodes of datasets; `catalog` is this root's when not given."""
        ...

    @property
    def space(self) -> SpaceLike:
        """What can be freed here, and freeing it. To be asked for in a thread as well."""
        ...

    def pause(self, job_id: int) -> JobRecord:
        """Ask a job to stand still."""
        ...

    def resume(self, job_id: int) -> JobRecord:
        """Let a paused job go on."""
        ...

    def cancel(self, job_id: int) -> None:
        """Stop a job."""
        ...

    def retry(self, job_id: int) -> JobRecord:
        """Start an ended job again from what is on disk."""
        ...

    def log(self, job_id: int) -> str:
        """The end of a job's log."""
        ...

    def close(self) -> None:
        """Let go of everything that is open."""
        ...
