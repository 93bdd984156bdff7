"""Verifying asset packs beside the app: one at a time, with progress, stopped by a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.states import State
from noeira_tui.tui import figures
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.text import Line, clean, cut

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen

_NAMED = 3


class Verification:
    """The verification that runs, if one does."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._packs: tuple[PackStatus, ...] = ()
        self._progress = Progress()
        self._cancel = CancelToken()

    @property
    def is_running(self) -> bool:
        return bool(self._packs)

    def start(self, packs: Sequence[PackStatus]) -> None:
        """Hash the installed files of these packs in a thread of its own."""
        self._packs, self._progress, self._cancel = tuple(packs), Progress(), CancelToken()
        screen, progress, cancel = self._screen, self._progress, self._cancel
        screen.errands.run(
            lambda: self._box.verify_packs(packs, progress=progress, cancel=cancel), self._ended, self._failed
        )
        screen.painter.paint_lists()
        screen.painter.paint_row()

    def stop(self) -> None:
        """Ask it to end at its next chunk."""
        self._cancel.cancel()

    def told(self) -> Line:
        """How far it is, for the lower border of the list; nothing when none runs."""
        if not self._packs:
            return ()
        glyphs = self._screen.board.glyphs
        name = self._packs[0].title if len(self._packs) == 1 else figures.count(len(self._packs), "pack")
        fraction = self._progress.snapshot().fraction
        done = "" if fraction is None else f" {figures.percent(fraction).strip()}"
        return (
            (f"{glyphs.again} verifying ", "quiet"),
            (cut(clean(name, glyphs), 24, glyphs), "strong"),
            (done, "live"),
        )

    def _ended(self, found: tuple[PackStatus, ...]) -> None:
        self._packs = ()
        screen = self._screen
        screen.board.take_verified(found)
        screen.list.clear_marks()
        screen.painter.paint()
        bad = [status for status in found if status.problems]
        if not bad:
            names = found[0].title if len(found) == 1 else figures.count(len(found), "pack")
            screen.tell(f"{names}: every file is as it was installed.")
        for status in bad[:_NAMED]:
            paths = ", ".join(f"{problem.path} ({problem.trouble.value})" for problem in status.problems[:_NAMED])
            more = f" and {len(status.problems) - _NAMED} more" if len(status.problems) > _NAMED else ""
            trouble = status.state is not State.CURRENT
            screen.tell(f"{status.title}: {paths}{more}", severity="error" if trouble else "warning")
        screen.watcher.look_now()

    def _failed(self, error: NoeiraError) -> None:
        self._packs = ()
        self._screen.painter.paint()
        if isinstance(error, CancelledError):
            self._screen.tell("Verification stopped.")
        else:
            self._screen.show_error(error)
