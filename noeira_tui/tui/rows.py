"""A row of a list, and how it is painted: what a thing is called, how large it is and how it does, in columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from rich.cells import cell_len

from noeira_tui.core.states import State
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import Line, Piece, cut, fit

if TYPE_CHECKING:
    # The facts are imported with the first picture, after the first paint.
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import DatasetView, ProjectView, RecordingView
    from noeira_tui.tui.pace import Moment

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
    brief: int = 0

    def within(self, other: Columns) -> bool:
        """Whether everything of these widths fits into the others."""
        return (
            self.name <= other.name
            and self.amount <= other.amount
            and self.word <= other.word
            and self.brief <= other.brief
        )


@dataclass(frozen=True)
class Row:
    """One line of a list. `key` stays the same as long as the thing does; texts are clean already.

    `brief` is the amount in as few cells as it can be read in; empty where there is none. `aside` is dimmed beside the
    state: the last known state of something that could not be asked. `note` follows where there is room: why, in a few
    words. `fold` is None for what has nothing below it, else whether that is hidden.
    `haystack` is what a filter's words are looked for in, `size_bytes` what its comparisons look at. `moment` is a
    running job's speed.
    """

    key: str
    place: Place
    name: str
    subject: Subject
    amount: str = ""
    brief: str = ""
    state: State | None = None
    symbol: str = ""
    word: str = ""
    look: str = ""
    aside: str = ""
    note: str = ""
    depth: int = 0
    fold: bool | None = None
    haystack: str = ""
    size_bytes: int | None = None
    moment: Moment | None = None

    @property
    def states(self) -> tuple[str, str]:
        """The words of its state and of the last known one; a job's own."""
        return (self.state.value if self.state is not None else self.word, self.aside)

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

    @cached_property
    def cells(self) -> tuple[int, int, int, int]:
        """Cells that its name with its indent, its amount, its status and its brief amount take."""
        return self.indent + cell_len(self.name), cell_len(self.amount), cell_len(self.status), cell_len(self.brief)

    def measure(self) -> None:
        """Measure its cells now, beside the app: a list then only has to compare numbers."""
        _ = self.cells

    @property
    def status(self) -> str:
        """The state in one text: its word, and the last answer's where the service could not be asked."""
        return f"{self.word} {self.aside}".rstrip()


def columns_of(rows: Iterable[Row]) -> Columns:
    """The widths that fit all rows."""
    measured = [row.cells for row in rows if not row.is_heading]
    if not measured:
        return Columns()
    names, amounts, words, briefs = zip(*measured, strict=True)
    return Columns(min(max(names), MAX_NAME_CELLS), max(amounts), max(words), max(briefs))


def _amount(row: Row, room: int, columns: Columns) -> tuple[str, int]:
    """The amount and the cells of its column, as much as leaves room for the name."""
    name = min(columns.name, MIN_NAME_CELLS)
    if columns.amount and room - columns.amount - 2 >= name:
        return row.amount, columns.amount + 2
    if columns.brief and room - columns.brief - 1 >= name:
        return row.brief, columns.brief + 1
    return "", 0


def paint_row(row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
    """A row in at most `width` cells: fold sign, name, amount right-aligned, symbol and word of the state."""
    if row.is_heading:
        return ((cut(row.name, width, glyphs), "heading"),)
    has_fold = row.fold is not None or row.depth > 0
    lead = 2 if has_fold else 0
    room = width - lead
    word = columns.word + 3 if columns.word else 2
    # The state is told by symbol and word as long as there is any room; the amount is in the details as well.
    shown, amount = _amount(row, room - word, columns)
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
        pieces.append((shown.rjust(amount), "quiet"))
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
