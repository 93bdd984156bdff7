"""What the app needs of the box it shows; `noeira_tui.overview.box.Box` is the real one, tests bring another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.core.progress import CancelToken, Progress
    from noeira_tui.core.settings import Settings
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.packfacts import PackFacts
    from noeira_tui.overview.picture import DatasetView, Overview, RecordingView


class BoxLike(Protocol):
    """The facts of one box and the actions on it. Every call may block and raise NoeiraError; all are thread-safe."""

    settings: Settings

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
