"""Everything about one row; for a job its log as well."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual.widget import Widget

from noeira_tui.jobs.records import JobRecord
from noeira_tui.tui import details
from noeira_tui.tui.board import Board
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.rows import Row
from noeira_tui.tui.text import Line, clean_lines, wrap

MAX_LOG_LINES = 2000


class DetailsDialog(Dialog[None]):
    """The facts of a row, one a line, whole."""

    def __init__(self, row: Row, board: Board) -> None:
        super().__init__(row.name, board.glyphs)
        self.add_class("details")
        self._board = board
        self._row = row
        self._facts = details.facts_of(row, board.clock(), board.glyphs, board.moving(row.subject))
        self._more: tuple[details.Fact, ...] = ()
        self._log: list[str] | None = None
        self._wrapped: tuple[int, list[str], list[Line]] | None = None
        self._body = Scrolled()
        found = details.copyable(row)
        self.copied = found[0] if found is not None else ""

    def contents(self) -> Iterable[Widget]:
        yield self._body

    @property
    def row(self) -> Row:
        """The row it is about."""
        return self._row

    def take(self, row: Row) -> None:
        """The row changed: show it as it is now."""
        self._row = row
        self._facts = details.facts_of(row, self._board.clock(), self.glyphs, self._board.moving(row.subject))
        self.fill()

    def add_facts(self, facts: Iterable[details.Fact]) -> None:
        """Add what took a moment to find out."""
        self._more = tuple(facts)
        self.fill()

    def show_log(self, text: str) -> None:
        """Add a job's log below its facts."""
        log = clean_lines(text.rstrip(), self.glyphs)[-MAX_LOG_LINES:]
        if log == self._log:
            return
        # Who is at its end sees what is written next; who reads above stays there.
        follows = self._log is not None and self._body.is_vertical_scroll_end
        self._log = log
        self.fill()
        if follows:
            self.call_after_refresh(self._body.scroll_end, animate=False)

    def fill(self) -> None:
        width = max(20, min(104, self.size.width) - 6)
        # Before the list of files, which may be long.
        at = next((i for i, fact in enumerate(self._facts) if fact.own_line and fact.brief is None), len(self._facts))
        facts = (*self._facts[:at], *self._more, *self._facts[at:])
        label_width = max((cell_len(fact.label) for fact in facts), default=0) + 2
        lines: list[Line] = []
        for fact in facts:
            parts = wrap(fact.value, max(8, width - label_width))
            lines.append(((fact.label.ljust(label_width), "faint"), (parts[0], fact.look)))
            lines += [((" " * label_width, ""), (part, fact.look)) for part in parts[1:]]
        if isinstance(self._row.subject, JobRecord):
            lines += [(), (("log", "heading"),)]
            lines += self._log_lines(width)
        self._body.painted.show(lines)

    def _log_lines(self, width: int) -> list[Line]:
        if self._log is None:
            return [((f"reading{self.glyphs.ellipsis}", "faint"),)]
        if self._log == [""]:
            return [(("It wrote nothing.", "faint"),)]
        known = self._wrapped
        if known is None or known[0] != width or known[1] is not self._log:
            # The facts change four times a second, the log does not.
            lines: list[Line] = [((part, "quiet"),) for text in self._log for part in wrap(text, width)]
            known = self._wrapped = (width, self._log, lines)
        return known[2]
