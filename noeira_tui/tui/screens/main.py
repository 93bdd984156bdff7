"""The main screen: three lists side by side, details, jobs, and the answer to "safe to destroy?"."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from noeira_tui.core.installed import PROGRAM
from noeira_tui.tui.actions import BY_ID, Group, Situation, bindings
from noeira_tui.tui.background import Background
from noeira_tui.tui.board import PANES, Board
from noeira_tui.tui.frugal import be_frugal
from noeira_tui.tui.history import History, Visit
from noeira_tui.tui.messages import (
    ErrandDone,
    ErrandFailed,
    FilterLeft,
    JobsFailed,
    JobsRead,
    Looked,
    LookFailed,
    LookStarted,
)
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place, Row
from noeira_tui.tui.screens.news import News
from noeira_tui.tui.screens.painter import Painter
from noeira_tui.tui.screens.verdicts import Verdicts
from noeira_tui.tui.telling import Telling
from noeira_tui.tui.threads import Errands, Watcher
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.pane import Pane
from noeira_tui.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.tui.operations import Operations

TABS_BELOW = 100
LIST_BELOW = 60
"""Widths, in columns, below which the panes become tabs, and one list."""
ROOMY_FROM = 120
"""Where each pane has room for the sizes of its rows in full."""
WIDE_FROM = 170
"""Where all three panes have room for what they say of a row."""
AGES_EVERY_S = 1.0
AGES_EVERY_OVER_SSH_S = 5.0
WORKING_EVERY_S = 0.5
"""How often ages are told anew while a recording is watched, and how far what the app itself does is."""


class MainScreen(Screen[None]):
    """Shows the board and turns keys into actions of the registry."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    AUTO_FOCUS = "#catalog-list"

    def __init__(self, box: BoxLike, board: Board, *, read_only: bool, over_ssh: bool) -> None:
        super().__init__()
        be_frugal(self)
        self.board = board
        self.read_only = read_only
        self.place = Place.CATALOG
        self.looking = True
        self.jobs_known = False
        self.owns_process = False
        self.painter = Painter(self)
        self.telling = Telling(self, board.glyphs)
        self.verdicts = Verdicts(self, box)
        self.news = News(self)
        self.errands = Errands(self.post_message)
        self.watcher = Watcher(box, self.post_message, board.shelve, over_ssh=over_ssh)
        self.background = Background(self)
        self.history = History()
        self._over_ssh = over_ssh
        self.box = box
        self._operations: Operations | None = None

    def compose(self) -> ComposeResult:
        glyphs = self.board.glyphs
        yield Painted(id="header")
        with Horizontal(id="panes"):
            for place in PANES:
                yield Pane(place.value, glyphs)
            yield Pane("everything", glyphs, classes="plain")
        yield Painted(id="details")
        yield Pane("jobs", glyphs, self.painter.paint_job, classes="pane")
        yield Painted(id="status")
        yield KeyBar(glyphs)

    def on_mount(self) -> None:
        self.set_class(self.board.glyphs.is_ascii, "-ascii")
        self.painter.paint()
        # The first picture is asked for only once something is on screen.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.owns_process = not gc.isenabled()
        gc.enable()  # `open_app` let it rest
        self.watcher.start()
        self.set_interval(AGES_EVERY_OVER_SSH_S if self._over_ssh else AGES_EVERY_S, self._tell_ages)
        self.set_interval(WORKING_EVERY_S, self._tell_working)

    def _tell_ages(self) -> None:
        """A watch tells how long ago it sent something: its words age without anything happening."""
        if self.board.has_watches or self.board.has_running:
            self.board.pace.take(self.board.jobs)
            self.painter.paint_jobs()

    def _tell_working(self) -> None:
        if self.background.doing:
            self.painter.paint_notes()

    def on_unmount(self) -> None:
        self.watcher.stop()

    def on_resize(self, event: events.Resize) -> None:
        focused = self.focused
        if focused is None or isinstance(focused, RowList):
            self.go_to(self.place)
        self.painter.paint()

    # What is where

    @property
    def width_mode(self) -> str:
        """`list`, `tabs` or `panes`, by the width."""
        width = self.size.width
        return "list" if width < LIST_BELOW else "tabs" if width < TABS_BELOW else "panes"

    def pane(self, place: Place) -> Pane:
        """The pane that shows a place at this width."""
        name = "everything" if self.width_mode == "list" and place in PANES else place.value
        return self.query_one(f"#{name}", Pane)

    @property
    def list(self) -> RowList:
        """The list the keyboard works on."""
        return self.pane(self.place).list

    @property
    def current(self) -> Row | None:
        return self.list.current

    def situation(self) -> Situation:
        """What decides which actions can be used now."""
        row = self.current
        known = self.verdicts.of(row)
        return Situation(
            place=self.place,
            row=row,
            marked=len(self.list.marked),
            is_watched=self.board.is_watched(self.list.marked or ({row.key} if row is not None else ())),
            job=self.board.job_of(row),
            read_only=self.read_only,
            pull_refusal=known.pull if known else None,
            push_refusal=known.push if known else None,
            watch_refusal=known.watch if known else None,
            verify_refusal=known.verify if known else None,
            free_refusal=known.free if known else None,
            packs_to_fetch=len(self.board.packs_to_fetch()),
            doing=self.background.doing,
            does_it_here=self.background.is_at(self.place),
            can_go_back=self.history.leads_back(self.here),
            can_go_forward=self.history.leads_forward,
            own_keys=self.board.glyphs.own_keys,
        )

    @property
    def here(self) -> Visit | None:
        """What is highlighted, as a visit; None for nothing."""
        row = self.current
        return None if row is None or row.is_heading else (self.place, row.key)

    def note_visit(self) -> None:
        """Remember the highlighted thing as one that was visited."""
        if self.here is not None:
            self.history.visit(self.here)

    def reveal(self, place: Place, key: str) -> bool:
        """Highlight a row wherever it is: unfolds its project, clears a filter that hides it. False when it is gone."""
        project = key.removeprefix("recording:").split("/")[0] if key.startswith("recording:") else ""
        if key not in {row.key for row in self.board.all_rows(place)} and project:
            self.board.fold(project, folded=False)
        if key not in {row.key for row in self.board.all_rows(place)}:
            return False
        if key not in {row.key for row in self.board.rows(place)}:
            self.board.filters.pop(place, None)
        self.go_to(place)
        keys = [row.key for row in self.list.rows]
        if key not in keys:
            return False
        self.list.move_to(keys.index(key))
        return True

    def go_to(self, place: Place) -> None:
        """Put the keyboard into a list, and show it where only one is shown."""
        self.place = place
        shown = place if place in PANES else self.shown_pane
        for name in PANES:
            self.query_one(f"#{name.value}", Pane).set_class(name is shown, "-shown")
        target = self.pane(place).list
        target.focus()
        if target.id == "everything-list" and (target.current is None or target.current.place is not place):
            keys = [row.key for row in target.rows]
            target.move_to(keys.index(f"heading:{place}") if f"heading:{place}" in keys else 0)
        self.painter.paint()

    @property
    def shown_pane(self) -> Place:
        """The pane that is shown where only one is."""
        for name in PANES:
            if self.query_one(f"#{name.value}", Pane).has_class("-shown"):
                return name
        return Place.CATALOG

    # What the threads tell

    def on_look_started(self, message: LookStarted) -> None:
        self.painter.paint_lines()

    def on_looked(self, message: Looked) -> None:
        self.news.looked(message)

    def on_look_failed(self, message: LookFailed) -> None:
        self.news.look_failed(message)

    def on_jobs_read(self, message: JobsRead) -> None:
        self.news.jobs_read(message)

    def on_jobs_failed(self, message: JobsFailed) -> None:
        self.news.jobs_failed(message)

    def on_errand_done(self, message: ErrandDone) -> None:
        self.telling.unless_replaced(message.then)

    def on_errand_failed(self, message: ErrandFailed) -> None:
        if message.otherwise is not None:
            message.otherwise(message.error)
        else:
            self.show_error(message.error)

    def tell(self, text: str, *, title: str = "", severity: str = "information") -> None:
        """A toast. Its text is literal."""
        self.telling.tell(text, title=title, severity=severity)

    def show_error(self, error: NoeiraError) -> None:
        """Say what failed, in a dialog that can be copied."""
        self.telling.show_error(error)

    # What the user does

    @on(RowList.Highlighted)
    def _row_changed(self, message: RowList.Highlighted) -> None:
        if message.rows is not self.list:
            return
        row = self.current
        if row is not None and message.rows.id == "everything-list":
            self.place = row.place
        self.painter.paint_row()
        self.verdicts.ask()

    @on(RowList.Chosen)
    def _row_chosen(self) -> None:
        self.act("open")

    @on(KeyBar.Clicked)
    def _key_clicked(self, message: KeyBar.Clicked) -> None:
        self.act(message.action_id)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        widget = event.widget
        for place in (*PANES, Place.JOBS):
            if widget.id == f"{place.value}-list" and place is not self.place:
                self.go_to(place)
        self.painter.paint_row()

    @on(Pane.FilterChanged)
    def _filter_typed(self, message: Pane.FilterChanged) -> None:
        for place in self._filtered_places():
            self.board.filters[place] = message.needle
        self.painter.paint_lists()
        self.painter.paint_jobs()
        self.painter.paint_row()

    @on(FilterLeft)
    async def _filter_left(self, message: FilterLeft) -> None:
        if message.clear:
            self.clear_filter()
        await self.pane(self.place).close_filter()

    def clear_filter(self) -> None:
        """Show all rows again."""
        for place in self._filtered_places():
            self.board.filters.pop(place, None)
        self.painter.paint()

    def _filtered_places(self) -> tuple[Place, ...]:
        """The lists a filter works on: the one with the keyboard, or all that are in one."""
        return PANES if self.width_mode == "list" and self.place in PANES else (self.place,)

    def fold(self, project: str, *, folded: bool) -> None:
        """Hide or show a project's recordings; the cursor goes to the project when its row goes."""
        self.board.fold(project, folded=folded)
        self.painter.paint_lists()
        rows = self.list.rows
        if folded:
            keys = [row.key for row in rows]
            self.list.move_to(keys.index(f"project:{project}"))
        self.painter.paint_row()

    def action_act(self, action_id: str) -> None:
        """What a key does."""
        self.act(action_id)

    def act(self, action_id: str) -> None:
        """Do an action of the registry, or say why not."""
        reason = BY_ID[action_id].why_not(self.situation())
        if reason is not None:
            self.tell(reason, severity="warning")
            return
        if action_id == "quit" and PROGRAM.look():
            self.app.exit()  # whatever fits together: leaving always works
            return
        self.telling.unless_replaced(lambda: self._do(action_id))

    def _do(self, action_id: str) -> None:
        if self._operations is None:
            from noeira_tui.tui.operations import Operations

            self._operations = Operations(self, self.box)
        if BY_ID[action_id].group is Group.DATA or action_id == "open":
            self.note_visit()
        self._operations.do(action_id)

    def follow(self) -> None:
        """Bring what was opened from here up to date."""
        if self._operations is not None:
            self._operations.follow()

    def look_again(self) -> None:
        """Look at the box and ask the service now."""
        self.looking = True
        self.jobs_known = False
        self.news.expect_first()
        self.painter.paint_lines()
        self.watcher.look_now()
