"""Opens the screens beside the main one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from noeira_tui.tui.curation import Curation
from noeira_tui.tui.inspections import Inspections
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.setup import Setup

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class Pages:
    """The handlers of the actions in `page_actions`; a screen is imported when it is opened."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        inspections = Inspections(screen, box)
        self.handlers: dict[str, Callable[[], None]] = {
            **inspections.handlers,
            **Curation(screen, box, inspections).handlers,
            **Setup(screen, box).handlers,
        }
