"""The curves of one episode's state or action, with the values under a cursor in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from noeira_tui.tui import canvas
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import Line, Piece, cut, width_of
from noeira_tui.tui.widgets.painted import looks_of, strip_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLOURS = ("accent", "good", "attention", "live", "trouble", "strong", "quiet")
LABEL_CELLS = 8
"""Room left of the curves for the numbers of the axis."""

MAX_LEGEND_LINES = 2
TWO_LINES_FROM = 11
"""Lines of a plot from which its legend may have two of them."""


@dataclass(frozen=True, eq=False)
class Curves:
    """What a plot shows: `values` of shape (T, D) over `times` (T,), which do not fall; a clean name a dimension.

    `unit` is what the times are: `s`, or nothing when they are frame numbers.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    names: tuple[str, ...]
    unit: str = "s"


class Plot(Widget):
    """Draws curves; a click puts the cursor."""

    ALLOW_SELECT = False

    class Pointed(Message):
        """Somebody clicked at a share of the time, 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *, id: str, glyphs: Glyphs) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._curves: Curves | None = None
        self._notice: tuple[Line, ...] = ()
        self._dimension: int | None = None
        self._frame = 0
        self._axis: canvas.Axis | None = None
        self._cells: canvas.Cells | None = None
        self._drawn_for: tuple[int, int] = (0, 0)

    @property
    def curves(self) -> Curves | None:
        return self._curves

    @property
    def notice(self) -> str:
        """What is told instead of curves, as plain text."""
        return "\n".join("".join(text for text, _ in line) for line in self._notice)

    @property
    def legend(self) -> str:
        """The values under the cursor, as plain text."""
        return "\n".join("".join(text for text, _ in line) for line in self._legend())

    def show(self, curves: Curves, dimension: int | None, frame: int) -> None:
        """Show all curves, or one dimension; the cursor stands on a frame."""
        self._curves, self._dimension, self._frame, self._notice = curves, dimension, frame, ()
        self._cells = None
        self.refresh()

    def tell(self, lines: tuple[Line, ...]) -> None:
        """Show words instead."""
        self._curves, self._cells, self._notice = None, None, lines
        self.refresh()

    def move_cursor(self, frame: int) -> None:
        """Put the cursor on another frame; only its columns and the values are painted again."""
        if self._curves is None or frame == self._frame:
            return
        before = self._cursor_cell()
        self._frame = frame
        height = self.size.height
        for cell in {before, self._cursor_cell()}:
            self.refresh(Region(LABEL_CELLS + cell, 0, 1, height))
        self.refresh(Region(0, 0, self.size.width, min(height, len(self._legend()))))

    @property
    def plot_cells(self) -> int:
        """How many cells wide the curves are."""
        return max(1, self.size.width - LABEL_CELLS)

    def on_click(self, event: events.Click) -> None:
        if self._curves is not None and event.x >= LABEL_CELLS:
            self.post_message(self.Pointed((event.x - LABEL_CELLS) / max(1, self.plot_cells - 1)))

    def _shown(self) -> list[int]:
        assert self._curves is not None
        every = range(self._curves.values.shape[1])
        return [self._dimension] if self._dimension is not None and self._dimension in every else list(every)

    def _legend(self) -> list[Line]:
        curves = self._curves
        if curves is None or not len(curves.times):
            return []
        frame = min(self._frame, len(curves.times) - 1)
        shown = self._shown()
        if len(shown) == 1:
            return [self._one_legend(curves, shown[0], frame)]
        lines: list[list[Piece]] = [[]]
        width = max(8, self.size.width)
        for place, number in enumerate(shown):
            # Always as wide: the lines do not change their number while the cursor moves.
            value = canvas.number_text(float(curves.values[frame, number])).ljust(7)
            name = cut(curves.names[number], 18, self._glyphs)
            piece = (f"{name} {value}", COLOURS[number % len(COLOURS)])
            more = f"+{len(shown) - place}"
            last = len(lines) == (MAX_LEGEND_LINES if self.size.height >= TWO_LINES_FROM else 1)
            room = width - width_of(lines[-1]) - (len(more) + 2 if last else 0)
            if lines[-1] and width_of([piece]) + 1 > room:
                if last:
                    lines[-1].append((f"  {more}", "faint"))
                    break
                lines.append([])
            lines[-1] += [(" ", ""), piece] if lines[-1] else [piece]
        return [tuple(line) for line in lines]

    def _one_legend(self, curves: Curves, number: int, frame: int) -> Line:
        import numpy as np

        column = curves.values[:, number]
        finite = column[np.isfinite(column)]
        value = canvas.number_text(float(column[frame]))
        name = cut(curves.names[number], max(8, self.size.width - 50), self._glyphs)
        pieces: list[Piece] = [(f"{name} {value}", COLOURS[number % len(COLOURS)])]
        if finite.size:
            told = {"min": finite.min(), "mean": finite.mean(), "max": finite.max()}
            for word, figure in told.items():
                pieces.append((f"  {word} ", "faint"))
                pieces.append((canvas.number_text(float(figure)), "quiet"))
        if finite.size < column.size:
            pieces.append((f"  {column.size - finite.size:,} not finite", "trouble"))
        return tuple(pieces)

    def _canvas_height(self) -> int:
        return max(1, self.size.height - len(self._legend()) - 1)

    def _cursor_cell(self) -> int:
        curves = self._curves
        if curves is None or len(curves.times) < 2:
            return 0
        begin, end = float(curves.times[0]), float(curves.times[-1])
        share = (float(curves.times[min(self._frame, len(curves.times) - 1)]) - begin) / ((end - begin) or 1.0)
        across = 1 if self._glyphs.is_ascii else 2
        return min(self.plot_cells - 1, round(share * (self.plot_cells * across - 1)) // across)

    def _drawn(self) -> canvas.Cells | None:
        curves = self._curves
        if curves is None or not len(curves.times):
            return None
        size = (self.plot_cells, self._canvas_height())
        if self._cells is None or self._drawn_for != size:
            shown = curves.values[:, self._shown()]
            self._axis = canvas.value_axis(shown)
            if self._axis is None:
                return None
            drawn = canvas.draw(curves.times, shown, self._axis, *size, is_ascii=self._glyphs.is_ascii)
            self._cells, self._drawn_for = drawn, size
        return self._cells

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._curves is None:
            return strip_of(self, self._notice[y] if y < len(self._notice) else (), width)
        legend = self._legend()
        if y < len(legend):
            return strip_of(self, legend[y], width)
        cells = self._drawn()
        if cells is None:
            line: Line = (("No finite value in it.", "attention"),) if y == len(legend) else ()
            return strip_of(self, line, width)
        row = y - len(legend)
        if row >= len(cells.rows):
            return strip_of(self, self._time_axis(), width)
        return self._curve_strip(cells, row)

    def _curve_strip(self, cells: canvas.Cells, row: int) -> Strip:
        looks, base = looks_of(self.app), self.rich_style
        rule = "|" if self._glyphs.is_ascii else "┤" if self._label(row, len(cells.rows)).strip() else "│"
        segments = [Segment(self._label(row, len(cells.rows)) + rule, base + looks["faint"])]
        cursor, shown = self._cursor_cell(), self._shown()
        text, owners = cells.rows[row], cells.owners[row]
        for cell, character in enumerate(text):
            style = base if owners[cell] < 0 else base + looks[COLOURS[shown[owners[cell]] % len(COLOURS)]]
            if cell == cursor:
                style = style + looks["cursor"]
            segments.append(Segment(character, style))
        return Strip(segments, LABEL_CELLS + len(text)).simplify()

    def _label(self, row: int, rows: int) -> str:
        """The number of the axis beside a row: at both ends, and in the middle where there is room."""
        assert self._axis is not None
        at = {0: self._axis.high, rows - 1: self._axis.low} if rows > 1 else {0: self._axis.high}
        if rows >= 5:
            at[rows // 2] = self._axis.place(1 - (rows // 2) / (rows - 1))
        told = canvas.number_text(at[row], LABEL_CELLS - 1) if row in at else ""
        return told.rjust(LABEL_CELLS - 1)

    def _time_axis(self) -> Line:
        curves = self._curves
        assert curves is not None
        unit = f" {curves.unit}" if curves.unit else ""
        begin, end = (f"{canvas.number_text(float(curves.times[at]))}{unit}" for at in (0, -1))
        room = self.plot_cells - len(begin)
        return ((" " * LABEL_CELLS, ""), (begin, "faint"), (end.rjust(max(len(end) + 1, room)), "faint"))
