"""What is done in lists: move, mark, fold, filter, copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.overview.picture import ProjectView, RecordingView
from noeira_tui.tui import details
from noeira_tui.tui.board import PANES
from noeira_tui.tui.rows import Place

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class ListOperations:
    """Everything that changes what is highlighted, marked or shown, and nothing else."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        moves = {"down": 1, "up": -1, "top": -(10**9), "bottom": 10**9}
        places = {"projects": Place.PROJECTS, "catalog": Place.CATALOG, "packs": Place.PACKS, "jobs": Place.JOBS}
        self.handlers: dict[str, Callable[[], None]] = {
            "filter": self._filter,
            "mark": self._mark,
            "copy": self._copy,
            "back": self._back,
            "page_down": lambda: screen.list.move_by(screen.list.page()),
            "page_up": lambda: screen.list.move_by(-screen.list.page()),
            "fold": partial(self._fold, True),
            "unfold": partial(self._fold, False),
            "next": partial(self._cycle, 1),
            "previous": partial(self._cycle, -1),
            **{name: partial(self._move, rows) for name, rows in moves.items()},
            **{name: partial(screen.go_to, place) for name, place in places.items()},
        }

    def _move(self, rows: int) -> None:
        self._screen.list.move_by(rows)

    def _cycle(self, step: int) -> None:
        order = [*PANES, Place.JOBS]
        self._screen.go_to(order[(order.index(self._screen.place) + step) % len(order)])

    def _filter(self) -> None:
        screen = self._screen
        screen.pane(screen.place).open_filter(screen.board.filters.get(screen.place, ""))

    def _mark(self) -> None:
        rows, row = self._screen.list, self._screen.current
        if row is not None and isinstance(row.subject, ProjectView):
            project = row.subject.project
            keys = (f"recording:{project}/{view.dataset}" for view in row.subject.recordings)
            rows.toggle_marks(keys)
        else:
            rows.toggle_mark()
        self._screen.painter.paint_lists()
        self._screen.painter.paint_row()

    def _copy(self) -> None:
        row = self._screen.current
        found = None if row is None else details.copyable(row)
        if found is not None:
            text, what = found
            self._screen.telling.copy(text)
            self._screen.tell(f"Copied the {what}: {text}")

    def _back(self) -> None:
        screen = self._screen
        if screen.board.filters.get(screen.place):
            screen.clear_filter()
        elif screen.list.marked:
            screen.list.clear_marks()
            screen.painter.paint_lists()
            screen.painter.paint_row()

    def _fold(self, folded: bool) -> None:
        screen = self._screen
        row = screen.current
        subject = None if row is None else row.subject
        if isinstance(subject, ProjectView | RecordingView):
            screen.fold(subject.project, folded=folded)
