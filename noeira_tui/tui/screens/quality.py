"""The quality screen: how the episodes of a catalog score, what is wrong with them, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.tui.action import bindings_of
from noeira_tui.tui.messages import FilterLeft
from noeira_tui.tui.quality_actions import QUALITY, Judging
from noeira_tui.tui.quality_view import QualityView
from noeira_tui.tui.rejecting import local_folder
from noeira_tui.tui.rows import Place
from noeira_tui.tui.screens.page import Page
from noeira_tui.tui.screens.quality_keys import QualityKeys
from noeira_tui.tui.screens.quality_painter import QualityPainter
from noeira_tui.tui.styles import style_sheet
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.line_list import LineList
from noeira_tui.tui.widgets.painted import Painted

if TYPE_CHECKING:
    from textual.widgets import Input

    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.tui.glyphs import Glyphs
    from noeira_tui.tui.quality_table import QualityTable
    from noeira_tui.tui.screens.quality_links import QualityLinks

WIDE_FROM = 110
"""Columns from which the details stand beside the list; below they take its place when they are asked for."""

JOBS_EVERY_S = 0.5


class QualityScreen(Page):
    """One catalog of episodes. `links` is what it needs of the rest of the app."""

    CSS_PATH = style_sheet("quality.tcss")
    ACTIONS = QUALITY
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(QUALITY)]
    AUTO_FOCUS = "#quality-rows"

    def __init__(self, links: QualityLinks, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self.links = links
        self.view = QualityView()
        self.error: NoeiraError | None = None
        self.reading = False
        self.shows_details = True
        self.rows = LineList(id="quality-rows")
        self.flags = LineList(id="quality-flags")
        self.about = LineList(id="quality-about")
        self.painter = QualityPainter(self)
        self.keys = QualityKeys(self)
        self._cancel = CancelToken()
        self._ingesting: frozenset[int] = frozenset()

    def compose(self) -> ComposeResult:
        yield Painted(id="header")
        with Horizontal(id="quality-top"):
            yield Painted(id="quality-scores")
            yield self.flags
        with Horizontal(id="quality-body"):
            with Vertical(id="quality-list"):
                yield self.rows
            yield self.about
        yield Painted(id="status")
        yield KeyBar(self.glyphs)

    def on_mount(self) -> None:
        self.set_class(self.glyphs.is_ascii, "-ascii")
        self.shows_details = self.is_wide
        self._ingesting = frozenset(job.id for job in self.ingests)
        self.set_interval(JOBS_EVERY_S, self._follow_jobs)
        self.read()

    def on_unmount(self) -> None:
        self._cancel.cancel()

    def on_resize(self, event: events.Resize) -> None:
        self.shows_details = self.is_wide
        self.painter.arrange()
        self.painter.paint()

    def on_screen_resume(self) -> None:
        # The inspector may have rejected some.
        self.read_rejections()

    @property
    def is_wide(self) -> bool:
        return self.app.size.width >= WIDE_FROM

    # What is read

    def read(self) -> None:
        """Read the catalog, beside the app; what is shown stays until it is read."""
        from noeira_tui.tui.quality_reading import missing_extra, read_quality

        self._cancel.cancel()
        token = self._cancel = CancelToken()
        place = self.links.catalogs.place
        missing = missing_extra()
        if missing is not None:
            self.error = NoeiraError(missing, title="Not installed")
            self.painter.paint()
            return
        self.reading = True

        def done(table: QualityTable) -> None:
            if token is self._cancel and not token.is_cancelled:
                self.reading, self.error = False, None
                self.view.take(table)
                self.painter.paint()
                self._read_remote_rejections(table, token)

        def failed(error: NoeiraError) -> None:
            if token is self._cancel and not token.is_cancelled:
                self.reading, self.error = False, error
                self.view.forget()
                self.painter.paint()

        self.errands.run(lambda: read_quality(place, token), done, failed)
        self.painter.paint()

    def read_rejections(self) -> None:
        """Read only which episodes are rejected, after that was changed."""
        from noeira_tui.tui.quality_reading import read_rejections

        table, token = self.view.table, self._cancel
        if table is None:
            return

        def done(rejected: dict[str, frozenset[int]]) -> None:
            self._take_rejected(table, rejected, lambda source: local_folder(source) is None)

        self.errands.run(lambda: read_rejections(table.columns, token), done, lambda error: None)

    def _read_remote_rejections(self, table: QualityTable, token: CancelToken) -> None:
        """Those of datasets elsewhere are shown when they come."""
        from noeira_tui.tui.quality_reading import read_remote_rejections

        resolvers = self.links.catalogs.resolvers

        def done(rejected: dict[str, frozenset[int]]) -> None:
            self._take_rejected(table, rejected, lambda source: local_folder(source) is not None)

        self.errands.run(lambda: read_remote_rejections(table.columns, resolvers, token), done, lambda error: None)

    def _take_rejected(
        self, read: QualityTable, rejected: dict[str, frozenset[int]], stays: Callable[[str], bool]
    ) -> None:
        """Show what was read, beside what is known of the datasets that were not asked."""
        shown = self.view.table
        if shown is None or shown.columns is not read.columns:
            return
        now = {source: episodes for source, episodes in shown.rejected.items() if stays(source)} | rejected
        if now != shown.rejected:
            self.view.take_rejected(now)
            self.painter.paint()

    @property
    def ingests(self) -> tuple[JobRecord, ...]:
        """The live jobs that ingest."""
        return tuple(job for job in self.links.jobs() if job.is_live and job.spec.kind == "episodes-ingest")

    def _follow_jobs(self) -> None:
        """Read the catalog again when an ingest ended; tell how far one is."""
        live = frozenset(job.id for job in self.ingests)
        ended, self._ingesting = self._ingesting - live, live
        if ended:
            self.read()
        elif live:
            self.painter.paint_lines()

    # Where one is

    @property
    def list(self) -> LineList:
        """What the keyboard moves in."""
        if self.flags.has_focus:
            return self.flags
        return self.about if self.about.has_focus else self.rows

    @property
    def handlers(self) -> Mapping[str, Callable[[], None]]:
        return self.keys.handlers

    def situation(self) -> Judging:
        """What decides which actions can be used now."""
        view = self.view
        return Judging(
            place=Place.DIALOG,
            read_only=self.links.rejecting.read_only,
            marked=len(view.marked),
            on_flags=self.flags.has_focus,
            known=view.table is not None,
            reading=self.reading,
            shown=len(view.rows),
            flags=0 if view.table is None else len(view.table.flags),
            reject_refusal=view.why_not_rejectable(),
            undoable=self.links.rejecting.undoable,
            ingest_refusal=self.links.ingest_refusal(),
            own_keys=self.glyphs.own_keys,
        )

    # What the user does

    @on(LineList.Moved)
    def _row_changed(self, message: LineList.Moved) -> None:
        if message.lines is self.rows:
            self.view.move_to(message.index)
            self.painter.paint_episode()
        self.painter.paint_lines()

    @on(LineList.Chosen)
    def _row_chosen(self) -> None:
        self.act("quality_open")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if self.is_mounted:
            self.painter.paint_lines()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.view.filter(event.value)
        self.painter.paint_rows()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        await self.keys.leave_filter(clear=False)

    async def on_filter_left(self, message: FilterLeft) -> None:
        await self.keys.leave_filter(clear=message.clear)
