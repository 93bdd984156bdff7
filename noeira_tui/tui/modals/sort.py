"""By what episodes are sorted: every number they have."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from noeira_tui.tui import quality_lines
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.list_dialog import ListDialog
from noeira_tui.tui.quality_table import SORTS, Sort
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, cut_line

_WORDS = {
    "score": "overall score, of 10",
    "frames": "how long, in frames",
    "time": "how long, in seconds",
    "episode": "its number in its dataset",
}


class SortDialog(ListDialog[str]):
    """Dismissed with what to sort by; choosing what it is sorted by turns the order around."""

    def __init__(self, sort: Sort, glyphs: Glyphs) -> None:
        super().__init__("Sort by", glyphs, list_id="sort-list")
        self.add_class("sort")
        self._sort = sort

    def contents(self) -> Iterable[Widget]:
        yield self.rows_list

    def keys(self) -> Line:
        return (
            ("enter", "accent"),
            (" worst first, or the other end  ", "quiet"),
            (self.key("close"), "accent"),
            (" close", "quiet"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        self.rows_list.show(tuple(Row(key=key, place=Place.DIALOG, name=key, subject=None) for key in SORTS))
        self.rows_list.move_to(SORTS.index(self._sort.key))
        self.rows_list.focus()

    def paint_row(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        here = row.key == self._sort.key
        arrow = (glyphs.down if self._sort.descending else glyphs.up) if here else " "
        told = _WORDS.get(row.key) or quality_lines.MEANINGS[row.key]
        return cut_line(
            ((f"{arrow} ", "accent"), (f"{row.key:<25}", "strong" if here else ""), (told, "quiet")), width, glyphs
        )

    def action_choose(self) -> None:
        row = self.rows_list.current
        if row is not None:
            self.dismiss(row.key)
