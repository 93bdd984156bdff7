"""What is done with jobs: end one, try one again, let one stand still."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from noeira_tui.jobs.records import JobRecord, JobState, Request
from noeira_tui.tui.ports import BoxLike

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class JobOperations:
    """Cancel, retry and pause."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self.handlers: dict[str, Callable[[], None]] = {
            "retry": self._retry,
            "cancel": self._cancel,
            "pause": self._pause,
        }

    def _cancel(self) -> None:
        screen = self._screen
        if screen.background.is_at(screen.place):
            screen.background.stop()
            return
        self._each(self._box.cancel, "Cancelled", lambda job: job.is_live)

    def _retry(self) -> None:
        self._each(self._box.retry, "Trying again", lambda job: job.can_retry)

    def _pause(self) -> None:
        """Pause what moves; when all of it stands still already, let it go on."""
        live = [job for job in self._chosen() if job.is_live]
        if live and all(_stands(job) for job in live):
            self._each(self._box.resume, "Going on", _stands)
        else:
            self._each(self._box.pause, "Pausing", lambda job: job.is_live and not _stands(job))

    def _chosen(self) -> list[JobRecord]:
        """The jobs of all marked rows, else the one under the cursor."""
        screen = self._screen
        rows = [row for row in screen.list.rows if row.key in screen.list.marked]
        found = [screen.board.job_of(row) for row in rows] if rows else [screen.situation().job]
        return [job for job in found if job is not None]

    def _each(self, act: Callable[[int], object], told: str, fits: Callable[[JobRecord], bool]) -> None:
        """Do something to each chosen job that it fits."""
        screen = self._screen
        jobs = {job.id: job for job in self._chosen() if fits(job)}
        if not jobs:
            screen.tell("None of the marked rows has a job that this works on.", severity="warning")
            return

        def acted(_: object) -> None:
            screen.list.clear_marks()
            screen.painter.paint_lists()
            screen.painter.paint_jobs()
            screen.painter.paint_row()
            screen.tell(f"{told}: {', '.join(job.spec.title for job in jobs.values())}")

        screen.errands.run(lambda: [act(job_id) for job_id in jobs], acted)


def _stands(job: JobRecord) -> bool:
    return job.state is JobState.PAUSED or (job.is_live and job.request is Request.PAUSE)
