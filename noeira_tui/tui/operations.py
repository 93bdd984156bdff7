"""What each action of the registry does. Everything that may block runs beside the app."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.tui import figures, things
from noeira_tui.tui.freeing import Freeing
from noeira_tui.tui.job_operations import JobOperations
from noeira_tui.tui.list_operations import ListOperations
from noeira_tui.tui.open_details import OpenDetails
from noeira_tui.tui.pages import Pages
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.things import Thing
from noeira_tui.tui.transfers import Transfers
from noeira_tui.tui.verification import Verification

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class Operations:
    """The handlers of the actions."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._transfers = Transfers(screen, box)
        self._open_details = OpenDetails(screen, box)
        self._verification = Verification(screen, box)
        self.handlers: dict[str, Callable[[], None]] = {
            "pull": self._transfers.pull,
            "push": self._transfers.push,
            "watch": self._transfers.watch,
            "pull_packs": self._transfers.pull_packs,
            "verify": self._verify,
            "free": Freeing(screen, box, self._transfers).free,
            "unsent": self._unsent,
            "open": self._open_details.open,
            "refresh": screen.look_again,
            "palette": self._palette,
            "help": self._help,
            "quit": self._quit,
            **JobOperations(screen, box).handlers,
            **ListOperations(screen).handlers,
            **Pages(screen, box).handlers,
        }

    def do(self, action_id: str) -> None:
        """Do an action that can be used now."""
        self.handlers[action_id]()

    def follow(self) -> None:
        """Bring open details up to date."""
        self._open_details.follow()

    def _verify(self) -> None:
        def verify(allowed: list[Thing]) -> None:
            self._verification.start([thing for thing in allowed if isinstance(thing, PackStatus)])

        self._transfers.judge(self._transfers.chosen(), partial(things.verify_refusal, self._box), "verified", verify)

    def _unsent(self) -> None:
        from noeira_tui.tui.modals.unsent import UnsentDialog

        board = self._screen.board
        if board.overview is None:
            return

        def answered(push: bool | None) -> None:
            if push:
                self._transfers.push_unsent()

        offers = not self._screen.read_only and bool(things.unsent_things(board.overview))
        self._screen.app.push_screen(UnsentDialog(board.overview, board.glyphs, offers_push=offers), answered)

    def _palette(self) -> None:
        from noeira_tui.tui.modals.palette import PaletteDialog

        def chosen(action_id: str | None) -> None:
            if action_id is not None:
                self._screen.act(action_id)

        self._screen.app.push_screen(PaletteDialog(self._screen.situation(), self._screen.board.glyphs), chosen)

    def _help(self) -> None:
        from noeira_tui.tui.modals.help import HelpDialog

        self._screen.app.push_screen(HelpDialog(self._screen.situation(), self._screen.board.glyphs))

    def _quit(self) -> None:
        from rich.text import Text

        live = len(self._screen.board.live_jobs())
        goes = "goes" if live == 1 else "go"
        line = f"{figures.count(live, 'job')} {goes} on without the app. See: noeira-tui jobs list" if live else ""
        self._screen.app.exit(message=Text(line) if line else None)
