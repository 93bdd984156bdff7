"""Gives every widget of the inspector what it shows; equal contents cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.tui import figures, inspector_lines
from noeira_tui.tui.inspecting import READING, Lane
from noeira_tui.tui.inspector_actions import INSPECTOR, ON_EPISODES, Section
from noeira_tui.tui.text import Line, Piece, clean, cut, cut_line, cut_middle, short_path, spread, width_of
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.line_list import LineList
from noeira_tui.tui.widgets.painted import Painted, title_content

if TYPE_CHECKING:
    from noeira_tui.tui.action import Action
    from noeira_tui.tui.screens.inspector import InspectorScreen

TOLD_AFTER_S = 2.0
"""What takes longer tells how long it took so far."""


class InspectorPainter:
    """Paints the inspector's screen from its facts."""

    def __init__(self, screen: InspectorScreen) -> None:
        self._screen = screen
        self._listed: object = None

    def paint(self, *, from_top: bool = False) -> None:
        """Everything."""
        screen = self._screen
        text = screen.query_one("#text", LineList)
        shows_episodes = screen.shows_episodes
        text.display, screen.view.display = not shows_episodes, shows_episodes
        target = screen.view.list if shows_episodes else text
        if not target.has_focus and screen.is_current:
            target.focus()
        if shows_episodes:
            self._paint_list()
        else:
            width = max(12, screen.size.width - 4)
            lines = self._section(width)
            text.show_lines(inspector_lines.fitted(lines, width, screen.glyphs), keep_place=not from_top)
            text.border_title = title_content(((cut(self._name(), width - 4, screen.glyphs), "strong"),))
        self.paint_lines()

    def _name(self) -> str:
        """The dataset's own name: the end of its address."""
        return clean(self._screen.uri.rstrip("/").rpartition("/")[2] or self._screen.uri, self._screen.glyphs)

    def _paint_list(self) -> None:
        screen, glyphs = self._screen, self._screen.glyphs
        table, rows = screen.table, screen.view.list
        assert table is not None
        if self._listed is table:
            return
        self._listed = table
        fps = None if screen.info is None else screen.info.fps
        last = table.page(len(table) - 1, 1)
        digits = max(2, len(str(last[0].index)) if last else 2)

        def paint(index: int, width: int) -> Line:
            found = table.page(index, 1)
            if not found:
                return ()
            rejected = found[0].index in screen.judging.rejected
            return inspector_lines.episode_line(found[0], digits, fps, width, glyphs, rejected=rejected)

        def lead(index: int) -> Piece:
            found = table.page(index, 1) if screen.judging.marked else ()
            return screen.judging.sign(found[0].index) if found else (" ", "")

        rows.show(len(table), paint, cursor=0, head=[inspector_lines.episode_head(digits, fps)], lead=lead)
        rows.border_title = title_content((("episodes", "strong"), (f" {glyphs.dot} {len(table):,}", "quiet")))

    def _section(self, width: int) -> list[Line]:
        """The lines of the section, or why there are none."""
        screen, glyphs = self._screen, self._screen.glyphs
        failed = screen.failure
        if failed is not None:
            return inspector_lines.error(failed[1], width, glyphs)
        waits = self._waits(width)
        if waits is not None:
            return waits
        info = screen.info
        assert info is not None
        match screen.section:
            case Section.SUMMARY:
                return inspector_lines.summary(info, screen.problems, screen.size_bytes, width, glyphs)
            case Section.FEATURES:
                return inspector_lines.features(info, width, glyphs)
            case Section.TASKS:
                return inspector_lines.tasks(info.tasks, width, glyphs)
            case Section.PROBLEMS:
                return inspector_lines.problems(screen.problems, self._looked(), width, glyphs)
            case Section.STATISTICS:
                return inspector_lines.statistics(screen.stats or (), info, width, glyphs)
            case Section.LENGTHS:
                assert screen.histogram is not None
                return inspector_lines.lengths(screen.histogram, info.fps, width, glyphs)
            case Section.EPISODES:
                return inspector_lines.said("There are no episodes in it.", width)

    def _waits(self, width: int) -> list[Line] | None:
        """What is told while the section's facts are not here; None when they are."""
        screen = self._screen
        needed: dict[Lane, object] = {Lane.SUMMARY: screen.info}
        if screen.section in {Section.EPISODES, Section.LENGTHS}:
            needed[Lane.EPISODES] = screen.table
        if screen.section is Section.STATISTICS:
            needed[Lane.STATISTICS] = screen.stats
        for lane, fact in needed.items():
            if fact is None:  # not read yet: an empty table is one
                if lane in screen.reads.running:
                    return inspector_lines.said(f"{READING[lane].capitalize()}{screen.glyphs.ellipsis}", width)
                told = f"It was stopped. {screen.glyphs.key('inspector_again')} reads it again."
                return inspector_lines.said(told, width, "attention")
        return None

    def _looked(self) -> dict[str, bool]:
        screen, key = self._screen, self._screen.glyphs.key
        checking = Lane.DEEP in screen.reads.running
        how = f"being compared{screen.glyphs.ellipsis}" if checking else f"{key('inspector_check')} compares them"
        deep = f"rows and videos: {how}"
        return {
            "metadata": screen.info is not None,
            f"episode table: {key('inspector_episodes')} reads it": screen.table is not None or screen.checked,
            deep: screen.checked,
        }

    def paint_lines(self) -> None:
        """Header, sections, status and keys."""
        screen, width = self._screen, self._screen.size.width
        screen.query_one("#header", Painted).show([self._header(width)])
        bar = inspector_lines.section_bar(self._counts(), screen.section, width, screen.glyphs)
        screen.query_one("#sections", Painted).show([bar])
        screen.query_one("#status", Painted).show([self._status(width)])
        screen.query_one(KeyBar).show_keys(screen.situation(), self._actions())

    def _actions(self) -> list[Action]:
        """What the footer names: the keys of an episode only where there are episodes."""
        episodes = self._screen.section is Section.EPISODES
        return [action for action in INSPECTOR if episodes or action.id not in ON_EPISODES]

    def _header(self, width: int) -> Line:
        screen, glyphs = self._screen, self._screen.glyphs
        cost = screen.reads.cost
        read = requests = 0
        if cost is not None:
            read, requests = cost.bytes_read, cost.requests
        sign = f"{glyphs.again} " if screen.reads.running else ""
        right: tuple[Piece, ...] = (
            (sign, "live"),
            (f"{figures.size(read, glyphs)} read", "strong"),
            (f" {glyphs.dot} {figures.count(requests, 'request')} ", "quiet"),
        )
        left = (" inspect  ", "heading")
        room = max(8, width - width_of([left, *right]) - 1)
        return spread(
            [left, (cut_middle(clean(short_path(screen.uri), glyphs), room, glyphs), "")], right, width, glyphs
        )

    def _counts(self) -> dict[Section, str]:
        screen, info = self._screen, self._screen.info
        counts: dict[Section, str] = {}
        if info is not None:
            episodes = info.num_episodes if screen.table is None else len(screen.table)
            counts[Section.FEATURES] = f"{len(info.features):,}"
            counts[Section.EPISODES] = "" if episodes is None else f"{episodes:,}"
            counts[Section.TASKS] = f"{len(info.tasks):,}"
            counts[Section.PROBLEMS] = f"{len(screen.problems):,}"
        return counts

    def _checked(self) -> str:
        """How far a deep check is, in files: how many bytes of each it takes shows only as it reads them."""
        cost = self._screen.reads.cost
        if cost is None or not cost.files_to_check:
            return ""
        share = 100 * cost.files_checked // cost.files_to_check
        files = figures.count(cost.files_to_check, "file")
        return f" {share} % {self._screen.glyphs.dot} {cost.files_checked:,} of {files}"

    def _status(self, width: int) -> Line:
        """What is being read; else the highlighted episode, or what the figures stand on."""
        screen, glyphs = self._screen, self._screen.glyphs
        running = screen.reads.running
        if running:
            what, seconds = READING[running[-1]], screen.reads.elapsed_s(running[-1])
            since = f" {figures.clock(seconds)}" if seconds >= TOLD_AFTER_S else ""
            if running[-1] is Lane.DEEP:
                since = f"{self._checked()}{since}"
            reading = f" {glyphs.again} {what}{glyphs.ellipsis}"
            return cut_line(
                ((reading, "live"), (since, "strong"), (f"  {glyphs.key('inspector_stop')} stops it", "faint")),
                width,
                glyphs,
            )
        if screen.shows_episodes and screen.look.episode is not None:
            fps = None if screen.info is None else screen.info.fps
            rejected = screen.look.episode.index in screen.judging.rejected
            return inspector_lines.brief_episode(screen.look.episode, fps, width, glyphs, rejected=rejected)
        if screen.info is None:
            return ((" nothing is known of it yet", "faint"),)
        looked = [what.partition(":")[0] for what, done in self._looked().items() if done]
        return cut_line(((f" looked at: {', '.join(looked)}", "quiet"),), width, glyphs)
