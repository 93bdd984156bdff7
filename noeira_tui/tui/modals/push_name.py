"""Asks under which name and version a file goes into the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.core.paths import SEGMENT_RULE, is_segment
from noeira_tui.overview.picture import DatasetView
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.text import Line, clean, cut_middle
from noeira_tui.tui.widgets.painted import Painted


class PushNameDialog(Dialog[tuple[str, str]]):
    """Dismissed with a name and a version that the catalog accepts."""

    def __init__(self, dataset: DatasetView, glyphs: Glyphs) -> None:
        super().__init__("Push into the catalog", glyphs)
        self.add_class("push")
        self._dataset = dataset
        path = dataset.path or Path(dataset.id)
        self._name_field = Input(clean(path.name.split(".")[0], glyphs), id="name", compact=True)
        self._version_field = Input("v1", id="version", compact=True)
        self._note = Painted(classes="note")
        self.copied = str(path)

    def contents(self) -> Iterable[Widget]:
        what = Painted(classes="note")
        shown = cut_middle(clean(self._dataset.path or self._dataset.id, self.glyphs), 60, self.glyphs)
        what.show([((shown, "quiet"),)])
        yield what
        yield _label("name")
        yield self._name_field
        yield _label("version")
        yield self._version_field
        yield self._note

    def keys(self) -> Line:
        return (
            ("enter", "accent"),
            (" push  ", "quiet"),
            ("tab", "accent"),
            (" next field  ", "quiet"),
            (self.key("close"), "accent"),
            (" cancel", "quiet"),
        )

    @on(Input.Changed)
    def _check(self) -> None:
        self._problem()

    def _problem(self) -> bool:
        for what, field in (("name", self._name_field), ("version", self._version_field)):
            if not is_segment(field.value):
                self._note.show([((f"The {what} must be", "trouble"),), ((f"{SEGMENT_RULE}.", "trouble"),)])
                return True
        shown = clean(f"{self._name_field.value}-{self._version_field.value}", self.glyphs)
        self._note.show([(("It becomes ", "quiet"), (shown, "strong")), ()])
        return False

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if not self._problem():
            self.dismiss((self._name_field.value, self._version_field.value))


def _label(text: str) -> Painted:
    label = Painted(classes="label")
    label.show([((text, "faint"),)])
    return label
