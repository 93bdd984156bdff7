"""Chooses the app's colours; what is under the cursor is shown at once."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.list_dialog import ListDialog
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line
from noeira_tui.tui.themes import DARK, LIGHT
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.row_list import RowList

_WORDS = {DARK.name: "our own, dark", LIGHT.name: "our own, light"}


class ThemesDialog(ListDialog[str]):
    """Dismissed with the chosen theme; `esc` brings the former one back."""

    def __init__(self, names: Iterable[str], now: str, glyphs: Glyphs) -> None:
        super().__init__("Theme", glyphs, list_id="themes-list")
        self.add_class("themes")
        self._before = now
        ours = [DARK.name, LIGHT.name]
        self._names = [*ours, *sorted(set(names) - set(ours))]

    def contents(self) -> Iterable[Widget]:
        yield self.rows_list
        if self.app.no_color:
            about = Painted(classes="note")
            about.show([(("NO_COLOR is set: they look alike here.", "quiet"),)])
            yield about

    def keys(self) -> Line:
        return (("enter", "accent"), (" keep it  ", "quiet"), (self.key("close"), "accent"), (" as before", "quiet"))

    def on_mount(self) -> None:
        super().on_mount()
        rows = tuple(Row(key=name, place=Place.DIALOG, name=name, subject=None) for name in self._names)
        self.rows_list.show(rows)
        self.rows_list.move_to(self._names.index(self._before) if self._before in self._names else 0)
        self.rows_list.focus()

    def paint_row(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        said = _WORDS.get(row.key, "")
        now = f" {glyphs.dot} now" if row.key == self._before else ""
        return ((f"{row.name:<21}", "strong"), (said, "quiet"), (now, "accent"))

    @on(RowList.Highlighted)
    def _preview(self, message: RowList.Highlighted) -> None:
        message.stop()
        row = self.rows_list.current
        if row is not None and self.app.theme != row.key:
            self.app.theme = row.key

    def action_leave(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)

    def action_choose(self) -> None:
        row = self.rows_list.current
        self.dismiss(None if row is None else row.key)
