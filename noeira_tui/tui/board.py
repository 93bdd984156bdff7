"""What the main screen knows: the last picture, the jobs, filters and folds; and the rows that follow from them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from noeira_tui.core.states import State
from noeira_tui.tui.filtering import kept_rows
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.headline import TITLES
from noeira_tui.tui.job_rows import job_rows, listed_jobs
from noeira_tui.tui.rows import Place, Row, dataset_rows, moving_jobs, pack_rows, project_rows, with_job

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import Overview

PANES = (Place.PROJECTS, Place.CATALOG, Place.PACKS)
"""The places of the three panes, from left to right."""


class Board:
    """The state behind the main screen. Rows that did not change stay the same objects, so that lists can tell."""

    def __init__(self, glyphs: Glyphs, clock: Callable[[], float] = time.time) -> None:
        self.glyphs = glyphs
        self.clock = clock
        self.overview: Overview | None = None
        self.jobs: tuple[JobRecord, ...] = ()
        self.jobs_problem = ""
        self.filters: dict[Place, str] = {}
        self._folded: frozenset[str] = frozenset()
        self._base: dict[Place, tuple[Row, ...]] = {}
        self._census: dict[Place, Counter[State]] = {}
        self._moving: dict[str, JobRecord] = {}
        self._shown: dict[str, Row] = {}

    def take_overview(self, overview: Overview) -> None:
        """Show this picture from now on."""
        self.overview = overview
        self._base = {
            Place.PROJECTS: self._same(project_rows(overview, self._folded, self.glyphs)),
            Place.CATALOG: self._same(dataset_rows(overview, self.glyphs)),
            Place.PACKS: self._same(pack_rows(overview, self.glyphs)),
        }
        # Rows of things that are gone are forgotten.
        self._shown = {row.key: row for rows in self._base.values() for row in rows}
        self._census = {
            Place.PROJECTS: Counter(view.state for view in overview.recordings),
            Place.CATALOG: Counter(view.state for view in overview.datasets),
            Place.PACKS: Counter(view.state for view in overview.packs),
        }

    def take_jobs(self, jobs: tuple[JobRecord, ...]) -> None:
        """Show these jobs from now on."""
        self.jobs = jobs
        self._moving = {f"dataset:{target}": job for target, job in moving_jobs(jobs).items()}

    def fold(self, project: str, *, folded: bool) -> None:
        """Hide or show a project's recordings."""
        self._folded = self._folded | {project} if folded else self._folded - {project}
        if self.overview is not None:
            self._base[Place.PROJECTS] = self._same(project_rows(self.overview, self._folded, self.glyphs))

    def census(self, place: Place) -> Mapping[State, int]:
        """How many recordings, datasets or packs there are of each state, filtered or not."""
        return self._census.get(place, {})

    def all_rows(self, place: Place) -> tuple[Row, ...]:
        """The rows of a list before its filter."""
        if place is Place.JOBS:
            return self._same(job_rows(self.jobs, self.clock(), self.glyphs))
        rows = self._base.get(place, ())
        if place is not Place.CATALOG or not self._moving:
            return rows
        return tuple(self._with_job(row) if row.key in self._moving else row for row in rows)

    def rows(self, place: Place) -> tuple[Row, ...]:
        """The rows of a list that its filter keeps."""
        return kept_rows(self.all_rows(place), self.filters.get(place, ""))

    def plain_list(self) -> tuple[Row, ...]:
        """The three lists one below the other, each under a heading."""
        found: list[Row] = []
        for place in PANES:
            rows = self.rows(place)
            count = sum(self.census(place).values())
            found.append(Row(f"heading:{place}", place, f"{TITLES[place]} {self.glyphs.dot} {count}", subject=None))
            found += rows
        return tuple(found)

    def listed_jobs(self) -> tuple[JobRecord, ...]:
        return listed_jobs(self.jobs, self.clock())

    def live_jobs(self) -> tuple[JobRecord, ...]:
        return tuple(job for job in self.jobs if job.is_live)

    def job_of(self, row: Row | None) -> JobRecord | None:
        """The job a row is, or the newest one of the dataset it is."""
        if row is None:
            return None
        from noeira_tui.jobs.records import JobRecord
        from noeira_tui.overview.picture import DatasetView

        if isinstance(row.subject, JobRecord):
            return row.subject
        if isinstance(row.subject, DatasetView):
            target = row.subject.id
            return max((job for job in self.jobs if job.spec.target == target), key=lambda job: job.id, default=None)
        return None

    def _with_job(self, row: Row) -> Row:
        (shown,) = self._same((with_job(row, self._moving[row.key], self.glyphs),))
        return shown

    def _same(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows, with the former object for each that equals it."""
        return tuple(self._kept(rows))

    def _kept(self, rows: tuple[Row, ...]) -> Iterator[Row]:
        for row in rows:
            former = self._shown.get(row.key)
            if former != row:
                self._shown[row.key] = former = row
            yield former
