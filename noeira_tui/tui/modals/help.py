"""The keys that work here, from the registry; what cannot be used right now says why."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual.widget import Widget

from noeira_tui.core.states import LOOKS
from noeira_tui.tui.actions import ACTIONS, Action, Danger, Group, Situation, keyed
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import Line, wrap


class HelpDialog(Dialog[None]):
    """Every action with its keys, then what the states mean."""

    def __init__(self, situation: Situation, glyphs: Glyphs, actions: Iterable[Action] = ACTIONS) -> None:
        super().__init__("Keys", glyphs)
        self.add_class("help")
        self._situation = situation
        self._actions = tuple(actions)
        self._body = Scrolled()

    def contents(self) -> Iterable[Widget]:
        yield self._body

    def keys(self) -> Line:
        return ((self.key("close"), "accent"), (" close", "quiet"))

    def fill(self) -> None:
        width = max(20, min(104, self.size.width) - 6)
        lines: list[Line] = []
        for group in Group:
            found = [action for action in keyed(self.app, self._actions) if action.group is group]
            if found:
                lines += [((group.value, "heading"),)]
                lines += [line for action in found for line in self._lines(action, width)]
                lines.append(())
        lines.append((("States", "heading"),))
        for state, look in LOOKS.items():
            lines.append(
                ((f"  {self.glyphs.state(state)} {state.value:<12}", look.tone.value), (look.meaning, "quiet"))
            )
        self._body.painted.show(lines)

    def _lines(self, action: Action, width: int) -> list[Line]:
        keys = (action.shown_keys or "^p").ljust(12)
        label = action.label.ljust(17)
        left = 2 + cell_len(keys) + 1 + cell_len(label) + 1
        other = Place.DIALOG in action.places and self._situation.place is not Place.DIALOG
        reason = None if other else action.why_not(self._situation)
        danger = f"{self.glyphs.warn} " if action.danger is not Danger.NONE else ""
        parts = wrap(danger + action.help, max(16, width - left))
        lines: list[Line] = [
            (
                (f"  {keys} ", "faint" if reason else "accent"),
                (f"{label} ", "faint" if reason else ""),
                (parts[0], "quiet"),
            )
        ]
        lines += [((" " * left, ""), (part, "quiet")) for part in parts[1:]]
        if reason:
            lines += [
                ((" " * left, ""), (part, "attention")) for part in wrap(f"Not now: {reason}", max(16, width - left))
            ]
        return lines
