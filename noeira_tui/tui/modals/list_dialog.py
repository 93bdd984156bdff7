"""A dialog around a list: arrows or vim's keys move, enter chooses."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Answer, Dialog
from noeira_tui.tui.rows import Columns, Row
from noeira_tui.tui.text import Line
from noeira_tui.tui.widgets.row_list import RowList

_END = 10**6


class ListDialog(Dialog[Answer]):
    """Subclasses show rows in `rows_list`, paint them and say what choosing one does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("home,g", f"move(-{_END})", show=False),
        Binding("end,G", f"move({_END})", show=False),
        Binding("pagedown,ctrl+d", "page(1)", show=False),
        Binding("pageup,ctrl+u", "page(-1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    def __init__(self, title: str, glyphs: Glyphs, *, list_id: str, tone: str = "strong") -> None:
        super().__init__(title, glyphs, tone=tone)
        self.rows_list = RowList(id=list_id, glyphs=glyphs, paint=self.paint_row)

    def paint_row(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        """A row of the list."""
        raise NotImplementedError

    def action_move(self, rows: int) -> None:
        self.rows_list.move_by(rows)

    def action_page(self, pages: int) -> None:
        self.rows_list.move_by(pages * self.rows_list.page())

    def action_choose(self) -> None:
        """Enter on a row."""
        raise NotImplementedError

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        message.stop()
        self.action_choose()
