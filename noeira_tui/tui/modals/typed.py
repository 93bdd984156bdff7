"""Asks before something is removed: one has to type a word. Leaving, or typing anything else, removes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.text import Line, clean
from noeira_tui.tui.widgets.painted import Painted


class TypedDialog(Dialog[bool]):
    """A question with counts and bytes; dismissed with True only when `word` was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "scroll(10)", show=False, priority=True),
        Binding("pageup", "scroll(-10)", show=False, priority=True),
    ]

    def __init__(self, question: str, lines: Iterable[str], word: str, glyphs: Glyphs) -> None:
        super().__init__(question, glyphs, tone="trouble")
        self.add_class("typed")
        self._lines = [clean(line, glyphs) for line in lines]
        self._word = word
        self._body = Scrolled()
        self._input = Input(compact=True)
        self._note = Painted(classes="note")
        self.copied = "\n".join(self._lines)

    def contents(self) -> Iterable[Widget]:
        yield self._body
        yield self._note
        yield self._input

    def on_mount(self) -> None:
        super().on_mount()
        self._body.can_focus = False
        self._input.focus()

    def keys(self) -> Line:
        return (
            ("enter", "accent"),
            (f" {self._word}  ", "quiet"),
            (self.key("close"), "accent"),
            (" leave everything", "quiet"),
        )

    def fill(self) -> None:
        self._body.painted.show(self.said(self._lines))
        self._tell(wrong=False)

    def _tell(self, *, wrong: bool) -> None:
        look = "trouble" if wrong else "quiet"
        self._note.show([(("Type ", look), (self._word, "danger"), (" and press enter:", look))])

    def action_scroll(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._tell(wrong=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if event.value.strip().lower() == self._word:
            self.dismiss(True)
        else:
            self._tell(wrong=True)
