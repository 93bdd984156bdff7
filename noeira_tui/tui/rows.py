"""The rows of the lists: what each thing on this box is called, how large it is and how it does, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.cells import cell_len

from noeira_tui.core.states import LOOKS, State, trouble_rank
from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import Line, Piece, clean, cut, fit

if TYPE_CHECKING:
    # The facts are imported with the first picture, after the first paint.
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import DatasetView, Overview, ProjectView, RecordingView

    Subject = ProjectView | RecordingView | DatasetView | PackStatus | JobRecord | None
    """The fact a row stands for; None for a heading."""

MIN_NAME_CELLS = 16
"""Below this the amount gives way to the name."""

MIN_NAME_BESIDE_WORD = 10
"""Below this the state's word gives way to the name; its symbol stays."""

MIN_NOTE_CELLS = 16
"""A note in less room than this tells nothing."""

MAX_NAME_CELLS = 48
"""A name takes no more of a wide pane: its figures stay beside it."""


class Place(StrEnum):
    """Where the keyboard is."""

    PROJECTS = "projects"
    CATALOG = "catalog"
    PACKS = "packs"
    JOBS = "jobs"
    DIALOG = "dialog"


@dataclass(frozen=True)
class Columns:
    """Widths that all rows of one list share, in cells."""

    name: int = 0
    amount: int = 0
    word: int = 0

    def within(self, other: Columns) -> bool:
        """Whether everything of these widths fits into the others."""
        return self.name <= other.name and self.amount <= other.amount and self.word <= other.word


@dataclass(frozen=True)
class Row:
    """One line of a list. `key` stays the same as long as the thing does; texts are clean already.

    `aside` is dimmed beside the state: the last known state of something that could not be asked. `note` follows where
    there is room: why, in a few words. `fold` is None for what has nothing below it, else whether that is hidden.
    """

    key: str
    place: Place
    name: str
    subject: Subject
    amount: str = ""
    state: State | None = None
    symbol: str = ""
    word: str = ""
    look: str = ""
    aside: str = ""
    note: str = ""
    depth: int = 0
    fold: bool | None = None
    haystack: str = ""

    @property
    def is_heading(self) -> bool:
        return self.subject is None

    @property
    def is_project(self) -> bool:
        """Whether it stands for a project, not for something that moves by itself."""
        return self.key.startswith("project:")

    @property
    def indent(self) -> int:
        return self.depth * 2

    @property
    def status(self) -> str:
        """The state in one text: its word, and the last answer's where the service could not be asked."""
        return f"{self.word} {self.aside}".rstrip()

    def matches(self, needles: Sequence[str]) -> bool:
        """Whether every needle (lower case) is in its name or its state."""
        return all(needle in self.haystack for needle in needles)


def columns_of(rows: Iterable[Row]) -> Columns:
    """The widths that fit all rows."""
    name = amount = word = 0
    for row in rows:
        if row.is_heading:
            continue
        name = max(name, row.indent + cell_len(row.name))
        amount = max(amount, cell_len(row.amount))
        word = max(word, cell_len(row.status))
    return Columns(min(name, MAX_NAME_CELLS), amount, word)


def paint_row(row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
    """A row in at most `width` cells: fold sign, name, amount right-aligned, symbol and word of the state."""
    if row.is_heading:
        return ((cut(row.name, width, glyphs), "heading"),)
    has_fold = row.fold is not None or row.depth > 0
    lead = 2 if has_fold else 0
    room = width - lead
    amount = columns.amount + 2 if columns.amount else 0
    word = columns.word + 3 if columns.word else 2
    # The state is told by symbol and word as long as there is any room; the amount is in the details as well.
    if room - amount - word < min(columns.name, MIN_NAME_CELLS):
        amount = 0
    if room - amount - word < min(columns.name, MIN_NAME_BESIDE_WORD):
        word = 2
    name_width = max(1, min(room - amount - word, columns.name))
    sign = "" if not has_fold else glyphs.leaf if row.fold is None else glyphs.folded if row.fold else glyphs.unfolded
    pieces: list[Piece] = []
    if has_fold:
        pieces.append((fit(sign, 2), "faint"))
    own = " " * row.indent + row.name
    pieces.append((fit(own, name_width, glyphs), "strong" if row.fold is not None else ""))
    if amount:
        pieces.append((row.amount.rjust(amount), "quiet"))
    if row.symbol:
        pieces.append((f" {row.symbol}", row.look))
        if word > 2:
            pieces.append((f" {row.word}", row.look))
            if row.aside:
                pieces.append((f" {row.aside}", "faint"))
            left = room - name_width - amount - word
            if row.note and left >= MIN_NOTE_CELLS:
                pad = " " * (word - 3 - cell_len(row.status))
                pieces.append((f"{pad}  {cut(row.note, left - 2, glyphs)}", "quiet"))
    return tuple(pieces)


def project_rows(overview: Overview, folded: frozenset[str], glyphs: Glyphs) -> tuple[Row, ...]:
    """Every project with its recordings below it; recordings in trouble come first."""
    rows: list[Row] = []
    for project in sorted(overview.projects, key=lambda project: project.project):
        recordings = sorted(project.recordings, key=lambda view: (trouble_rank(view.state), view.dataset))
        is_folded = project.project in folded
        rows.append(_project_row(project, recordings, is_folded, glyphs))
        if not is_folded:
            rows += [_recording_row(view, glyphs) for view in recordings]
    return tuple(rows)


def _project_row(project: ProjectView, recordings: list[RecordingView], is_folded: bool, glyphs: Glyphs) -> Row:
    state: State | None = None
    if project.problem:
        state = State.INVALID
    elif not project.here:
        state = State.REMOTE
    elif is_folded and recordings:
        state = recordings[0].state
    return _with_state(
        Row(
            key=f"project:{project.project}",
            place=Place.PROJECTS,
            name=clean(project.project, glyphs),
            subject=project,
            amount="empty" if not recordings else f"{len(recordings)} rec",
            fold=is_folded if recordings else None,
            haystack="",
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
    if view.behind:
        parts.append(f"{view.behind} newer on the service")
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


def dataset_rows(overview: Overview, glyphs: Glyphs) -> tuple[Row, ...]:
    """The catalog, trouble first."""
    ordered = sorted(overview.datasets, key=lambda view: (trouble_rank(view.state), view.id))
    return tuple(_dataset_row(view, glyphs) for view in ordered)


def _dataset_row(view: DatasetView, glyphs: Glyphs) -> Row:
    return _with_state(
        Row(
            key=f"dataset:{view.id}",
            place=Place.CATALOG,
            name=clean(view.id, glyphs),
            subject=view,
            amount=figures.size(view.size_bytes if view.size_bytes is not None else view.local_bytes, glyphs),
            note=_dataset_note(view, glyphs),
        ),
        view.state,
        view.last_state,
        glyphs,
    )


def with_job(row: Row, job: JobRecord, glyphs: Glyphs) -> Row:
    """A thing's row while a job moves it: how far it is, instead of the state."""
    from noeira_tui.jobs.records import JobState

    fraction = job.progress.fraction
    if job.state is JobState.RUNNING and fraction is not None:
        word = figures.percent(fraction).strip()
    else:
        word = {JobState.QUEUED: "waiting", JobState.PAUSED: "paused"}.get(job.state, "starting")
    left = job.progress.remaining_s
    speed = figures.rate(job.progress.rate, glyphs)
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


def pack_rows(overview: Overview, glyphs: Glyphs) -> tuple[Row, ...]:
    """The declared asset packs, trouble first."""
    ordered = sorted(overview.packs, key=lambda pack: (trouble_rank(pack.state), pack.pack, pack.version))
    rows = []
    seen: dict[str, int] = {}
    for pack in ordered:
        key = f"pack:{pack.manifest}:{pack.dest}:{pack.pack}@{pack.version}"
        seen[key] = seen.get(key, 0) + 1
        row = Row(
            key=f"{key}#{seen[key]}",
            place=Place.PACKS,
            name=clean(f"{pack.pack}@{pack.version}" if pack.version else pack.pack, glyphs),
            subject=pack,
            amount=figures.size(pack.size_bytes, glyphs),
            note=clean(pack.detail, glyphs),
            haystack=clean(pack.provider).lower(),
        )
        rows.append(_with_state(row, pack.state, None, glyphs))
    return tuple(rows)


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
