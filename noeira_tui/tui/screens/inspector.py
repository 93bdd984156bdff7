"""The inspector: what a dataset holds, wherever it is, read part by part as one looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from noeira_tui.tui import inspector_lines
from noeira_tui.tui.action import bindings_of
from noeira_tui.tui.inspecting import Lane, Looks, Opened, QualityOf, Reads, Said
from noeira_tui.tui.inspector_actions import INSPECTOR, Inspecting, Section
from noeira_tui.tui.inspector_judging import InspectorJudging
from noeira_tui.tui.rows import Place
from noeira_tui.tui.screens.inspector_episode import EpisodeLook
from noeira_tui.tui.screens.inspector_keys import InspectorKeys
from noeira_tui.tui.screens.inspector_painter import InspectorPainter
from noeira_tui.tui.screens.page import Page
from noeira_tui.tui.styles import style_sheet
from noeira_tui.tui.text import clean
from noeira_tui.tui.widgets.episode_view import EpisodeView
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.line_list import LineList
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.plot import Plot

if TYPE_CHECKING:
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.core.progress import CancelToken
    from noeira_tui.datasets.facts import DatasetInfo, Episodes, FeatureStats, Histogram, Problem
    from noeira_tui.tui.curation import Curation
    from noeira_tui.tui.glyphs import Glyphs

T = TypeVar("T")

INGESTS_EVERY_S = 0.5
COST_EVERY_S = 0.2
COST_EVERY_OVER_SSH_S = 1.0
"""How often the bytes read so far are told while something is read."""

BINS = 16
_PAGE = 1000

NEEDS: dict[Section, Lane] = {
    Section.EPISODES: Lane.EPISODES,
    Section.LENGTHS: Lane.EPISODES,
    Section.STATISTICS: Lane.STATISTICS,
}
"""What a section needs besides the metadata."""


class InspectorScreen(Page):
    """One dataset. `uri` is its address, `opened` makes what reads it; `size_bytes` is its size where that is known."""

    CSS_PATH = style_sheet("inspector.tcss")
    ACTIONS = INSPECTOR
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(INSPECTOR)]
    AUTO_FOCUS = "#text"

    def __init__(
        self,
        uri: str,
        opened: Opened,
        glyphs: Glyphs,
        *,
        size_bytes: int | None = None,
        over_ssh: bool = False,
        quality_of: QualityOf | None = None,
        curation: Curation | None = None,
        episode: int | None = None,
    ) -> None:
        super().__init__(glyphs)
        self.uri = uri
        self.size_bytes = size_bytes
        self.section = Section.SUMMARY if episode is None else Section.EPISODES
        self.info: DatasetInfo | None = None
        self.table: Episodes | None = None
        self.histogram: Histogram | None = None
        self.stats: tuple[FeatureStats, ...] | None = None
        self.problems: tuple[Problem, ...] = ()
        self.checked = False
        self.failures: dict[Lane, NoeiraError] = {}
        self._opened = opened
        self._over_ssh = over_ssh
        self._wanted_episode = episode
        self.judging = InspectorJudging(self, curation)
        self.reads = self._new_reads()
        self.view = EpisodeView(glyphs)
        self.look = EpisodeLook(self, self.view, quality_of)
        self.painter = InspectorPainter(self)
        self.keys = InspectorKeys(self)

    def _new_reads(self) -> Reads:
        return Reads(self.post_message, self._opened, self._reading_changed)

    def compose(self) -> ComposeResult:
        yield Painted(id="header")
        yield Painted(id="sections")
        with Vertical(id="body"):
            yield LineList(id="text")
            yield self.view
        yield Painted(id="status")
        yield KeyBar(self.glyphs)

    def on_mount(self) -> None:
        self.set_class(self.glyphs.is_ascii, "-ascii")
        self.view.display = False
        self.set_interval(COST_EVERY_OVER_SSH_S if self._over_ssh else COST_EVERY_S, self._tell_cost)
        self.judging.follow_ingests()
        self.set_interval(INGESTS_EVERY_S, self.judging.follow_ingests)
        self.read_summary()

    def on_unmount(self) -> None:
        self.reads.close()

    def on_resize(self, event: events.Resize) -> None:
        self.paint()

    @on(EpisodeView.Resized)
    def _view_resized(self) -> None:
        self.look.come_back()

    # What is read

    def read_summary(self) -> None:
        """Read the metadata, and what the section needs."""

        def work(inspector: Looks, cancel: CancelToken) -> DatasetInfo:
            return inspector.summary(cancel)

        def done(info: DatasetInfo) -> None:
            self.info, self.problems = info, info.problems
            self.paint()

        self._ask(Lane.SUMMARY, work, done)
        self.read_needed()

    def read_needed(self) -> None:
        """Read what the section shows and nobody read yet."""
        lane = NEEDS.get(self.section)
        if lane is None or lane in self.failures or lane in self.reads.running:
            return
        if lane is Lane.EPISODES and self.table is None:
            self._ask(lane, _read_table, self._take_table)
        elif lane is Lane.STATISTICS and self.stats is None:
            self._ask(lane, lambda inspector, cancel: inspector.stats(cancel), self._take_stats)

    def _take_table(self, found: tuple[Episodes, Histogram, tuple[Problem, ...]]) -> None:
        self.table, self.histogram, self.problems = found
        self.judging.read()
        if len(self.table):
            self.go_to_row(0)
        self.paint()
        if self._wanted_episode is not None:
            self.go_to_episode(self._wanted_episode)
            self._wanted_episode = None

    def _take_stats(self, stats: tuple[FeatureStats, ...]) -> None:
        self.stats = stats
        self.paint()

    def check_deeply(self) -> None:
        """Compare rows and videos with the episode table; the episodes have more problems afterwards."""
        has_table = self.table is not None

        def work(inspector: Looks, cancel: CancelToken) -> tuple[tuple[Problem, ...], Episodes | None]:
            return inspector.deepen(cancel), inspector.episodes(cancel) if has_table else None

        def done(result: tuple[tuple[Problem, ...], Episodes | None]) -> None:
            found, table = result
            self.problems, self.checked = found, True
            self.table = self.table if table is None else table
            self.tell(f"Rows and videos: {len(found) or 'no'} problem{'' if len(found) == 1 else 's'} in all.")
            self.paint()

        self._ask(Lane.DEEP, work, done)

    def _ask(self, lane: Lane, work: Callable[[Looks, CancelToken], T], then: Callable[[T], None]) -> None:
        self.failures.pop(lane, None)
        self.reads.ask(lane, work, then, partial(self._failed, lane))
        self.paint()

    def _failed(self, lane: Lane, error: NoeiraError) -> None:
        self.failures[lane] = error
        self.paint()

    def read_again(self) -> None:
        """Read what failed once more, else everything anew."""
        if self.look.failures and self.section is Section.EPISODES and self.table is not None:
            self.look.retry()
            return
        failed = self.failure
        if failed is not None and failed[0] is Lane.DEEP:
            self.check_deeply()
            return
        if failed is None or failed[0] is Lane.SUMMARY:
            self.reads.close()
            self.reads = self._new_reads()
            self.info, self.table, self.histogram, self.stats = None, None, None, None
            self.problems, self.checked = (), False
            self.look.forget()
        self.failures.clear()
        if self.info is None:
            self.read_summary()
        else:
            self.read_needed()

    @property
    def failure(self) -> tuple[Lane, NoeiraError] | None:
        """What keeps the section from being shown."""
        for lane in (Lane.SUMMARY, NEEDS.get(self.section), Lane.DEEP if self.section is Section.PROBLEMS else None):
            if lane is not None and lane in self.failures:
                return lane, self.failures[lane]
        return None

    def _reading_changed(self) -> None:
        self.paint_lines()

    def _tell_cost(self) -> None:
        if self.reads.running:
            self.paint_lines()

    def on_said(self, message: Said) -> None:
        self.tell(message.text, severity="warning")

    # Where one is

    def go_to(self, section: Section) -> None:
        """Show a section."""
        if section is not self.section:
            self.section = section
            if section is not Section.EPISODES:
                self.look.leave()
        self.read_needed()
        self.paint(from_top=True)
        if self.shows_episodes:
            self.look.come_back()

    def go_to_row(self, row: int) -> None:
        """Look at the episode in a row of the list."""
        if self.table is not None:
            for episode in self.table.page(row, 1):
                self.look.turn_to(episode)
        self.paint_lines()

    def go_to_episode(self, index: int) -> None:
        """Put the cursor on an episode by its number."""
        if self.table is not None:
            self.view.list.move_to(row_of(self.table, index))

    @property
    def shows_episodes(self) -> bool:
        """Whether the list of episodes is in sight."""
        return self.section is Section.EPISODES and self.failure is None and bool(self.table)

    @property
    def list(self) -> LineList:
        """What the keyboard moves in."""
        return self.view.list if self.shows_episodes else self.query_one("#text", LineList)

    @property
    def handlers(self) -> Mapping[str, Callable[[], None]]:
        return self.keys.handlers

    def situation(self) -> Inspecting:
        """What decides which actions can be used now."""
        running = self.reads.running
        return Inspecting(
            place=Place.DIALOG,
            section=self.section,
            known=self.info is not None,
            episodes=None if self.table is None else len(self.table),
            plotted=self.look.frames > 0,
            dimensions=self.look.dimensions,
            cameras=len(self.look.cameras),
            frame_shown=self.look.shown.frame,
            reading=bool(running),
            checking=Lane.DEEP in running,
            checked=self.checked,
            marked=len(self.judging.marked),
            read_only=self.judging.read_only,
            reject_refusal=self.judging.reject_refusal(),
            undoable=self.judging.undoable,
            ingest_refusal=self.judging.ingest_refusal(),
            own_keys=self.glyphs.own_keys,
        )

    # What is shown

    @property
    def _has_parts(self) -> bool:
        """Whether its widgets are there: not before they are made, nor while the app ends."""
        return self.is_attached and all(self.query(name) for name in ("#keys", "#text", "#about"))

    def paint(self, *, from_top: bool = False) -> None:
        """Give every widget what it shows."""
        if self._has_parts:
            self.painter.paint(from_top=from_top)

    def paint_lines(self) -> None:
        """Header, sections, status and keys."""
        if self._has_parts:
            self.painter.paint_lines()

    # What the user does

    @on(LineList.Moved)
    def _row_changed(self, message: LineList.Moved) -> None:
        if message.lines is self.view.list:
            self.go_to_row(message.index)

    @on(LineList.Chosen)
    def _row_chosen(self) -> None:
        self.act("inspector_zoom")

    @on(Plot.Pointed)
    def _pointed(self, message: Plot.Pointed) -> None:
        self.look.point_at(message.share)

    def copied(self) -> str:
        """What `y` copies: an error that is shown, the problems, else the address."""
        failures = [*self.look.failures.values()] if self.shows_episodes else []
        failed = self.failure
        if failed is not None or failures:
            return inspector_lines.error_text(failed[1] if failed is not None else failures[0])
        if self.section is Section.PROBLEMS and self.problems:
            return "\n".join(
                clean(f"{one.code}: {one.file} {one.field}: {one.message}".replace("  ", " ")) for one in self.problems
            )
        return self.uri


def row_of(table: Episodes, index: int) -> int:
    """The row of an episode of the table: mostly that of its number; where it is not, all are looked through."""
    for at in (index, *range(0, len(table), _PAGE)):
        for row, episode in enumerate(table.page(at, 1 if at == index else _PAGE), at):
            if episode.index == index:
                return row
    return 0


def _read_table(inspector: Looks, cancel: CancelToken) -> tuple[Episodes, Histogram, tuple[Problem, ...]]:
    episodes = inspector.episodes(cancel)
    lengths = episodes.lengths
    # No narrower than a frame.
    bins = max(1, min(BINS, max(lengths) - min(lengths))) if lengths else BINS
    return episodes, inspector.histogram(bins, cancel), inspector.problems()
