"""The line one types a filter into. Imported at the first `/` only: an input is a large widget."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from noeira_tui.tui.messages import FilterLeft


class FilterLine(Input):
    """A one-line input: enter keeps the filter, escape clears it, down goes to the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", show=False),
        Binding("down", "leave(False)", show=False),
    ]

    def __init__(self, needle: str, placeholder: str = "words of names and states") -> None:
        super().__init__(needle, placeholder=placeholder, classes="filter", compact=True)

    def action_leave(self, clear: bool) -> None:
        self.post_message(FilterLeft(clear=clear))
