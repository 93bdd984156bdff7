"""Finds any action by its name: type, choose, enter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.tui.actions import ACTIONS, Action, Situation, keyed
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, cut_line
from noeira_tui.tui.widgets.row_list import RowList


class PaletteDialog(Dialog[str]):
    """Dismissed with the id of the chosen action."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
    ]

    def __init__(self, situation: Situation, glyphs: Glyphs, actions: Iterable[Action] = ACTIONS) -> None:
        super().__init__("Commands", glyphs)
        self.add_class("palette")
        self._situation = situation
        self._input = Input(placeholder="what do you want to do?", compact=True)
        self._list = RowList(id="palette-list", glyphs=glyphs, paint=self._paint)
        self._list.can_focus = False
        self._actions = {
            action.id: action
            for action in actions
            if (actions is not ACTIONS or Place.DIALOG not in action.places) and action.label != "commands"
        }

    def contents(self) -> Iterable[Widget]:
        yield self._input
        yield self._list

    def keys(self) -> Line:
        return (("enter", "accent"), (" do it  ", "quiet"), (self.key("close"), "accent"), (" close", "quiet"))

    def on_mount(self) -> None:
        super().on_mount()
        self._show("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, needle: str) -> None:
        words = needle.lower().split()
        self._actions = {action.id: action for action in keyed(self.app, self._actions.values())}
        found = [action for action in self._actions.values() if _matches(action, words, self._situation)]
        # What the label says counts more than what the help says.
        found.sort(
            key=lambda action: (
                not all(word in action.label_in(self._situation) for word in words),
                action.why_not(self._situation) is not None,
            )
        )
        rows = tuple(
            Row(
                key=action.id,
                place=Place.DIALOG,
                name=action.label_in(self._situation),
                subject=None,
                word=action.shown_keys,
            )
            for action in found
        )
        self._list.show(rows, empty=((("No such action.", "quiet"),),))
        self._list.move_to(0)

    def _paint(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        action = self._actions[row.key]
        reason = action.why_not(self._situation)
        return cut_line(
            (
                (f"{action.label_in(self._situation):<17} ", "faint" if reason else "strong"),
                (f"{action.shown_keys:<12} ", "faint" if reason else "accent"),
                (reason or action.help, "attention" if reason else "quiet"),
            ),
            width,
            glyphs,
        )

    def action_move(self, rows: int) -> None:
        self._list.move_by(rows)

    def action_choose(self) -> None:
        row = self._list.current
        if row is not None:
            self.dismiss(row.key)


def _matches(action: Action, words: list[str], situation: Situation) -> bool:
    text = f"{action.label_in(situation)} {action.label} {action.id} {action.help}".lower()
    return all(word in text for word in words)
