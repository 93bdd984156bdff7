"""What each action of the quality screen does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.core.errors import NoeiraError
from noeira_tui.tui import quality_lines
from noeira_tui.tui.quality_table import Sort

if TYPE_CHECKING:
    from noeira_tui.tui.screens.quality import QualityScreen

_END = 10**9


class QualityKeys:
    """The handlers of the actions of `quality_actions`."""

    def __init__(self, screen: QualityScreen) -> None:
        self._screen = screen
        handlers: dict[str, Callable[[], None]] = {
            "open": self._open,
            "next": partial(self._cycle, 1),
            "previous": partial(self._cycle, -1),
            "mark": self._mark,
            "mark_all": self._mark_all,
            "reject": self._reject,
            "undo": lambda: screen.links.rejecting.undo(screen, screen.read_rejections),
            "ingest": self._ingest,
            "filter": self._filter,
            "sort": self._sort,
            "turn": self._turn,
            "details": self._details,
            "place": self._place,
            "refresh": screen.read,
            "copy": self._copy,
            "down": partial(self._move, 1),
            "up": partial(self._move, -1),
            "top": partial(self._move, -_END),
            "bottom": partial(self._move, _END),
            "page_down": lambda: screen.list.move_by(screen.list.page()),
            "page_up": lambda: screen.list.move_by(-screen.list.page()),
            "close": self._close,
            "palette": screen.open_palette,
            "help": screen.open_help,
            "quit": screen.links.quit,
        }
        self.handlers = {f"quality_{name}": handler for name, handler in handlers.items()}

    def _move(self, rows: int) -> None:
        self._screen.list.move_by(rows)

    def _open(self) -> None:
        """The episode in the inspector; in the list of flags, who has the flag."""
        screen, view = self._screen, self._screen.view
        if screen.flags.has_focus and view.table is not None:
            flag = view.table.flags[screen.flags.cursor][0]
            view.choose_flag(flag)
            screen.painter.paint()
            if view.wanted.flag:
                screen.rows.focus()
            return
        episode = view.episode
        if episode is not None:
            screen.links.inspect(episode.source_uri, episode.episode_index)

    def _cycle(self, step: int) -> None:
        """To the next one of what is in sight: the episodes, the flags, the details."""
        screen = self._screen
        parts = [part for part in (screen.rows, screen.flags, screen.about) if part.region]
        if parts:
            here = parts.index(screen.list) if screen.list in parts else 0
            parts[(here + step) % len(parts)].focus()

    def _mark(self) -> None:
        screen = self._screen
        screen.view.mark()
        screen.painter.paint_rows()
        screen.rows.move_by(1)

    def _mark_all(self) -> None:
        self._screen.view.mark_all()
        self._screen.painter.paint_rows()

    def _reject(self) -> None:
        screen, table = self._screen, self._screen.view.table
        if table is None:
            return
        chosen = screen.view.chosen_episodes()

        def written() -> None:
            screen.view.unmark()
            screen.read_rejections()

        screen.links.rejecting.ask(screen, chosen, table.rejected, written)

    def _ingest(self) -> None:
        from noeira_tui.tui.inspections import HINT, unquoted
        from noeira_tui.tui.modals.ask import AskDialog

        screen = self._screen
        episode = screen.view.episode

        def answered(text: str | None) -> None:
            if text is not None:
                screen.links.ingest(unquoted(text))

        dialog = AskDialog(
            "Ingest a dataset into this catalog",
            HINT,
            screen.glyphs,
            check=lambda text: None if unquoted(text) else "Type or paste an address or a path.",
            yes="ingest",
            value="" if episode is None else episode.source_uri,
            placeholder="s3://bucket/dataset",
        )
        screen.app.push_screen(dialog, answered)

    def _place(self) -> None:
        from noeira_tui.tui.inspections import unquoted
        from noeira_tui.tui.modals.ask import AskDialog

        screen = self._screen

        def check(text: str) -> str | None:
            return None if unquoted(text) else "Type or paste a folder or an address."

        def answered(text: str | None) -> None:
            if text is None:
                return
            try:
                screen.links.catalogs.choose(unquoted(text))
            except NoeiraError as err:
                screen.tell(err.message, severity="warning")
                return
            screen.view.forget()
            screen.read()

        hint = "A folder, or s3://bucket/prefix. One that is not there yet is made by the first ingest."
        dialog = AskDialog(
            "Open a catalog of episodes",
            hint,
            screen.glyphs,
            check=check,
            yes="open",
            value=screen.links.catalogs.place,
        )
        screen.app.push_screen(dialog, answered)

    def _filter(self) -> None:
        from noeira_tui.tui.widgets.filter_line import FilterLine

        screen = self._screen
        screen.painter.show_list()
        line = next(iter(screen.query(FilterLine)), None)
        if line is None:
            line = FilterLine(screen.view.wanted.needle, "words, flags, !not, score<5, ldlj<-25, rejected, marked")
            screen.query_one("#quality-list").mount(line)
        screen.set_focus(line)

    async def leave_filter(self, *, clear: bool) -> None:
        """Give the keyboard back to the list; `clear` shows all again."""
        from noeira_tui.tui.widgets.filter_line import FilterLine

        screen = self._screen
        if clear:
            screen.view.filter("")
        screen.rows.focus()
        await screen.query(FilterLine).remove()
        screen.painter.paint_rows()

    def _sort(self) -> None:
        from noeira_tui.tui.modals.sort import SortDialog

        screen = self._screen

        def chosen(key: str | None) -> None:
            if key is None:
                return
            now = screen.view.wanted.sort
            self._sort_by(Sort(key, not now.descending) if key == now.key else Sort.worst_first(key))

        screen.app.push_screen(SortDialog(screen.view.wanted.sort, screen.glyphs), chosen)

    def _turn(self) -> None:
        now = self._screen.view.wanted.sort
        self._sort_by(Sort(now.key, not now.descending))

    def _sort_by(self, sort: Sort) -> None:
        self._screen.view.sort(sort)
        self._screen.painter.paint_rows()

    def _details(self) -> None:
        screen = self._screen
        screen.shows_details = not screen.shows_details
        screen.painter.arrange()
        screen.call_after_refresh(screen.painter.paint)

    def _copy(self) -> None:
        screen, table = self._screen, self._screen.view.table
        if table is None:
            return
        lines: list[str] = []
        for row in screen.view.chosen():
            columns = table.columns
            score = quality_lines.score_text(columns.number_at("score", row), screen.glyphs)
            index = columns.index_at(row)
            where = f"{columns.sources.at(row)}{'' if index is None else f'  episode {index}'}"
            lines.append("  ".join(part for part in (where, score, " ".join(columns.flags_at(row))) if part))
        screen.app.copy_to_clipboard("\n".join(lines).encode("utf-8", "backslashreplace").decode())
        screen.tell(f"Copied {len(lines):,} lines." if len(lines) > 1 else f"Copied: {lines[0]}")

    def _close(self) -> None:
        """Undo what was opened last; then leave."""
        screen, view = self._screen, self._screen.view
        if screen.shows_details and not screen.is_wide:
            self._details()
        elif view.wanted.needle:
            view.filter("")
            screen.painter.paint_rows()
        elif view.wanted.flag:
            view.choose_flag(view.wanted.flag)
            screen.painter.paint()
        elif view.marked:
            view.unmark()
            screen.painter.paint_rows()
        else:
            screen.dismiss(None)
