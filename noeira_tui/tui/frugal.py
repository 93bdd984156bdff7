"""Fewer bytes to the terminal: only the cells that changed, and of their colours only what differs.

The library (8.2) writes every changed span from the beginning of its widget, and each piece of it with all its colours
and a reset. Over a slow link that is five times what is needed.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor
from textual.screen import Screen
from textual.strip import Strip

_PLAIN = Style.null()
_RESET = "\x1b[0m"


class FrugalUpdate(ChopsUpdate):
    """Changed spans of the screen as terminal sequences."""

    def render_segments(self, console: Console) -> str:
        """The sequences: cursor moves, colours where they change, text."""
        pen = _Pen(console._color_system or ColorSystem.TRUECOLOR)
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                first, last = max(x, x1), min(end, x2)
                if strip is not None and first < last:
                    pen.draw(first, y, strip.crop(first - x, last - x))
        return pen.done()


class _Pen:
    """Writes strips, and knows where the cursor is and with which colours the terminal writes."""

    def __init__(self, system: ColorSystem) -> None:
        self._system = system
        self._written: list[str] = []
        self._at = (-1, -1)
        self._codes = ("", "", "")

    def draw(self, x: int, y: int, strip: Strip) -> None:
        if self._at != (x, y):
            self._written.append(f"\x1b[{y + 1};{x + 1}H")
        for text, style, control in strip:
            if not control:
                self._take(codes_of(style or _PLAIN, self._system))
                self._written.append(text)
        self._at = (x + strip.cell_length, y)

    def done(self) -> str:
        return "".join([*self._written, _RESET if any(self._codes) else ""])

    def _take(self, codes: tuple[str, str, str]) -> None:
        before = self._codes
        if codes == before:
            return
        self._codes = codes
        if codes[0] != before[0] or any(had and not has for had, has in zip(before, codes, strict=True)):
            # Bold and the like have no short way back.
            self._written.append(f"\x1b[{';'.join(('0', *filter(None, codes)))}m")
        else:
            changed = (has for had, has in zip(before, codes, strict=True) if has != had)
            self._written.append(f"\x1b[{';'.join(changed)}m")


@lru_cache(maxsize=4096)
def codes_of(style: Style, system: ColorSystem) -> tuple[str, str, str]:
    """A style as the numbers of its attributes, of its colour, and of the colour behind it; empty for none."""
    front, behind = style.color, style.bgcolor
    return (
        style.without_color._make_ansi_codes(system) if style else "",
        "" if front is None else ";".join(front.downgrade(system).get_ansi_codes(foreground=True)),
        "" if behind is None else ";".join(behind.downgrade(system).get_ansi_codes(foreground=False)),
    )


class FrugalCompositor(Compositor):
    """The library's, with frugal updates."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """What changed on the screen."""
        update = super().render_partial_update()
        return None if update is None else FrugalUpdate(update.chops, list(update.spans), list(update.chop_ends))


def be_frugal(screen: Screen[None]) -> None:
    """Have a screen that was just made write few bytes."""
    screen._compositor = FrugalCompositor()
