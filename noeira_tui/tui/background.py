"""Long work that the app does itself, beside what it shows: one piece at a time, with progress, stopped by a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.tui import figures
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import Line, clean, cut

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen

Result = TypeVar("Result")


class Background:
    """The work that is going on, if any is. The lower border of the list it was begun in tells how far it is."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._doing = ""
        self._what = ""
        self._place = Place.CATALOG
        self.progress = Progress()
        self.cancel = CancelToken()

    @property
    def doing(self) -> str:
        """What is being done, such as `verifying`; empty when nothing is."""
        return self._doing

    def is_at(self, place: Place) -> bool:
        """Whether it was begun in this list: there a key stops it."""
        return bool(self._doing) and place is self._place

    def start(
        self,
        doing: str,
        what: str,
        work: Callable[[], Result],
        then: Callable[[Result], None],
        stopped: str,
    ) -> None:
        """Do `work` in a thread of its own, then give its result to `then` in the app's thread.

        `stopped` is said when the user ended it. It reports to `progress` and checks `cancel`.
        """
        self._doing, self._what, self._place = doing, what, self._screen.place
        self.progress, self.cancel = Progress(), CancelToken()

        def ended(result: Result) -> None:
            self._end()
            then(result)

        def failed(error: NoeiraError) -> None:
            self._end()
            if isinstance(error, CancelledError):
                self._screen.tell(stopped)
            else:
                self._screen.show_error(error)

        self._screen.errands.run(work, ended, failed)
        self._screen.painter.paint_notes()
        self._screen.painter.paint_row()

    def go_on_with(self, what: str) -> Progress:
        """Say what is worked on now; its progress is counted from nothing. May be called by the work."""
        self._what, self.progress = what, Progress()
        return self.progress

    def stop(self) -> None:
        """Ask it to end at its next chunk."""
        self.cancel.cancel()

    def told(self) -> Line:
        """How far it is, for the lower border of the list; nothing when none runs."""
        if not self._doing:
            return ()
        glyphs = self._screen.board.glyphs
        fraction = self.progress.snapshot().fraction
        done = "" if fraction is None else f" {figures.percent(fraction).strip()}"
        return (
            (f"{glyphs.again} {self._doing} ", "quiet"),
            (cut(clean(self._what, glyphs), 24, glyphs), "strong"),
            (done, "live"),
        )

    def _end(self) -> None:
        self._doing = ""
        self._screen.painter.paint()
