"""What the box says of the highlighted thing: asked beside the app, once the cursor rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place, Row

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen
    from noeira_tui.tui.things import Verdict

VERDICT_AFTER_S = 0.08
"""How long the cursor rests on a thing before the box is asked what can be done with it."""


class Verdicts:
    """Asks the box, and keeps its last answer."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._verdict: Verdict | None = None

    def of(self, row: Row | None) -> Verdict | None:
        """What the box said of a row's thing; None when it was not asked yet."""
        known = self._verdict
        return known if known is not None and row is not None and row.subject == known.thing else None

    def forget(self) -> None:
        """What was said may have changed."""
        self._verdict = None

    def ask(self, *, anew: bool = False) -> None:
        """Ask the box what can be done with the highlighted thing, once the cursor rests."""
        row = self._screen.current
        if row is None or row.is_heading or row.place is Place.JOBS:
            return
        from noeira_tui.tui import things

        thing = things.thing_of(row)
        if thing is None or (not anew and self._verdict is not None and self._verdict.thing == thing):
            return

        def ask() -> None:
            now = self._screen.current
            if now is not None and now.subject == thing:
                self._screen.errands.run(lambda: things.verdict(self._box, thing), self._take)

        self._screen.set_timer(VERDICT_AFTER_S, ask)

    def _take(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._screen.painter.paint_row()
