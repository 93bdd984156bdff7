"""What the main screen knows: the last picture, the jobs, filters, folds and orders; and the rows that follow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from noeira_tui.core.states import TO_FETCH, State
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.headline import TITLES
from noeira_tui.tui.job_rows import job_rows, listed_jobs
from noeira_tui.tui.pace import Pace
from noeira_tui.tui.rows import Place, Row
from noeira_tui.tui.thing_rows import Order, RowMaker, in_order, is_watch, with_job, with_watch, work_key, work_keys

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import Overview, RecordingView
    from noeira_tui.tui.rows import Subject

PANES = (Place.PROJECTS, Place.CATALOG, Place.PACKS)
"""The places of the three panes, from left to right."""

MAX_KEPT = 2000
"""So many rows that jobs changed are remembered, so that equal ones stay the same objects."""


@dataclass(frozen=True)
class Arrangement:
    """What is folded away, and in which order lists are."""

    folded: frozenset[str] = frozenset()
    orders: tuple[tuple[Place, Order], ...] = ()

    def order(self, place: Place) -> Order:
        """The order of a list."""
        return dict(self.orders).get(place, Order.TROUBLE)


@dataclass(frozen=True)
class Shelved:
    """A picture with its rows, made beside the app."""

    overview: Overview
    arrangement: Arrangement
    rows: Mapping[Place, tuple[Row, ...]]
    census: Mapping[Place, Counter[State]]


class Board:
    """The state behind the main screen. Rows that did not change stay the same objects, so that lists can tell.

    Only `shelve` may be called from another thread, and from one only.
    """

    def __init__(self, glyphs: Glyphs, clock: Callable[[], float] = time.time) -> None:
        self.glyphs = glyphs
        self.clock = clock
        self.pace = Pace(clock)
        self.overview: Overview | None = None
        self.jobs: tuple[JobRecord, ...] = ()
        self.jobs_problem = ""
        self.look_problem = ""
        self.slots = 2
        self.filters: dict[Place, str] = {}
        self._arrangement = Arrangement()
        self._shelf_maker = RowMaker(glyphs)
        self._maker = RowMaker(glyphs)
        self._base: dict[Place, tuple[Row, ...]] = {}
        self._census: dict[Place, Counter[State]] = {}
        self._moving: dict[str, JobRecord] = {}
        self._watches: dict[str, JobRecord] = {}
        self._newest: dict[str, JobRecord] = {}
        self._verified: dict[str, tuple[PackStatus, PackStatus]] = {}
        self._looked: Overview | None = None
        self._shown: dict[str, Row] = {}
        self._worked_on: dict[Place, tuple[tuple[Row, ...], tuple[Row, ...]]] = {}
        self._filtered: dict[Place, tuple[tuple[Row, ...], str, tuple[Row, ...]]] = {}
        self._lacking: tuple[PackStatus, ...] | None = None

    def shelve(self, overview: Overview) -> Shelved:
        """Make the rows of a picture: the long part of showing it, for a thread beside the app."""
        arrangement, maker = self._arrangement, self._shelf_maker
        return Shelved(
            overview,
            arrangement,
            {
                Place.PROJECTS: maker.projects(overview, arrangement.folded, arrangement.order(Place.PROJECTS)),
                Place.CATALOG: maker.datasets(overview, arrangement.order(Place.CATALOG)),
                Place.PACKS: maker.packs(overview, arrangement.order(Place.PACKS)),
            },
            {
                Place.PROJECTS: Counter(view.state for view in overview.recordings),
                Place.CATALOG: Counter(view.state for view in overview.datasets),
                Place.PACKS: Counter(view.state for view in overview.packs),
            },
        )

    def take(self, shelved: Shelved) -> None:
        """Show this picture from now on."""
        self._looked = self.overview = shelved.overview
        self._base, self._census = dict(shelved.rows), dict(shelved.census)
        self._show_verified()
        if shelved.arrangement != self._arrangement:
            # Folded or sorted while it was made.
            for place in PANES:
                self._arrange(place)
        # Which jobs are of this root is known only now.
        self.take_jobs(self.jobs)

    def take_jobs(self, jobs: tuple[JobRecord, ...]) -> None:
        """Show these jobs from now on."""
        self.jobs = jobs
        self.pace.take(jobs)
        self._moving, self._watches, self._newest = {}, {}, {}
        self._worked_on, self._lacking = {}, None
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
        self._show_verified()
        self._lacking = None

    def _show_verified(self) -> None:
        """Show what was verified: a look does not open files, and cannot see every change."""
        if not self._verified or self._looked is None:
            return
        packs = []
        kept: dict[str, tuple[PackStatus, PackStatus]] = {}
        for pack in self._looked.packs:
            known = self._verified.get(_identity(pack))
            if known is not None and pack == known[0]:
                kept[_identity(pack)] = known
                pack = known[1]
            packs.append(pack)
        self._verified = kept
        self.overview = replace(self._looked, packs=tuple(packs))
        self._base[Place.PACKS] = self._maker.packs(self.overview, self._arrangement.order(Place.PACKS))
        self._census[Place.PACKS] = Counter(view.state for view in packs)

    def moving(self, subject: Subject) -> JobRecord | None:
        """The live job that moves a thing."""
        return self._moving.get(work_key(subject))

    def watch_of(self, view: RecordingView) -> JobRecord | None:
        """The live job that mirrors a recording while it is made."""
        return self._watches.get(work_key(view))

    def is_watched(self, keys: Collection[str]) -> bool:
        """Whether a live job mirrors each of these rows' things; there is one at least."""
        return bool(keys) and all(key in self._watches for key in keys)

    @property
    def has_watches(self) -> bool:
        return bool(self._watches)

    @property
    def has_running(self) -> bool:
        """Whether any job runs: what is said of its speed goes on even when its row does not change."""
        return any(job.state == "running" for job in self.jobs)

    def packs_to_fetch(self) -> tuple[PackStatus, ...]:
        """The declared packs that are not whole here, but for those a job fetches already."""
        if self.overview is None:
            return ()
        if self._lacking is None:
            lacking = (pack for pack in self.overview.packs if pack.state in TO_FETCH)
            self._lacking = tuple(pack for pack in lacking if self.moving(pack) is None)
        return self._lacking

    # In which order, and what of it

    def fold(self, project: str, *, folded: bool) -> None:
        """Hide or show a project's recordings."""
        before = self._arrangement.folded
        self._arrangement = replace(self._arrangement, folded=before | {project} if folded else before - {project})
        self._arrange(Place.PROJECTS)

    def order(self, place: Place) -> Order:
        """In which order a list is."""
        return self._arrangement.order(place)

    def sort(self, place: Place, order: Order) -> None:
        """Put a list into another order."""
        orders = {**dict(self._arrangement.orders), place: order}
        self._arrangement = replace(self._arrangement, orders=tuple(orders.items()))
        self._arrange(place)

    def _arrange(self, place: Place) -> None:
        if self.overview is None:
            return
        order = self._arrangement.order(place)
        if place is Place.PROJECTS:
            self._base[place] = self._maker.projects(self.overview, self._arrangement.folded, order)
        else:
            self._base[place] = tuple(in_order(list(self._base[place]), order))

    def census(self, place: Place) -> Mapping[State, int]:
        """How many recordings, datasets or packs there are of each state, filtered or not."""
        return self._census.get(place, {})

    def all_rows(self, place: Place) -> tuple[Row, ...]:
        """The rows of a list before its filter."""
        if place is Place.JOBS:
            return self._same(job_rows(self.jobs, self.clock(), self.glyphs, self.pace, self.slots))
        base = self._base.get(place, ())
        if not self._moving and not self._watches:
            return base
        known = self._worked_on.get(place)
        if known is None or known[0] is not base:
            known = self._worked_on[place] = (base, self._with_jobs(place, base))
        return known[1]

    def rows(self, place: Place) -> tuple[Row, ...]:
        """The rows of a list that its filter keeps."""
        rows, needle = self.all_rows(place), self.filters.get(place, "")
        if not needle:
            return rows
        from noeira_tui.tui.filtering import kept_rows  # not for the first paint

        known = self._filtered.get(place)
        if known is None or known[0] is not rows or known[1] != needle:
            known = self._filtered[place] = (rows, needle, kept_rows(rows, needle))
        return known[2]

    def plain_list(self) -> tuple[Row, ...]:
        """The three lists one below the other, each under a heading."""
        found: list[Row] = []
        for place in PANES:
            rows = self.rows(place)
            count = sum(self.census(place).values())
            title = f"{self.glyphs.key(place.value)} {TITLES[place]} {self.glyphs.dot} {count}"
            found.append(Row(f"heading:{place}", place, title, subject=None))
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

    def _with_jobs(self, place: Place, base: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows with what jobs do to their things; only those few are looked at closely."""
        rows = list(base)
        for index, row in enumerate(base):
            key = work_key(row.subject) if place is Place.PACKS else row.key
            if key in self._moving:
                job = self._moving[key]
                rows[index] = with_job(row, job, self.pace.of(job), self.glyphs)
            elif key in self._watches:
                rows[index] = with_watch(row, self._watches[key], self.glyphs)
            else:
                continue
            (rows[index],) = self._same((rows[index],))
        return tuple(rows)

    def _same(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows, with the former object for each that equals it."""
        if len(self._shown) > MAX_KEPT:
            self._shown = {}
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
