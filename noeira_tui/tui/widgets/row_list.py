"""A list of rows with a cursor and marks: draws only the lines in view, however many rows there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from noeira_tui.tui.glyphs import SYMBOLS, Glyphs
from noeira_tui.tui.rows import Columns, Row, columns_of, paint_row
from noeira_tui.tui.text import Line, changed_cells, wrap_line
from noeira_tui.tui.widgets.painted import looks_of, strip_of

Paint = Callable[[Row, int, Columns, Glyphs], Line]


class RowList(ScrollView, inherit_bindings=False):
    """Rows, one highlighted. It is given rows and keeps the cursor on the same thing when they change."""

    ALLOW_SELECT = False
    can_focus = True

    class Highlighted(Message):
        """Another row is under the cursor, or the same row changed."""

        def __init__(self, rows: RowList) -> None:
            super().__init__()
            self.rows = rows

    class Chosen(Message):
        """A row was clicked twice."""

    def __init__(self, *, id: str, glyphs: Glyphs = SYMBOLS, paint: Paint = paint_row) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs
        self._paint = paint
        self._rows: tuple[Row, ...] = ()
        self._columns = Columns()
        self._cursor = 0
        self._was_moved = False
        self._marked: frozenset[str] = frozenset()
        self._labels: Mapping[int, str] = {}
        self._top: tuple[Line, ...] = ()
        self._empty: tuple[Line, ...] = ()
        self._top_lines: tuple[Line, ...] = ()
        self._empty_lines: tuple[Line, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    @property
    def marked(self) -> frozenset[str]:
        """Keys of the marked rows."""
        return self._marked

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._cursor] if self._rows else None

    @property
    def cursor(self) -> int:
        return self._cursor

    def show(self, rows: tuple[Row, ...], *, top: tuple[Line, ...] = (), empty: tuple[Line, ...] = ()) -> None:
        """Show these rows below the lines `top`; without any, the lines `empty`. Repaints only lines that differ."""
        if rows == self._rows and top == self._top and empty == self._empty:
            return
        if rows and len(rows) == len(self._rows) and top == self._top and self._show_changes(rows):
            return
        old, old_cursor = self._rows, self._cursor
        key = old[old_cursor].key if old else None
        self._rows, self._top, self._empty = rows, top, empty
        self._columns = columns_of(rows)
        self._marked &= {row.key for row in rows} if self._marked else self._marked
        self._cursor = self._cursor_on(key)
        self._resize()
        self._scroll_to_cursor()
        self.refresh()
        if not old or not rows or old_cursor != self._cursor or old[old_cursor] != rows[self._cursor]:
            self.post_message(self.Highlighted(self))

    def _show_changes(self, rows: tuple[Row, ...]) -> bool:
        """Repaint only the cells that differ, where the same things are in the same order; False where they are not."""
        changed = [
            (index, before, after)
            for index, (before, after) in enumerate(zip(self._rows, rows, strict=True))
            if before is not after and before != after
        ]
        widths = columns_of(after for _, _, after in changed)
        if any(before.key != after.key for _, before, after in changed) or not widths.within(self._columns):
            return False
        self._rows = rows
        for index, before, after in changed:
            self._refresh_cells(index, before, after)
        if any(index == self._cursor for index, _, _ in changed):
            self.post_message(self.Highlighted(self))
        return True

    def _refresh_cells(self, index: int, before: Row, after: Row) -> None:
        """Repaint the cells in which two pictures of a row differ: few bytes on a slow link."""
        y = index + len(self._top_lines) - self.scroll_offset.y
        if not 0 <= y < self.size.height:
            return
        width = self.size.width
        old = self._paint(before, width - 2, self._columns, self.glyphs)
        new = self._paint(after, width - 2, self._columns, self.glyphs)
        regions = [Region(1 + start, y, end - start, 1) for start, end in changed_cells(old, new)]
        if regions:
            self.refresh(*regions)

    def _cursor_on(self, key: str | None) -> int:
        """Where the cursor goes when the rows changed: with its row, else to what took its place."""
        if key is None:
            return 0
        for index, row in enumerate(self._rows):
            if row.key == key:
                return index
        return min(self._cursor, max(0, len(self._rows) - 1))

    def move_to(self, index: int) -> None:
        """Put the cursor on a row; beyond the ends it stops there."""
        if not self._rows:
            return
        self._was_moved = True
        index = max(0, min(len(self._rows) - 1, index))
        if index == self._cursor:
            return
        before, self._cursor = self._cursor, index
        self._refresh_row(before)
        self._refresh_row(index)
        self._scroll_to_cursor()
        self.post_message(self.Highlighted(self))

    def begin_at_top(self) -> None:
        """Put the cursor on the first row, unless somebody moved it already."""
        if not self._was_moved:
            self.move_to(0)
            self._was_moved = False

    def move_by(self, rows: int) -> None:
        self.move_to(self._cursor + rows)

    def in_sight(self) -> range:
        """The indices of the rows that can be seen."""
        first = max(0, self.scroll_offset.y - len(self._top_lines))
        last = self.scroll_offset.y + self.scrollable_content_region.height - len(self._top_lines)
        return range(first, max(first, min(len(self._rows), last)))

    def show_labels(self, labels: Mapping[int, str]) -> None:
        """Draw labels before rows, by their indices; none takes them away."""
        if labels != self._labels:
            self._labels = labels
            self.refresh()

    def page(self) -> int:
        """How many rows a page is."""
        return max(1, self.scrollable_content_region.height - len(self._top_lines) - 1)

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away, and go on to the next one."""
        row = self.current
        if row is None or row.is_heading:
            return
        self._marked ^= {row.key}
        self._refresh_row(self._cursor)
        self.move_by(1)

    def toggle_marks(self, keys: Iterable[str]) -> None:
        """Mark all of these rows, or none of them when all were marked."""
        these = {row.key for row in self._rows} & set(keys)
        self._marked = self._marked - these if these <= self._marked else self._marked | these
        self.refresh()

    def clear_marks(self) -> None:
        if self._marked:
            self._marked = frozenset()
            self.refresh()

    def _resize(self) -> None:
        width = max(1, self.scrollable_content_region.width)
        self._top_lines = self._wrapped(self._top, width - 2)
        self._empty_lines = () if self._rows else self._wrapped(self._empty, width - 2)
        height = len(self._top_lines) + (len(self._rows) or len(self._empty_lines))
        self.virtual_size = Size(width, height)
        if self.show_vertical_scrollbar != (height > self.size.height):
            # An equal virtual size in a taller list would leave a scrollbar that has nothing to scroll.
            self._refresh_scrollbars()

    def _wrapped(self, lines: tuple[Line, ...], width: int) -> tuple[Line, ...]:
        return tuple(part for line in lines for part in wrap_line(line, max(4, width)))

    def _refresh_row(self, index: int) -> None:
        y = index + len(self._top_lines) - self.scroll_offset.y
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def _scroll_to_cursor(self) -> None:
        height = self.scrollable_content_region.height
        y = self._cursor + len(self._top_lines)
        if self._cursor == 0:
            y = 0
        if height:
            self.scroll_to_region(Region(0, y, 1, 1), animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._resize()
        self._scroll_to_cursor()

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y - len(self._top_lines)
        if 0 <= index < len(self._rows):
            self.move_to(index)
            if event.chain == 2:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.size.width
        if index < len(self._top_lines):
            return strip_of(self, ((" ", ""), *self._top_lines[index]), width)
        index -= len(self._top_lines)
        if not self._rows:
            line = self._empty_lines[index] if index < len(self._empty_lines) else ()
            return strip_of(self, ((" ", ""), *line), width)
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        return self._row_strip(index, width)

    def _row_strip(self, index: int, width: int) -> Strip:
        row = self._rows[index]
        over: Style | None = None
        if index == self._cursor:
            over = looks_of(self.app)["cursor" if self.has_focus or not self.can_focus else "cursor-blurred"]
        line = self._paint(row, width - 2, self._columns, self.glyphs)
        strip = strip_of(self, ((" ", ""), *line), width, over)
        if row.key in self._marked:
            mark = self.rich_style + looks_of(self.app)["marked"]
            strip = Strip(
                [Segment(self.glyphs.mark, (mark + over) if over is not None else mark), *strip.crop(1)], width
            )
        label = self._labels.get(index)
        if label:
            key = self.rich_style + looks_of(self.app)["key"]
            if over is not None and over.reverse:
                # Without colours both would be reversed: nobody could tell the label from the name.
                key += Style(reverse=False)
            # The name moves aside for a second letter: what it begins with is what one looks for.
            strip = Strip([Segment(label, key), *strip.crop(1, width - len(label) + 1)], width)
        return strip
