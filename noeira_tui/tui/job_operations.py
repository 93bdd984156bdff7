"""What is done with jobs: end one, try one again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from noeira_tui.jobs.records import JobRecord
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class JobOperations:
    """Cancel and retry."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self.handlers: dict[str, Callable[[], None]] = {"retry": self._retry, "cancel": self._cancel}

    def _cancel(self) -> None:
        screen = self._screen
        if screen.verification.is_running and screen.place is Place.PACKS:
            screen.verification.stop()
            return
        self._end_or_retry(self._box.cancel, "Cancelled", lambda job: job.is_live)

    def _retry(self) -> None:
        self._end_or_retry(self._box.retry, "Trying again", lambda job: job.can_retry)

    def _end_or_retry(self, act: Callable[[int], object], told: str, fits: Callable[[JobRecord], bool]) -> None:
        """Cancel or retry the job under the cursor, or those of all marked rows that it fits."""
        screen = self._screen
        rows = [row for row in screen.list.rows if row.key in screen.list.marked]
        found = [screen.board.job_of(row) for row in rows] if rows else [screen.situation().job]
        jobs = {job.id: job for job in found if job is not None and fits(job)}
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
