"""What all dialogs share: a framed box in the middle, `esc` leaves, `y` copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget

from noeira_tui.tui.actions import dialog_binding, key_of
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.styles import style_sheet
from noeira_tui.tui.text import Line, clean, wrap
from noeira_tui.tui.widgets.painted import Painted, title_content

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], Generic[Answer]):
    """A dialog; subclasses fill the box. `copied` is what `y` copies, empty for nothing."""

    CSS_PATH = style_sheet("dialogs.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        dialog_binding("close", "leave"),
        dialog_binding("copy_dialog", "copy"),
    ]

    def __init__(self, title: str, glyphs: Glyphs, *, tone: str = "strong") -> None:
        super().__init__()
        self.glyphs = glyphs
        self.copied = ""
        self._heading = title
        self._tone = tone

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            title = title_content(((clean(self._heading, self.glyphs), self._tone),))
            box.border_title = None if title is None else title.stylize("bold")
            box.border_subtitle = title_content(self.keys())
            yield from self.contents()

    def on_mount(self) -> None:
        self.set_class(self.glyphs.is_ascii, "-ascii")

    def on_resize(self, event: events.Resize) -> None:
        # Only then are the widgets inside laid out, and measured again when their lines change.
        self.call_after_refresh(self.fill)

    def fill(self) -> None:
        """Give the widgets their lines, for the present size."""

    @property
    def text_width(self) -> int:
        """The columns that text has in a box of the ordinary width."""
        return max(10, min(76, self.size.width - 8) - 4)

    def said(self, texts: Iterable[str]) -> list[Line]:
        """Texts wrapped: the first stands by itself, what explains it below is quiet."""
        lines: list[Line] = []
        for index, text in enumerate(texts):
            lines += [((part, "quiet" if index else ""),) for part in wrap(text, self.text_width)]
            if index == 0:
                lines.append(())
        return lines

    def contents(self) -> Iterable[Widget]:
        """The widgets of the box."""
        raise NotImplementedError

    def keys(self) -> Line:
        """The keys named in the lower border."""
        return (
            (self.key("close"), "accent"),
            (" close  ", "quiet"),
            (self.key("copy_dialog"), "accent"),
            (" copy", "quiet"),
        )

    def key(self, action_id: str) -> str:
        """The key of an action, as it is in this app."""
        return key_of(self.app, action_id)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        if self.copied:
            self.app.copy_to_clipboard(self.copied.encode("utf-8", "backslashreplace").decode())
            self.notify("Copied.", markup=False)


class Scrolled(VerticalScroll):
    """Text that may be longer than the box; scrolls with arrows, j and k."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.painted = Painted(classes="text")

    def compose(self) -> ComposeResult:
        yield self.painted
