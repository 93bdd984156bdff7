"""What the app needs of the box it shows; `noeira_tui.overview.box.Box` is the real one, tests bring another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from noeira_tui.core.settings import Settings
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import DatasetView, Overview


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
