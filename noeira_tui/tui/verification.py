"""Verifying asset packs beside the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.states import State
from noeira_tui.tui import figures
from noeira_tui.tui.ports import BoxLike

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen

_NAMED = 3


class Verification:
    """Hashes installed files, and says what was found."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box

    def start(self, packs: Sequence[PackStatus]) -> None:
        """Hash the installed files of these packs in a thread of its own."""
        work = self._screen.background
        name = packs[0].title if len(packs) == 1 else figures.count(len(packs), "pack")
        work.start(
            "verifying",
            name,
            lambda: self._box.verify_packs(packs, progress=work.progress, cancel=work.cancel),
            self._ended,
            "Verification stopped.",
        )

    def _ended(self, found: tuple[PackStatus, ...]) -> None:
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
            more = f" and {len(status.problems) - _NAMED:,} more" if len(status.problems) > _NAMED else ""
            trouble = status.state is not State.CURRENT
            screen.tell(f"{status.title}: {paths}{more}", severity="error" if trouble else "warning")
        screen.watcher.look_now()
