"""One of a few things, chosen with the arrow keys or space: where something is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import Line, cut_middle
from noeira_tui.tui.widgets.painted import Painted


class Choice(Painted, can_focus=True):
    """Shows all options, the chosen one marked. `chosen` is its number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,down,l,j", "step(1)", show=False),
        Binding("left,up,h,k", "step(-1)", show=False),
    ]

    def __init__(self, options: Sequence[str], glyphs: Glyphs, *, id: str) -> None:
        super().__init__(id=id)
        self._options = tuple(options)
        self._glyphs = glyphs
        self.chosen = 0

    def on_mount(self) -> None:
        self._paint_options()

    def on_focus(self) -> None:
        self._paint_options()

    def on_blur(self) -> None:
        self._paint_options()

    def on_resize(self) -> None:
        self._paint_options()

    def action_step(self, by: int) -> None:
        self.chosen = (self.chosen + by) % len(self._options)
        self._paint_options()

    def _paint_options(self) -> None:
        glyphs = self._glyphs
        width = max(8, self.size.width - 3)
        lines: list[Line] = []
        for index, option in enumerate(self._options):
            here = index == self.chosen
            look = ("accent" if self.has_focus else "strong") if here else "quiet"
            lines.append(
                ((f"{glyphs.bullet if here else glyphs.dot} ", look), (cut_middle(option, width, glyphs), look))
            )
        self.show(lines)
