"""The rows of recordings, datasets and asset packs, made of their facts; and what a job at work changes of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from noeira_tui.core.states import LOOKS, State, trouble_rank
from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.rows import Place, Row
from noeira_tui.tui.text import clean

if TYPE_CHECKING:
    # The facts are imported with the first picture, after the first paint.
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import DatasetView, Overview, ProjectView, RecordingView
    from noeira_tui.tui.pace import Moment
    from noeira_tui.tui.rows import Subject


class Order(StrEnum):
    """What comes first in a list. Projects keep the order of their names, whatever their recordings have."""

    TROUBLE = "trouble first"
    NAME = "by name"
    SIZE = "largest first"


def in_order(rows: list[Row], order: Order) -> list[Row]:
    """Rows of things without anything below them, in an order."""
    keys: dict[Order, Callable[[Row], tuple[object, ...]]] = {
        Order.TROUBLE: lambda row: (99 if row.state is None else trouble_rank(row.state), row.name),
        Order.NAME: lambda row: (row.name,),
        Order.SIZE: lambda row: (-1 if row.size_bytes is None else -row.size_bytes - 2, row.name),
    }
    return sorted(rows, key=keys[order])


Fact = TypeVar("Fact")


class _Made:
    """The rows of the last picture, by the facts they were made of."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._before: dict[str, tuple[object, Row]] = {}
        self._now: dict[str, tuple[object, Row]] = {}

    def row(self, key: str, fact: Fact, make: Callable[[Fact, Glyphs], Row]) -> Row:
        """The row of a fact: the former one when the fact is what it was."""
        former = self._before.get(key)
        if former is None or (former[0] is not fact and former[0] != fact):
            row = replace(make(fact, self._glyphs), key=key)
            row.measure()
            former = (fact, row)
        self._now[key] = former
        return former[1]

    def turn(self) -> None:
        """Forget what this picture no longer had."""
        self._before, self._now = self._now, {}


class RowMaker:
    """Makes the rows of a picture. What did not change since the last one keeps its row: that is most of it.

    For one thread at a time.
    """

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._recordings, self._datasets, self._packs = _Made(glyphs), _Made(glyphs), _Made(glyphs)

    def projects(self, overview: Overview, folded: frozenset[str], order: Order) -> tuple[Row, ...]:
        """Every project with its recordings below it, unless they are folded away."""
        rows: list[Row] = []
        for project in sorted(overview.projects, key=lambda project: project.project):
            own = [
                self._recordings.row(f"recording:{view.project}/{view.dataset}", view, _recording_row)
                for view in project.recordings
            ]
            is_folded = project.project in folded
            rows.append(_project_row(project, self._glyphs, is_folded=is_folded))
            if not is_folded:
                rows += in_order(own, order)
        self._recordings.turn()
        return tuple(rows)

    def datasets(self, overview: Overview, order: Order) -> tuple[Row, ...]:
        """The catalog, and the files here that it does not know."""
        rows = [self._datasets.row(f"dataset:{view.id}", view, _dataset_row) for view in overview.datasets]
        self._datasets.turn()
        return tuple(in_order(rows, order))

    def packs(self, overview: Overview, order: Order) -> tuple[Row, ...]:
        """The declared asset packs."""
        rows = []
        seen: dict[str, int] = {}
        titles = Counter(pack.title for pack in overview.packs)
        for pack in overview.packs:
            key = f"pack:{pack.manifest}:{pack.dest}:{pack.pack}@{pack.version}"
            seen[key] = seen.get(key, 0) + 1
            row = self._packs.row(f"{key}#{seen[key]}", pack, _pack_row)
            if titles[pack.title] > 1 and not row.note:
                row = replace(row, note=_place_of(pack, self._glyphs))
            rows.append(row)
        self._packs.turn()
        return tuple(in_order(rows, order))


def _project_row(view: ProjectView, glyphs: Glyphs, *, is_folded: bool) -> Row:
    state: State | None = None
    if view.problem:
        state = State.INVALID
    elif not view.here:
        state = State.REMOTE
    elif is_folded and view.recordings:
        state = min((recording.state for recording in view.recordings), key=trouble_rank)
    return _with_state(
        Row(
            key=f"project:{view.project}",
            place=Place.PROJECTS,
            name=clean(view.project, glyphs),
            subject=view,
            amount="empty" if not view.recordings else f"{len(view.recordings)} rec",
            fold=is_folded if view.recordings else None,
        ),
        state,
        None,
        glyphs,
    )


def _recording_row(view: RecordingView, glyphs: Glyphs) -> Row:
    return _with_state(
        Row(
            key=f"recording:{view.project}/{view.dataset}",
            place=Place.PROJECTS,
            name=clean(view.dataset, glyphs),
            subject=view,
            amount=glyphs.none if view.episodes is None else f"{view.episodes:,} ep",
            note=_recording_note(view, glyphs),
            depth=1,
            haystack=clean(view.project).lower(),
            size_bytes=view.size_bytes,
        ),
        view.state,
        view.last_state,
        glyphs,
    )


def _recording_note(view: RecordingView, glyphs: Glyphs) -> str:
    parts = []
    if view.problems:
        parts.append(figures.count(len(view.problems), "problem"))
    if view.ahead:
        parts.append(f"{view.ahead} to send")
    if view.behind and view.here:
        parts.append(f"{view.behind} newer or only there")
    if view.held_back:
        parts.append(f"{view.held_back} held back")
    return f" {glyphs.dot} ".join(parts) or clean(view.detail, glyphs)


def _dataset_note(view: DatasetView, glyphs: Glyphs) -> str:
    if view.state is State.UNKNOWN:
        return ""  # the banner says it for all
    if view.detail:
        return clean(view.detail, glyphs)
    if view.wanted_by and view.state is not State.CURRENT:
        return clean(f"wanted by {', '.join(view.wanted_by)}", glyphs)
    return clean(f"{view.newer_version} is there", glyphs) if view.newer_version else ""


def _dataset_row(view: DatasetView, glyphs: Glyphs) -> Row:
    size_bytes = view.size_bytes if view.size_bytes is not None else view.local_bytes
    return _with_state(
        Row(
            key=f"dataset:{view.id}",
            place=Place.CATALOG,
            name=clean(view.id, glyphs),
            subject=view,
            amount=figures.size(size_bytes, glyphs),
            brief=figures.brief_size(size_bytes, glyphs),
            note=_dataset_note(view, glyphs),
            size_bytes=size_bytes,
        ),
        view.state,
        view.last_state,
        glyphs,
    )


def _pack_note(pack: PackStatus, glyphs: Glyphs) -> str:
    """What there is to say, without the path of its declaration, which would leave no room for it."""
    return clean(pack.detail.replace(f"{pack.manifest}, ", ""), glyphs)


def _place_of(pack: PackStatus, glyphs: Glyphs) -> str:
    """Which of several declarations of a pack this is."""
    folder = pack.manifest.parent
    below = pack.dest.relative_to(folder) if pack.dest.is_relative_to(folder) else pack.dest.name
    return clean(f"in {folder.name}/{below}", glyphs)


def _pack_row(pack: PackStatus, glyphs: Glyphs) -> Row:
    return _with_state(
        Row(
            key=f"pack:{pack.title}",
            place=Place.PACKS,
            name=clean(f"{pack.pack}@{pack.version}" if pack.version else pack.pack, glyphs),
            subject=pack,
            amount=figures.size(pack.size_bytes, glyphs),
            brief=figures.brief_size(pack.size_bytes, glyphs),
            note=_pack_note(pack, glyphs),
            haystack=clean(f"{pack.provider} {pack.dest}").lower(),
            size_bytes=pack.size_bytes,
        ),
        pack.state,
        None,
        glyphs,
    )


def with_job(row: Row, job: JobRecord, moment: Moment, glyphs: Glyphs) -> Row:
    """A thing's row while a job moves it: how far it is, instead of the state."""
    from noeira_tui.jobs.records import JobState

    fraction = job.progress.fraction
    if job.state is JobState.RUNNING and fraction is not None:
        word = figures.percent(fraction).strip()
    else:
        word = {JobState.QUEUED: "waiting", JobState.PAUSED: "paused"}.get(job.state, "starting")
    left = moment.remaining_s
    speed = figures.rate(moment.rate, glyphs)
    note = "" if left is None else f"{speed} {glyphs.dot} {figures.clock(left)} left"
    words = f"{row.haystack} {job.state} moving"
    return replace(row, symbol=direction(job, glyphs), word=word, look="live", aside="", note=note, haystack=words)


def with_watch(row: Row, job: JobRecord, glyphs: Glyphs) -> Row:
    """A recording's row while it is watched: a sign beside its state, and the episodes the watch has counted."""
    progress = job.progress
    amount = row.amount
    if progress.items_total:
        amount = f"{progress.items_total:,} ep"
    sent = f"{progress.items_done} of {progress.items_total} sent" if progress.items_total else ""
    held = row.note if "held back" in row.note else ""
    note = f" {glyphs.dot} ".join(part for part in ("watched", sent, held) if part)
    aside = f"{row.aside} {glyphs.again}".strip()
    return replace(row, amount=amount, aside=aside, note=note, haystack=f"{row.haystack} watched")


def work_key(subject: Subject) -> str:
    """What a job that works on this thing is filed under; empty for what no job works on."""
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.overview.picture import DatasetView, RecordingView

    if isinstance(subject, DatasetView):
        return f"dataset:{subject.id}"
    if isinstance(subject, RecordingView):
        return f"recording:{subject.project}/{subject.dataset}"
    if isinstance(subject, PackStatus):
        return _pack_key(str(subject.manifest), subject.title)
    return ""


def work_keys(job: JobRecord) -> tuple[str, ...]:
    """The keys of everything a job works on."""
    from noeira_tui.overview.packjobs import packs_of

    kind, target = job.spec.kind, job.spec.target
    if kind.startswith("catalog-"):
        return (f"dataset:{target}",)
    if kind.startswith("dataset-"):
        return (f"recording:{target}",)
    return tuple(_pack_key(*pack) for pack in packs_of(job.spec))


def _pack_key(manifest: str, title: str) -> str:
    return f"pack:{manifest}\0{title}"


def is_watch(job: JobRecord) -> bool:
    """Whether a job mirrors a recording for as long as it is made: it stands beside the state, not for it."""
    return job.spec.kind == "dataset-watch"


def direction(job: JobRecord, glyphs: Glyphs) -> str:
    """Which way a job moves bytes, as a sign."""
    kind = job.spec.kind
    if "pull" in kind:
        return glyphs.down
    return glyphs.up if "push" in kind else glyphs.again


def _with_state(row: Row, state: State | None, last: State | None, glyphs: Glyphs) -> Row:
    word = "" if state is None else state.value
    haystack = f"{row.name.lower()} {word} {'' if last is None else last.value} {row.haystack}"
    if state is None:
        return replace(row, haystack=haystack)
    return replace(
        row,
        state=state,
        symbol=glyphs.state(state),
        word=word,
        look=LOOKS[state].tone.value,
        aside="" if last is None or last is state else last.value,
        haystack=haystack,
    )
