"""Offers what a box without a service can do: connect to one, start one, or go on without."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.widget import Widget

from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.list_dialog import ListDialog
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, clean, cut_line, short_path, wrap
from noeira_tui.tui.widgets.painted import Painted

CONNECT, START, WITHOUT = "connect", "start", "without"
_NAMES = {CONNECT: "Connect to a service", START: "Start one on this box", WITHOUT: "Go on without"}


class FirstRunDialog(ListDialog[str]):
    """Dismissed with one of the ways, None for later.

    `now` is the service that is configured, empty without one; `start_refusal` is the command that installs what a
    service here needs, None when it is there.
    """

    def __init__(self, now: str, start_refusal: str | None, data_dir: str, glyphs: Glyphs) -> None:
        super().__init__("Service" if now else "Welcome", glyphs, list_id="ways-list")
        self.add_class("first-run")
        self._now = clean(now, glyphs)
        self._refusal = start_refusal
        self._said = {
            CONNECT: "with its address and a key: paste both",
            START: f"its data in {short_path(data_dir)}" if start_refusal is None else f"needs {start_refusal}",
            WITHOUT: "this box alone; the app will not ask again",
        }
        self._intro = Painted(classes="note")

    def contents(self) -> Iterable[Widget]:
        yield self._intro
        yield self.rows_list

    def keys(self) -> Line:
        return (("enter", "accent"), (" choose  ", "quiet"), (self.key("close"), "accent"), (" not now", "quiet"))

    def on_mount(self) -> None:
        super().on_mount()
        # Doing without the one that is configured is for the settings, where it can be taken out.
        ways = [way for way in _NAMES if way != WITHOUT or not self._now]
        self.rows_list.styles.height = len(ways)
        self.rows_list.show(tuple(Row(key=way, place=Place.DIALOG, name=_NAMES[way], subject=None) for way in ways))
        self.rows_list.focus()

    def fill(self) -> None:
        width = max(10, min(80, self.size.width * 96 // 100) - 6)
        if self._now:
            said = [f"This box uses {self._now}.", "Connect to another one, or with another key:"]
        else:
            said = [
                "No catalog service is configured yet. It holds datasets and recordings for all your boxes; with one, "
                "this app shows what is missing here, pulls and pushes it, and knows whether the box may go.",
                "",
                f"{self.key('service')} {self.glyphs.dot} service brings this back later.",
            ]
        self._intro.show([*(((part, "quiet"),) for text in said for part in wrap(text, width)), ()])

    def paint_row(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        off = row.key == START and self._refusal is not None
        said = clean(self._said[row.key], glyphs)
        return cut_line(
            ((f"{row.name:<24}", "faint" if off else "strong"), (said, "attention" if off else "quiet")), width, glyphs
        )

    def on_key(self, event: events.Key) -> None:
        """A key of the main screen, such as `q` or `?`, means that: nobody who did not ask is held up here."""
        if event.key in self.active_bindings:
            return
        event.stop()
        self.dismiss(None)
        key = event.key
        self.app.call_later(lambda: self.app.simulate_key(key))

    def action_choose(self) -> None:
        row = self.rows_list.current
        if row is None:
            return
        if row.key == START and self._refusal is not None:
            told = f"The service is not installed here: {self._refusal}"
            self.notify(clean(told, self.glyphs), severity="warning", markup=False)
            return
        self.dismiss(row.key)
