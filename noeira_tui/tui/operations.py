"""What each action of the registry does. Everything that may block runs beside the app."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import ProjectView, RecordingView
from noeira_tui.tui import details, figures, things
from noeira_tui.tui.board import PANES
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place
from noeira_tui.tui.things import Thing
from noeira_tui.tui.transfers import Transfers

if TYPE_CHECKING:
    from noeira_tui.overview.packfacts import PackFacts
    from noeira_tui.tui.modals.details import DetailsDialog
    from noeira_tui.tui.screens.main import MainScreen


class Operations:
    """The handlers of the actions."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._transfers = Transfers(screen, box)
        self._details: DetailsDialog | None = None
        self._reading = False
        moves = {"down": 1, "up": -1, "top": -(10**9), "bottom": 10**9}
        places = {"projects": Place.PROJECTS, "catalog": Place.CATALOG, "packs": Place.PACKS, "jobs": Place.JOBS}
        self.handlers: dict[str, Callable[[], None]] = {
            "pull": self._transfers.pull,
            "push": self._transfers.push,
            "watch": self._transfers.watch,
            "verify": self._verify,
            "pull_packs": self._transfers.pull_packs,
            "retry": self._retry,
            "cancel": self._cancel,
            "open": self._open,
            "filter": self._filter,
            "mark": self._mark,
            "copy": self._copy,
            "unsent": self._unsent,
            "refresh": self._refresh,
            "back": self._back,
            "page_down": lambda: screen.list.move_by(screen.list.page()),
            "page_up": lambda: screen.list.move_by(-screen.list.page()),
            "fold": partial(self._fold, True),
            "unfold": partial(self._fold, False),
            "next": partial(self._cycle, 1),
            "previous": partial(self._cycle, -1),
            "theme": self._theme,
            "palette": self._palette,
            "help": self._help,
            "quit": self._quit,
            **{name: partial(self._move, rows) for name, rows in moves.items()},
            **{name: partial(screen.go_to, place) for name, place in places.items()},
        }

    def do(self, action_id: str) -> None:
        """Do an action that can be used now."""
        self.handlers[action_id]()

    # Data

    def _verify(self) -> None:
        def verify(allowed: list[Thing]) -> None:
            self._screen.verification.start([thing for thing in allowed if isinstance(thing, PackStatus)])

        self._transfers.judge(self._transfers.chosen(), partial(things.verify_refusal, self._box), "verified", verify)

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

    def _unsent(self) -> None:
        from noeira_tui.tui.modals.unsent import UnsentDialog

        board = self._screen.board
        if board.overview is None:
            return

        def answered(push: bool | None) -> None:
            if push:
                self._transfers.push_unsent()

        offers = not self._screen.read_only and bool(things.unsent_things(board.overview))
        self._screen.app.push_screen(UnsentDialog(board.overview, board.glyphs, offers_push=offers), answered)

    # Lists

    def _move(self, rows: int) -> None:
        self._screen.list.move_by(rows)

    def _cycle(self, step: int) -> None:
        order = [*PANES, Place.JOBS]
        self._screen.go_to(order[(order.index(self._screen.place) + step) % len(order)])

    def _open(self) -> None:
        from noeira_tui.tui.modals.details import DetailsDialog

        screen = self._screen
        row = screen.current
        if row is None:
            return
        dialog = DetailsDialog(row, screen.board)

        def closed(_: None) -> None:
            self._details, self._reading = None, False

        screen.app.push_screen(dialog, closed)
        self._details = dialog
        self._read_log()
        self._read_pack(dialog)

    def follow(self) -> None:
        """Bring open details up to date: the row, and a job's log."""
        dialog = self._details
        if dialog is None:
            return
        for row in self._screen.board.all_rows(dialog.row.place):
            if row.key == dialog.row.key and row != dialog.row:
                dialog.take(row)
                self._read_log()

    def _read_log(self) -> None:
        dialog = self._details
        if dialog is None or self._reading or not isinstance(dialog.row.subject, JobRecord):
            return
        job_id = dialog.row.subject.id

        def read(text: str) -> None:
            self._reading = False
            if dialog.is_attached:
                dialog.show_log(text)

        self._reading = True
        self._screen.errands.run(lambda: self._box.log(job_id), read)

    def _read_pack(self, dialog: DetailsDialog) -> None:
        """Add what takes a moment to find out about a pack."""
        pack = dialog.row.subject
        if not isinstance(pack, PackStatus):
            return

        def read(found: PackFacts) -> None:
            if dialog.is_attached:
                dialog.add_facts(details.pack_facts(found, self._screen.board.glyphs))

        self._screen.errands.run(lambda: self._box.pack_details(pack), read)

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
            self._screen.copy(text)
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

    # App

    def _refresh(self) -> None:
        self._screen.look_again()

    def _theme(self) -> None:
        app = self._screen.app
        app.theme = "noeira-dark" if app.theme == "noeira-light" else "noeira-light"

    def _palette(self) -> None:
        from noeira_tui.tui.modals.palette import PaletteDialog

        def chosen(action_id: str | None) -> None:
            if action_id is not None:
                self._screen.act(action_id)

        self._screen.app.push_screen(PaletteDialog(self._screen.situation(), self._screen.board.glyphs), chosen)

    def _help(self) -> None:
        from noeira_tui.tui.modals.help import HelpDialog

        self._screen.app.push_screen(HelpDialog(self._screen.situation(), self._screen.board.glyphs))

    def _quit(self) -> None:
        from rich.text import Text

        live = len(self._screen.board.live_jobs())
        goes = "goes" if live == 1 else "go"
        line = f"{figures.count(live, 'job')} {goes} on without the app. See: noeira-tui jobs list" if live else ""
        self._screen.app.exit(message=Text(line) if line else None)
