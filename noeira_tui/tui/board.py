"""What the main screen knows: the last picture, the jobs, filters and folds; and the rows that follow from them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from noeira_tui.core.states import TO_FETCH, State
from noeira_tui.tui.filtering import kept_rows
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.headline import TITLES
from noeira_tui.tui.job_rows import job_rows, listed_jobs
from noeira_tui.tui.rows import (
    Place,
    Row,
    dataset_rows,
    is_watch,
    pack_rows,
    project_rows,
    with_job,
    with_watch,
    work_key,
    work_keys,
)

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import Overview, RecordingView
    from noeira_tui.tui.rows import Subject

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
        self._watches: dict[str, JobRecord] = {}
        self._newest: dict[str, JobRecord] = {}
        self._verified: dict[str, tuple[PackStatus, PackStatus]] = {}
        self._looked: Overview | None = None
        self._shown: dict[str, Row] = {}

    def take_overview(self, overview: Overview) -> None:
        """Show this picture from now on."""
        self._looked = overview
        overview = self.overview = self._with_verified(overview)
        # Which jobs are of this root is known only now.
        self.take_jobs(self.jobs)
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
        self._moving, self._watches, self._newest = {}, {}, {}
        for job in sorted(jobs, key=lambda job: job.id):
            if self.overview is not None and job.spec.root != self.overview.root:
                # Another root's job: what has the same name there is something else.
                continue
            for key in work_keys(job):
                self._newest[key] = job
                if job.is_live:
                    (self._watches if is_watch(job) else self._moving)[key] = job

    def take_verified(self, found: Iterable[PackStatus]) -> None:
        """Show what a verification found, for as long as looks see the packs as they do now."""
        if self._looked is None:
            return
        certain = {_identity(status): status for status in found}
        for pack in self._looked.packs:
            if _identity(pack) in certain:
                self._verified[_identity(pack)] = (pack, certain[_identity(pack)])
        self.take_overview(self._looked)

    def _with_verified(self, overview: Overview) -> Overview:
        """The picture with what was verified: a look does not open files, and cannot see every change."""
        if not self._verified:
            return overview
        packs = []
        kept: dict[str, tuple[PackStatus, PackStatus]] = {}
        for pack in overview.packs:
            known = self._verified.get(_identity(pack))
            if known is not None and pack == known[0]:
                kept[_identity(pack)] = known
                pack = known[1]
            packs.append(pack)
        self._verified = kept
        return replace(overview, packs=tuple(packs))

    def moving(self, subject: Subject) -> JobRecord | None:
        """The live job that moves a thing."""
        return self._moving.get(work_key(subject))

    def watch_of(self, view: RecordingView) -> JobRecord | None:
        """The live job that mirrors a recording while it is made."""
        return self._watches.get(work_key(view))

    @property
    def has_watches(self) -> bool:
        return bool(self._watches)

    def packs_to_fetch(self) -> tuple[PackStatus, ...]:
        """The declared packs that are not whole here, but for those a job fetches already."""
        if self.overview is None:
            return ()
        return tuple(pack for pack in self.overview.packs if pack.state in TO_FETCH and self.moving(pack) is None)

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
        if not self._moving and not self._watches:
            return rows
        return tuple(self._with_job(row) for row in rows)

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
        """The job a row is, or the newest one of the thing it is."""
        if row is None:
            return None
        from noeira_tui.jobs.records import JobRecord

        return row.subject if isinstance(row.subject, JobRecord) else self._newest.get(work_key(row.subject))

    def _with_job(self, row: Row) -> Row:
        key = work_key(row.subject) if row.place is Place.PACKS else row.key
        if key in self._moving:
            row = with_job(row, self._moving[key], self.glyphs)
        elif key in self._watches:
            row = with_watch(row, self._watches[key], self.glyphs)
        else:
            return row
        (shown,) = self._same((row,))
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


def _identity(pack: PackStatus) -> str:
    """Which declared pack it is, whatever its state."""
    return f"{pack.manifest}\0{pack.dest}\0{pack.title}"
