"""The episodes of a dataset beside what one of them holds: plots of state and action, a camera's frame, its facts."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.widgets.frame import Frame
from noeira_tui.tui.widgets.line_list import LineList
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.plot import Plot

BESIDE_FROM = 70
"""Cells from which the list stands beside the plots; below, one of them is shown at a time."""

ALL_FROM = 25
"""Lines from which frame and facts stand below the plots; below, one of them takes their place."""

WIDE_FROM = 110
_OTHER_LINES = 4
"""Lines of the screen above and below: header, sections, status, keys."""


@dataclass(frozen=True)
class Shown:
    """What the user wants to see of an episode."""

    zoomed: bool = False
    state: bool = True
    action: bool = True
    frame: bool = False
    about: bool = False


class EpisodeView(Horizontal):
    """Lays the parts out for its size."""

    class Resized(Message):
        """It has another size, or its first one."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="episodes")
        self.list = LineList(id="episode-list")
        self.state = Plot(id="state", glyphs=glyphs)
        self.action = Plot(id="action", glyphs=glyphs)
        self.frame = Frame(id="frame", glyphs=glyphs)
        self.about = Painted(id="about")
        self._right = Vertical(id="episode")
        self._below = Horizontal(id="below")

    def compose(self) -> ComposeResult:
        yield self.list
        with self._right:
            yield self.state
            yield self.action
            with self._below:
                yield self.frame
                yield self.about

    def on_mount(self) -> None:
        # Else it is seen for a moment as it would be laid out by nobody.
        self.lay_out(Shown())

    def on_resize(self, event: events.Resize) -> None:
        self.post_message(self.Resized())

    def shows_frame(self, shown: Shown) -> bool:
        """Whether a frame would be seen: only then it is worth reading."""
        return shown.frame and (shown.zoomed or self.size.width >= BESIDE_FROM)

    def lay_out(self, shown: Shown) -> None:
        """Show what is wanted, as far as there is room."""
        width, height = self.size if self.size.area else (self.app.size.width, self.app.size.height - _OTHER_LINES)
        beside, roomy = width >= BESIDE_FROM, height >= ALL_FROM
        self.list.display = not shown.zoomed
        self._right.display = beside or shown.zoomed
        narrow = 36 if width >= WIDE_FROM else 29
        # What is left over on a very wide terminal goes to the tasks in the list: plots have enough.
        self.list.styles.width = "1fr" if not beside else max(narrow, min(72, width - 134))
        below = shown.frame or shown.about or roomy
        plots = roomy or not (shown.frame or shown.about)
        self.state.display = plots and shown.state
        self.action.display = plots and shown.action
        self._below.display = below
        self.frame.display = shown.frame
        self.about.display = roomy or (shown.about and not shown.frame)
        if not plots:
            self._below.styles.height = "1fr"
        else:
            self._below.styles.height = max(12, height * 9 // 20) if shown.frame or shown.about else 9

    @property
    def about_width(self) -> int:
        """Cells that the facts have."""
        return max(20, self.about.size.width or self.size.width - 4)
