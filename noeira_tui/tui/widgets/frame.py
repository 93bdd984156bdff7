"""What a camera saw, in cells: by the terminal's graphics protocol where it has one, by half blocks elsewhere."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from noeira_tui.tui import pixels
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

    @property
    def picture(self) -> Picture | None:
        return self._picture

    @property
    def notice(self) -> str:
        """What is told instead of a picture, as plain text."""
        return "\n".join("".join(text for text, _ in line) for line in self._notice)

    @property
    def drawing(self) -> Drawing:
        """How this terminal draws."""
        driver = self.app._driver
        return pixels.drawing_for(
            os.environ,
            colours=not self.app.no_color,
            truecolor=self.app.console.color_system == "truecolor",
            is_ascii=self._glyphs.is_ascii,
            is_own=driver is not None and not driver.is_headless and not driver.is_web,
        )

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
        self._strips, self._drawn_for = [], None
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
        return self._strips[y] if y < len(self._strips) else Strip.blank(width, self.rich_style)

    def _draw(self, picture: Picture) -> list[Strip]:
        width, height = self.size.width, self.size.height
        drawing = self.drawing
        room = pixels.fitted(picture.width, picture.height, width, min(height, pixels.MAX_ROWS))
        if drawing is Drawing.KITTY:
            rows = self._placed(picture, room)
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
