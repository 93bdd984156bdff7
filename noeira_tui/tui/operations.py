"""What each action of the registry does. Everything that may block runs beside the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import DatasetView, ProjectView, RecordingView
from noeira_tui.tui import details, figures
from noeira_tui.tui.board import PANES
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place

if TYPE_CHECKING:
    from noeira_tui.tui.modals.details import DetailsDialog
    from noeira_tui.tui.screens.main import MainScreen

CHANGED_HERE = frozenset({State.MODIFIED, State.DIVERGED})
"""A pull would overwrite what only this box has."""

Judged = tuple[DatasetView, str | None]
"""A dataset and why the box refuses it, None when it does not."""


class Operations:
    """The handlers of the actions."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._details: DetailsDialog | None = None
        self._reading = False
        moves = {"down": 1, "up": -1, "top": -(10**9), "bottom": 10**9}
        places = {"projects": Place.PROJECTS, "catalog": Place.CATALOG, "packs": Place.PACKS, "jobs": Place.JOBS}
        self.handlers: dict[str, Callable[[], None]] = {
            "pull": self._pull,
            "push": self._push,
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

    def _chosen(self) -> list[DatasetView]:
        """The marked datasets, else the highlighted one."""
        rows = self._screen.list
        chosen = [row for row in rows.rows if row.key in rows.marked] or [row for row in (rows.current,) if row]
        return [row.subject for row in chosen if isinstance(row.subject, DatasetView)]

    def _pull(self) -> None:
        self._judge(self._chosen(), self._box.can_pull, self._pull_judged)

    def _pull_judged(self, judged: list[Judged]) -> None:
        allowed = self._allowed(judged, "pulled")
        overwritten = [dataset for dataset in allowed if dataset.state in CHANGED_HERE]
        if not allowed:
            return
        if not overwritten:
            self._start_pulls(allowed)
            return
        named = [f"{dataset.id}: {dataset.state.value}, {dataset.path or 'its file'}" for dataset in overwritten]
        self._confirm(
            f"Overwrite {figures.count(len(overwritten), 'file')} that changed here?",
            ["The service does not have these contents; they would be lost.", *named],
            "Overwrite",
            lambda: self._start_pulls(allowed),
        )

    def _start_pulls(self, datasets: list[DatasetView]) -> None:
        def starting(dataset: DatasetView) -> Callable[[], JobRecord]:
            return lambda: self._box.pull(dataset.id, force=dataset.state in CHANGED_HERE)

        self._start([starting(dataset) for dataset in datasets], "Pulling")

    def _push(self) -> None:
        self._judge(self._chosen(), self._box.can_push, self._push_judged)

    def _push_judged(self, judged: list[Judged]) -> None:
        allowed = self._allowed(judged, "pushed")
        named = [dataset for dataset in allowed if dataset.name and dataset.version]
        nameless = [dataset for dataset in allowed if dataset not in named]
        if nameless and len(allowed) == 1:
            self._ask_name(nameless[0])
            return
        if nameless:
            self._screen.tell(
                f"{figures.count(len(nameless), 'file')} without a name in the catalog: push each by itself.",
                severity="warning",
            )
        if not named:
            return
        diverged = [dataset.id for dataset in named if dataset.state is State.DIVERGED]
        if not diverged:
            self._start_pushes(named)
            return
        self._confirm(
            "Replace what the service has?",
            ["Both sides changed: its contents would be replaced by the ones here.", *diverged],
            "Replace",
            lambda: self._start_pushes(named),
        )

    def _start_pushes(self, datasets: list[DatasetView]) -> None:
        self._start([partial(self._box.push, dataset) for dataset in datasets], "Pushing")

    def _ask_name(self, dataset: DatasetView) -> None:
        from noeira_tui.tui.modals.push_name import PushNameDialog

        def named(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                name, version = answer
                self._start([partial(self._box.push_as, dataset, name, version)], "Pushing")

        self._screen.app.push_screen(PushNameDialog(dataset, self._screen.board.glyphs), named)

    def _judge(
        self,
        datasets: list[DatasetView],
        judge: Callable[[DatasetView], str | None],
        then: Callable[[list[Judged]], None],
    ) -> None:
        self._screen.errands.run(lambda: [(dataset, judge(dataset)) for dataset in datasets], then)

    def _allowed(self, judged: list[Judged], done: str) -> list[DatasetView]:
        """The datasets the box does not refuse; what it refuses is told."""
        refused = [(dataset, reason) for dataset, reason in judged if reason is not None]
        if len(judged) == 1 and refused:
            self._screen.tell(str(refused[0][1]), title=refused[0][0].id, severity="warning")
        elif refused:
            reasons = "; ".join(f"{dataset.id}: {reason}" for dataset, reason in refused)
            self._screen.tell(reasons, title=f"{len(refused)} of {len(judged)} not {done}", severity="warning")
        return [dataset for dataset, reason in judged if reason is None]

    def _start(self, starts: Iterable[Callable[[], JobRecord]], doing: str) -> None:
        def started(jobs: list[JobRecord]) -> None:
            self._screen.list.clear_marks()
            self._screen.painter.paint_lists()
            targets = ", ".join(job.spec.target for job in jobs[:3])
            more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
            self._screen.tell(f"{doing} {targets}{more}")

        self._screen.errands.run(lambda: [start() for start in starts], started)

    def _cancel(self) -> None:
        job = self._screen.situation().job
        if job is not None:
            self._screen.errands.run(
                lambda: self._box.cancel(job.id), lambda _: self._screen.tell(f"Cancelled: {job.spec.title}")
            )

    def _retry(self) -> None:
        job = self._screen.situation().job
        if job is not None:
            self._screen.errands.run(
                lambda: self._box.retry(job.id), lambda _: self._screen.tell(f"Trying again: {job.spec.title}")
            )

    def _confirm(self, question: str, lines: list[str], yes: str, then: Callable[[], None]) -> None:
        from noeira_tui.tui.modals.confirm import ConfirmDialog

        def answered(agreed: bool | None) -> None:
            if agreed:
                then()

        self._screen.app.push_screen(ConfirmDialog(question, lines, yes, self._screen.board.glyphs), answered)

    def _unsent(self) -> None:
        from noeira_tui.tui.modals.unsent import UnsentDialog

        board = self._screen.board
        if board.overview is not None:
            self._screen.app.push_screen(UnsentDialog(board.overview, board.glyphs))

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

    def _filter(self) -> None:
        screen = self._screen
        screen.call_later(screen.pane(screen.place).open_filter, screen.board.filters.get(screen.place, ""))

    def _mark(self) -> None:
        self._screen.list.toggle_mark()
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
