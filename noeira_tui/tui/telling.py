"""Saying something to the user: toasts, errors, the clipboard. Text from outside is literal everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from noeira_tui.core.installed import PROGRAM
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import clean, cut

if TYPE_CHECKING:
    from textual.screen import Screen

    from noeira_tui.core.errors import NoeiraError

MAX_TOLD = 300
"""A toast says at most this many characters."""


class Telling:
    """What a screen says beside what it shows."""

    def __init__(self, screen: Screen[None], glyphs: Glyphs) -> None:
        self._screen = screen
        self._glyphs = glyphs
        self._told: set[str] = set()

    def tell(self, text: str, *, title: str = "", severity: str = "information") -> None:
        """A toast. Its text is literal."""
        level = {"warning": "warning", "error": "error"}.get(severity, "information")
        shown = cut(clean(text.strip(), self._glyphs), MAX_TOLD, self._glyphs)
        heading = clean(title, self._glyphs)
        self._screen.notify(shown, title=heading, severity=level, markup=False)  # type: ignore[arg-type]  # a literal

    def tell_once(self, text: str, *, title: str = "") -> None:
        """A warning that is not repeated as long as the app runs."""
        # One fault may be heard of twice, once with its title and once without.
        if not any(text in told or told in text for told in self._told):
            self._told.add(text)
            self.tell(text, title=title, severity="warning")

    def unless_replaced(self, do: Callable[[], None]) -> None:
        """Do something that may load more of the program; where that was replaced on disk meanwhile, say so instead."""
        try:
            do()
        except ImportError:
            if not PROGRAM.look():
                raise
            self.tell_replaced()

    def tell_replaced(self) -> None:
        """Say that this program was replaced on disk, and what to do. A dialog might not fit the rest any more."""
        leave = self._glyphs.key("quit")
        self.tell(f"{PROGRAM.told()} Restart it: {leave}, then noeira-tui. Jobs go on.", severity="warning")

    def show_error(self, error: NoeiraError) -> None:
        """Say what failed, in a dialog that can be copied."""
        if PROGRAM.was_replaced and error.title == PROGRAM.error().title:
            self.tell_replaced()
            return
        from noeira_tui.tui.modals.error import ErrorDialog

        self._screen.app.push_screen(ErrorDialog(error, self._glyphs))

    def notify_end(self, text: str, how: str) -> None:
        """Tell that a job ended to who looks elsewhere: `bell` rings, `osc9` asks the terminal for a notification."""
        app = self._screen.app
        if how == "bell":
            app.bell()
        elif how == "osc9" and app._driver is not None and not app.is_headless:
            shown = cut(clean(text, self._glyphs), 80, self._glyphs)
            app._driver.write(passed_on(f"\x1b]9;{shown}\x07", os.environ))

    def copy(self, text: str) -> None:
        """Put text on the clipboard of the user's terminal; what is no UTF-8 is escaped."""
        self._screen.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())


def passed_on(sequence: str, environ: Mapping[str, str]) -> str:
    """A sequence for the terminal itself, past tmux or screen where the app runs in one.

    tmux passes it on with `set -g allow-passthrough on`; without that both drop it, as they drop a bare one.
    """
    if environ.get("TMUX"):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if environ.get("STY") or environ.get("TERM", "").startswith("screen"):
        # What ends the outer sequence may not stand inside: the inner one ends with a bell.
        return f"\x1bP{sequence}\x1b\\"
    return sequence
