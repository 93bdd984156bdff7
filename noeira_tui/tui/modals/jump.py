"""Jump mode: every row in sight has a letter or two; typing them goes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from noeira_tui.tui.styles import style_sheet
from noeira_tui.tui.widgets.painted import Painted

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


def labels(number: int) -> tuple[str, ...]:
    """That many labels, none the beginning of another: single letters where they suffice, else pairs."""
    if number <= len(LETTERS):
        return tuple(LETTERS[:number])
    pairs: Iterator[str] = ("".join(pair) for pair in product(LETTERS, repeat=2))
    return tuple(islice(pairs, number))


class JumpScreen(ModalScreen[str]):
    """Takes the letters; dismissed with the label that was typed, or None. The lists below show the labels."""

    CSS_PATH = style_sheet("dialogs.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__()
        self._known = frozenset(known)
        self._says = "type two letters" if any(len(label) > 1 for label in known) else "type a letter"
        self._typed = ""

    def compose(self) -> ComposeResult:
        hint = Painted(id="hint")
        hint.show([((f" {self._says}", "accent"), (" to go there  ", "quiet"), ("esc", "accent"), (" stay", "quiet"))])
        yield hint

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        typed = self._typed + (event.character or "").lower()
        if typed in self._known:
            self.dismiss(typed)
        elif any(label.startswith(typed) for label in self._known) and typed:
            self._typed = typed
        else:
            self.dismiss(None)
