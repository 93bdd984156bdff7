"""Asks for one line of text, and says at once what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.text import Line, clean, wrap
from noeira_tui.tui.widgets.painted import Painted


class AskDialog(Dialog[str]):
    """Dismissed with a text that `check` has nothing against. Text can be typed or pasted."""

    def __init__(
        self,
        title: str,
        hint: str,
        glyphs: Glyphs,
        *,
        check: Callable[[str], str | None],
        yes: str,
        value: str = "",
        placeholder: str = "",
    ) -> None:
        super().__init__(title, glyphs)
        self.add_class("ask")
        self._hint = hint
        self._check = check
        self._yes = yes
        self._field = Input(value, placeholder=placeholder, id="answer", compact=True, select_on_focus=True)
        self._note = Painted(classes="note")

    def contents(self) -> Iterable[Widget]:
        yield self._field
        yield self._note

    def keys(self) -> Line:
        return (("enter", "accent"), (f" {self._yes}  ", "quiet"), (self.key("close"), "accent"), (" cancel", "quiet"))

    def fill(self) -> None:
        self._say(self._hint, "quiet")

    def _say(self, text: str, look: str) -> None:
        width = max(10, min(80, self.size.width) - 8)
        self._note.show([((part, look),) for part in wrap(clean(text, self.glyphs), width)])

    @on(Input.Changed)
    def _typed(self) -> None:
        self._say(self._hint, "quiet")

    @on(Input.Submitted)
    def _submitted(self) -> None:
        problem = self._check(self._field.value)
        if problem is None:
            self.dismiss(self._field.value)
        else:
            self._say(problem, "trouble")
