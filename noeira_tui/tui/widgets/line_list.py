"""Lines that are made when they are drawn, however many there are: text to scroll, or rows with a cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from noeira_tui.tui.text import Line, Piece
from noeira_tui.tui.widgets.painted import looks_of, strip_of

PaintLine = Callable[[int, int], Line]
"""The line of a row's number in at most so many cells."""


class LineList(ScrollView, inherit_bindings=False):
    """Draws only what is in view. With a cursor it keeps to rows; without, movement scrolls."""

    ALLOW_SELECT = False
    can_focus = True

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, lines: LineList, index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

    class Chosen(Message):
        """A row was clicked twice."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._count = 0
        self._paint: PaintLine = lambda index, width: ()
        self._lead: Callable[[int], Piece] = _no_lead
        self._has_cursor = False
        self._head: tuple[Line, ...] = ()
        self._cursor = 0

    @property
    def cursor(self) -> int:
        return self._cursor

    @property
    def count(self) -> int:
        return self._count

    def line(self, index: int, width: int) -> Line:
        """What a row shows in a width."""
        return self._paint(index, width)

    def show(
        self,
        count: int,
        paint: PaintLine,
        *,
        cursor: int | None = None,
        head: Sequence[Line] = (),
        lead: Callable[[int], Piece] | None = None,
    ) -> None:
        """Show `count` rows below the lines `head`, which stay on top; with `cursor` one of them is highlighted.

        `lead` gives the one cell before a row, such as its mark.
        """
        self._count, self._paint, self._head, self._lead = count, paint, tuple(head), lead or _no_lead
        self._has_cursor = cursor is not None
        self._cursor = max(0, min(count - 1, cursor or 0))
        self._resize()
        if self._has_cursor:
            self._scroll_to_cursor()
        self.refresh()

    def show_lines(self, lines: Sequence[Line], *, keep_place: bool = False) -> None:
        """Show text; from its beginning unless `keep_place`."""
        texts = tuple(lines)
        at = self.scroll_offset.y if keep_place else 0
        self.show(len(texts), lambda index, width: texts[index])
        self.scroll_to(y=at, animate=False, force=True)

    def move_to(self, index: int) -> None:
        """Put the cursor on a row; beyond the ends it stops there."""
        index = max(0, min(self._count - 1, index))
        if index == self._cursor or not self._count:
            return
        before, self._cursor = self._cursor, index
        self._refresh_row(before)
        self._refresh_row(index)
        self._scroll_to_cursor()
        self.post_message(self.Moved(self, index))

    def move_by(self, rows: int) -> None:
        """Move the cursor, or scroll where there is none."""
        if self._has_cursor:
            self.move_to(self._cursor + rows)
        else:
            self.scroll_to(y=max(0, min(self.max_scroll_y, self.scroll_offset.y + rows)), animate=False, force=True)

    def page(self) -> int:
        """How many rows a page is."""
        return max(1, self.size.height - len(self._head) - 1)

    def _resize(self) -> None:
        self.virtual_size = Size(max(1, self.size.width), self._count + len(self._head))
        if self.show_vertical_scrollbar != (self._count + len(self._head) > self.size.height):
            self._refresh_scrollbars()

    def _refresh_row(self, index: int) -> None:
        y = index + len(self._head) - self.scroll_offset.y
        if len(self._head) <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def _scroll_to_cursor(self) -> None:
        height = self.size.height - len(self._head)
        if height <= 0:
            return
        top = self.scroll_offset.y
        if self._cursor < top:
            top = self._cursor
        elif self._cursor >= top + height:
            top = self._cursor - height + 1
        self.scroll_to(y=top, animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._resize()
        if self._has_cursor:
            self._scroll_to_cursor()

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if event.y >= len(self._head) and self._has_cursor:
            self.move_to(event.y - len(self._head) + self.scroll_offset.y)
            if event.chain == 2:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < len(self._head):
            return strip_of(self, ((" ", ""), *self._head[y]), width)
        index = y - len(self._head) + self.scroll_offset.y
        if index >= self._count:
            return Strip.blank(width, self.rich_style)
        over: Style | None = None
        if self._has_cursor and index == self._cursor:
            over = looks_of(self.app)["cursor" if self.has_focus else "cursor-blurred"]
        return strip_of(self, (self._lead(index), *self._paint(index, width - 2)), width, over)


def _no_lead(index: int) -> Piece:
    return " ", ""
