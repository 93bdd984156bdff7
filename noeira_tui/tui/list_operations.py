"""What is done in lists: move, jump, mark, fold, sort, filter, copy, and back to where one was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.overview.picture import ProjectView, RecordingView
from noeira_tui.tui import details
from noeira_tui.tui.board import PANES
from noeira_tui.tui.history import Visit
from noeira_tui.tui.rows import Place
from noeira_tui.tui.thing_rows import Order

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen
    from noeira_tui.tui.widgets.row_list import RowList


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
            "sort": self._sort,
            "jump": self._jump,
            "previous_visit": self._go_back,
            "next_visit": self._go_forward,
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

    def _jump(self) -> None:
        """Label every row in sight of every list; the letters typed next choose one."""
        from noeira_tui.tui.modals.jump import JumpScreen, labels

        screen = self._screen
        lists: dict[str, RowList] = {}
        for place in (*PANES, Place.JOBS):
            rows = screen.pane(place).list
            if rows.region and rows.rows:
                lists[str(rows.id)] = rows
        spots = [(rows, index) for rows in lists.values() for index in rows.in_sight()]
        found = dict(zip(labels(len(spots)), spots, strict=True))
        for rows in lists.values():
            rows.show_labels({index: label for label, (where, index) in found.items() if where is rows})

        def chosen(label: str | None) -> None:
            for rows in lists.values():
                rows.show_labels({})
            if label is not None:
                screen.note_visit()
                rows, index = found[label]
                row = rows.rows[index] if index < len(rows.rows) else None
                if row is not None:
                    screen.go_to(row.place)
                    rows.move_to(index)
                    screen.note_visit()

        screen.app.push_screen(JumpScreen(tuple(found)), chosen)

    def _go_back(self) -> None:
        screen = self._screen
        visit = screen.history.back(screen.here)
        while visit is not None and not screen.reveal(*visit):
            visit = screen.history.back(visit)
        self._tell_when_gone(visit)

    def _go_forward(self) -> None:
        screen = self._screen
        visit = screen.history.forward()
        while visit is not None and not screen.reveal(*visit):
            visit = screen.history.forward()
        self._tell_when_gone(visit)

    def _tell_when_gone(self, visit: Visit | None) -> None:
        if visit is None:
            self._screen.tell("What you were at is not here any more.", severity="warning")

    def _sort(self) -> None:
        screen = self._screen
        orders = list(Order)
        place = screen.place
        order = orders[(orders.index(screen.board.order(place)) + 1) % len(orders)]
        for other in PANES if screen.width_mode == "list" else (place,):
            screen.board.sort(other, order)
        screen.painter.paint_lists()
        screen.painter.paint_row()
        screen.tell(f"Sorted: {order.value}")

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
        screen = self._screen
        marked = [row for row in screen.list.rows if row.key in screen.list.marked]
        if marked:
            found = [(details.copyable(row), row.name) for row in marked]
            lines = [f"{what[0]}  {name}" for what, name in found if what is not None]
            screen.telling.copy("\n".join(lines))
            screen.tell(f"Copied {len(lines)} lines: what each is, and its name")
            return
        row = screen.current
        copied = None if row is None else details.copyable(row)
        if copied is not None:
            text, what = copied
            screen.telling.copy(text)
            screen.tell(f"Copied the {what}: {text}")

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
