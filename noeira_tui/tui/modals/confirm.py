"""Asks before something is overwritten. Cancel is what enter does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.text import Line, clean
from noeira_tui.tui.widgets.painted import Painted


class ConfirmDialog(Dialog[bool]):
    """A question with two answers; dismissed with True only when the dangerous one was chosen."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,right,h,l,tab,shift+tab", "switch", show=False),
        Binding("enter", "answer", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,ctrl+d", "scroll(10)", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", show=False),
    ]

    def __init__(self, question: str, lines: Iterable[str], yes: str, glyphs: Glyphs) -> None:
        super().__init__(question, glyphs, tone="attention")
        self.add_class("confirm")
        self._lines = [clean(line, glyphs) for line in lines]
        self._yes = yes
        self._body = Scrolled()
        self._choice = Painted(classes="choice")
        self.agrees = False
        self.copied = "\n".join(self._lines)

    def contents(self) -> Iterable[Widget]:
        yield self._body
        yield self._choice

    def keys(self) -> Line:
        return (
            ("enter", "accent"),
            (" choose  ", "quiet"),
            ("tab", "accent"),
            (" switch  ", "quiet"),
            (self.key("close"), "accent"),
            (" cancel", "quiet"),
        )

    def fill(self) -> None:
        self._body.painted.show(self.said(self._lines))
        self._show_choice()

    def _show_choice(self) -> None:
        no, yes = ("", "danger") if self.agrees else ("key", "quiet")
        self._choice.show([((" Cancel ", no or "quiet"), ("   ", ""), (f" {self._yes} ", yes))])

    def action_switch(self) -> None:
        self.agrees = not self.agrees
        self._show_choice()

    def action_scroll(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)

    def action_answer(self) -> None:
        self.dismiss(self.agrees)
