"""An action of the user's failed: what, why, and what to do next. `y` copies all of it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from noeira_tui.core.errors import NoeiraError
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.text import Line, clean, clean_lines, wrap


class ErrorDialog(Dialog[None]):
    """Shows an error of the tree."""

    def __init__(self, error: NoeiraError, glyphs: Glyphs) -> None:
        super().__init__(error.title, glyphs, tone="trouble")
        self.add_class("error")
        self._error = error
        self._body = Scrolled()
        self.copied = "\n".join(
            part for part in (clean(error.title), *clean_lines(error.message), *clean_lines(error.hint)) if part
        )

    def contents(self) -> Iterable[Widget]:
        yield self._body

    def fill(self) -> None:
        width = self.text_width
        lines: list[Line] = []
        for text in clean_lines(self._error.message, self.glyphs):
            lines += [((part, ""),) for part in wrap(text, width)]
        if self._error.hint:
            lines.append(())
            for text in clean_lines(self._error.hint, self.glyphs):
                lines += [((part, "quiet"),) for part in wrap(text, width)]
        if self._error.retryable and "again" not in self._error.hint.casefold():
            lines += [(), (("Trying again later can help.", "faint"),)]
        self._body.painted.show(lines)
