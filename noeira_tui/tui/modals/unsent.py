"""Is it safe to destroy this box? Every reason why not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from noeira_tui.overview.picture import Overview
from noeira_tui.tui import figures
from noeira_tui.tui.actions import dialog_binding
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.text import Line, clean, wrap

MAX_REASONS = 300
"""The dialog lists so many."""


class UnsentDialog(Dialog[bool]):
    """The answer with its reasons, one a line; dismissed with True when what is not sent is to be pushed."""

    BINDINGS: ClassVar[list[BindingType]] = [dialog_binding("push_unsent", "push")]

    def __init__(self, overview: Overview, glyphs: Glyphs, *, offers_push: bool) -> None:
        safe = overview.safe_to_destroy
        super().__init__(
            "Safe to destroy" if safe else "Not safe to destroy", glyphs, tone="good" if safe else "trouble"
        )
        if not safe:
            self.add_class("unsafe")
        self._overview = overview
        self._offers_push = offers_push
        self._body = Scrolled()
        self.copied = "\n".join(clean(reason) for reason in overview.unsafe_because)

    def contents(self) -> Iterable[Widget]:
        yield self._body

    def keys(self) -> Line:
        push: Line = (
            ((self.key("push_unsent"), "accent"), (" push what is not sent  ", "quiet")) if self._offers_push else ()
        )
        return (*push, *super().keys())

    def action_push(self) -> None:
        if self._offers_push:
            self.dismiss(True)

    def fill(self) -> None:
        width = max(20, min(76, self.size.width - 8) - 4)
        overview, glyphs = self._overview, self.glyphs
        if overview.safe_to_destroy:
            holds = "The service holds all of it, byte for byte."
            told = holds if overview.has_anything else "Nothing is here that could be lost."
            scope = "Only recordings, data files and asset packs were looked at, nothing else on this box."
            said = [*(((part, ""),) for part in wrap(told, width)), ()]
            self._body.painted.show([*said, *(((part, "quiet"),) for part in wrap(scope, width))])
            return
        unsent = overview.totals.bytes_unsent
        amount = f"{figures.size(unsent, glyphs)} are only here." if unsent else "This would be lost with the box:"
        lines: list[Line] = [((amount, "strong"),), ()]
        for reason in overview.unsafe_because[:MAX_REASONS]:
            first, *rest = wrap(clean(reason, glyphs), width - 2)
            lines.append(((f"{glyphs.bullet} ", "trouble"), (first, "")))
            lines += [((f"  {part}", ""),) for part in rest]
        more = len(overview.unsafe_because) - MAX_REASONS
        if more > 0:
            lines.append(((f"  and {more:,} more; y copies all of them", "quiet"),))
        self._body.painted.show(lines)
