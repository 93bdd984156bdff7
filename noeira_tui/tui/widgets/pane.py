"""A framed list with a title, and a filter line that appears while one types into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.rows import paint_row
from noeira_tui.tui.text import Line, clean, cut_line
from noeira_tui.tui.widgets.painted import title_content
from noeira_tui.tui.widgets.row_list import Paint, RowList

if TYPE_CHECKING:
    from textual.widgets import Input


class Pane(Vertical):
    """One framed list."""

    class FilterChanged(Message):
        """Somebody types into the filter."""

        def __init__(self, pane: Pane, needle: str) -> None:
            super().__init__()
            self.pane = pane
            self.needle = needle

    def __init__(self, name: str, glyphs: Glyphs, paint: Paint = paint_row, *, classes: str = "pane") -> None:
        super().__init__(id=name, classes=classes)
        self.list = RowList(id=f"{name}-list", glyphs=glyphs, paint=paint)
        self._glyphs = glyphs
        self._title: Line = ()
        self._note: Line = ()

    def compose(self) -> ComposeResult:
        yield self.list

    def show_title(self, title: Line, note: Line = ()) -> None:
        """Show a title in the upper border and a note in the lower one."""
        if title != self._title:
            self._title = title
            self._draw_title()
        self.show_note(note)

    def show_note(self, note: Line) -> None:
        """Show a note in the lower border; an equal one causes no repaint."""
        if note != self._note:
            self._note = note
            self.border_subtitle = title_content(note)

    def on_resize(self, event: events.Resize) -> None:
        self._draw_title()

    def _draw_title(self) -> None:
        # Cut here, with the ellipsis of the set in use: the library would cut it with its own.
        self.border_title = title_content(cut_line(self._title, max(4, self.outer_size.width - 6), self._glyphs))

    @property
    def title_text(self) -> str:
        """The title as plain text."""
        return "".join(text for text, _ in self._title)

    @property
    def note_text(self) -> str:
        """The note in the lower border as plain text."""
        return "".join(text for text, _ in self._note)

    def open_filter(self, needle: str) -> None:
        """Put the keyboard into the filter line, at once: what is typed next must not be taken for commands."""
        from noeira_tui.tui.widgets.filter_line import FilterLine

        if not self.is_attached:
            # Typed while the app was still being put together.
            self.call_later(self.open_filter, needle)
            return
        line = next(iter(self.query(FilterLine)), None)
        if line is None:
            line = FilterLine(clean(needle, self._glyphs))
            self.mount(line)
        self.screen.set_focus(line)

    async def close_filter(self) -> None:
        """Take the filter line away and give the keyboard back to the list."""
        from noeira_tui.tui.widgets.filter_line import FilterLine

        self.list.focus()
        await self.query(FilterLine).remove()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.FilterChanged(self, event.value))

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        await self.close_filter()
