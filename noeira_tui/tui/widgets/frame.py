"""What a camera saw, in cells: by the terminal's graphics protocol where it has one, by half blocks elsewhere."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import ControlType, Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from noeira_tui.tui import pixels, sixels
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.pixels import Drawing, Room
from noeira_tui.tui.text import Line
from noeira_tui.tui.widgets.painted import strip_of

if TYPE_CHECKING:
    from noeira_tui.datasets.facts import Picture

_ids = itertools.count((os.getpid() % 0xFFF) << 12 | 1)
"""Numbers of pictures in the terminal, which other programs share. They are written as a colour: 24 bits."""


class Frame(Widget):
    """Shows one picture, as large as fits."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str, glyphs: Glyphs) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._picture: Picture | None = None
        self._notice: tuple[Line, ...] = ()
        self._strips: list[Strip] = []
        self._drawn_for: tuple[int, int] | None = None
        self._image_id: int | None = None
        self._sixels: tuple[str, Room] | None = None
        self._chosen: Drawing | None = None

    @property
    def picture(self) -> Picture | None:
        return self._picture

    @property
    def notice(self) -> str:
        """What is told instead of a picture, as plain text."""
        return "\n".join("".join(text for text, _ in line) for line in self._notice)

    @property
    def drawing(self) -> Drawing:
        """How this terminal draws: as was chosen, else as far as its environment tells."""
        if self._chosen is not None:
            return self._chosen
        return pixels.drawing_for(
            os.environ,
            colours=self._has_colours,
            truecolor=self._is_truecolor,
            is_ascii=self._glyphs.is_ascii,
            is_own=self._is_own,
        )

    def turn_drawing(self) -> Drawing:
        """Draw in another way: over SSH the environment does not tell what the terminal can."""
        ways = [way for way in Drawing if self._may_draw(way)]
        self._chosen = ways[(ways.index(self.drawing) + 1) % len(ways)] if self.drawing in ways else ways[0]
        self._forget()
        return self._chosen

    def _may_draw(self, way: Drawing) -> bool:
        if way is Drawing.KITTY:
            return self._is_own and self._is_truecolor
        if way is Drawing.SIXEL:
            return self._is_own and sixels.cell_pixels() is not None
        return way is Drawing.LETTERS or not (self.app.no_color or self._glyphs.is_ascii)

    @property
    def _has_colours(self) -> bool:
        """Whether colours tell more than brightness: in a terminal with sixteen only patches are left."""
        return not self.app.no_color and not (self._is_own and self.app.console.color_system == "standard")

    @property
    def _is_own(self) -> bool:
        """Whether the app writes to a terminal itself."""
        driver = self.app._driver
        return driver is not None and not driver.is_headless and not driver.is_web

    @property
    def _is_truecolor(self) -> bool:
        return self.app.console.color_system == "truecolor"

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        self._picture, self._notice = picture, ()
        self._forget()

    def tell(self, lines: tuple[Line, ...]) -> None:
        """Show words instead."""
        self._picture, self._notice = None, lines
        self._forget()

    def on_unmount(self) -> None:
        self._free()

    def on_resize(self, event: events.Resize) -> None:
        self._forget()

    def _forget(self) -> None:
        self._free()
        self._strips, self._drawn_for, self._sixels = [], None, None
        self.refresh()

    def _free(self) -> None:
        if self._image_id is not None:
            self._write(pixels.deletion(self._image_id))
            self._image_id = None

    def _write(self, text: str) -> None:
        # Through the library's own writer: the terminal must not get one sequence in the middle of another.
        if self.app._driver is not None:
            self.app._driver.write(text)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._picture is None:
            return strip_of(self, self._notice[y] if y < len(self._notice) else (), width)
        size = (width, self.size.height)
        if self._drawn_for != size:
            self._strips, self._drawn_for = self._draw(self._picture), size
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(width, self.rich_style)
        return self._with_sixels(strip) if self._sixels is not None and y == self.size.height - 1 else strip

    def _with_sixels(self, strip: Strip) -> Strip:
        """The last line, after which the sixels are drawn over all of them: whenever the cells are painted anew."""
        assert self._sixels is not None
        if not self.screen.is_active:
            return strip  # they would be drawn over the dialog
        data, room = self._sixels
        left, top = self.content_region.x + room.left + 1, self.content_region.y + room.top + 1
        drawn = Segment(f"\x1b7\x1b[{top};{left}H{data}\x1b8", None, [(ControlType.CURSOR_FORWARD, 0)])
        return Strip([*strip, drawn], strip.cell_length)

    def _draw(self, picture: Picture) -> list[Strip]:
        width, height = self.size.width, self.size.height
        drawing, cell = self.drawing, sixels.cell_pixels()
        if drawing is Drawing.SIXEL and cell is None:
            drawing = Drawing.BLOCKS  # nobody knows how many pixels a cell has
        ratio = 2.0 if drawing in {Drawing.BLOCKS, Drawing.LETTERS} or cell is None else cell[1] / cell[0]
        room = pixels.fitted(picture.width, picture.height, width, min(height, pixels.MAX_ROWS), cell_ratio=ratio)
        if drawing is Drawing.KITTY:
            rows = self._placed(picture, room)
        elif drawing is Drawing.SIXEL and cell is not None:
            shown = pixels.scaled(picture.rgb, picture.width, picture.height, *sixel_size(room, cell))
            self._sixels = (sixels.encoded(shown), room)
            rows = [[Segment(" " * room.width, self.rich_style)] for _ in range(room.height)]
        elif drawing is Drawing.BLOCKS:
            rows = self._blocks(picture, room)
        else:
            shown = pixels.scaled(picture.rgb, picture.width, picture.height, room.width, room.height)
            rows = [[Segment(text, self.rich_style)] for text in pixels.letters(shown)]
        blank = Strip.blank(width, self.rich_style)
        left, right = " " * room.left, " " * (width - room.left - room.width)
        drawn = [Strip([Segment(left, self.rich_style), *row, Segment(right, self.rich_style)], width) for row in rows]
        return [*[blank] * room.top, *drawn]

    def _placed(self, picture: Picture, room: Room) -> list[list[Segment]]:
        self._free()
        self._image_id = image_id = next(_ids) & 0xFFFFFF
        self._write(pixels.transmission(image_id, picture.rgb, picture.width, picture.height, room))
        colour = Color.from_rgb(image_id >> 16 & 255, image_id >> 8 & 255, image_id & 255)
        style = self.rich_style + Style(color=colour)
        return [[Segment(row, style)] for row in pixels.placeholders(room)]

    def _blocks(self, picture: Picture, room: Room) -> list[list[Segment]]:
        shown = pixels.scaled(picture.rgb, picture.width, picture.height, room.width, room.height * 2).tolist()
        styles: dict[tuple[int, ...], Style] = {}
        rows: list[list[Segment]] = []
        for upper, lower in zip(shown[::2], shown[1::2], strict=True):
            row: list[Segment] = []
            for top, bottom in zip(upper, lower, strict=True):
                key = (*top, *bottom)
                if key not in styles:
                    styles[key] = Style(color=Color.from_rgb(*top), bgcolor=Color.from_rgb(*bottom))
                row.append(Segment("▀", styles[key]))
            rows.append(row)
        return rows


def sixel_size(room: Room, cell: tuple[int, int]) -> tuple[int, int]:
    """The pixels of a picture in its cells: no row below them, where the terminal would scroll."""
    return room.width * cell[0], room.height * cell[1] // 6 * 6
