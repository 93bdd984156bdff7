"""The keys that work here, from the registry; what cannot be used right now says why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

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
        shown = keyed(self.app, self._actions)
        for group in Group:
            found = [action for action in shown if action.group is group]
            if found:
                lines += [((group.value, "heading"),)]
                lines += self._group(found, width)
                lines.append(())
        lines.append((("States", "heading"),))
        for state, look in LOOKS.items():
            lines.append(
                ((f"  {self.glyphs.state(state)} {state.value:<12}", look.tone.value), (look.meaning, "quiet"))
            )
        self._body.painted.show(lines)

    def _group(self, actions: list[Action], width: int) -> list[Line]:
        """Actions one below the other; what keeps several in a row from being used is said once, above them."""
        keys_width = max(12, *(cell_len(self._keys_of(action)) for action in actions))
        lines: list[Line] = []
        for reason, run in groupby(actions, self._why_not):
            several = list(run)
            said_above = reason is not None and len(several) > 1
            if said_above:
                lines += [((f"  {part}", "attention"),) for part in wrap(f"Not now: {reason}", max(16, width - 2))]
            for action in several:
                lines += self._lines(action, width, keys_width, reason, said_above=said_above)
        return lines

    def _why_not(self, action: Action) -> str | None:
        elsewhere = Place.DIALOG in action.places and self._situation.place is not Place.DIALOG
        return None if elsewhere else action.why_not(self._situation)

    def _keys_of(self, action: Action) -> str:
        return action.shown_keys or self.key("palette")

    def _lines(
        self, action: Action, width: int, keys_width: int, reason: str | None, *, said_above: bool
    ) -> list[Line]:
        label = action.label_in(self._situation).ljust(17)
        left = 2 + keys_width + 1 + cell_len(label) + 1
        danger = f"{self.glyphs.warn} " if action.danger is not Danger.NONE else ""
        parts = wrap(danger + action.help, max(16, width - left))
        lines: list[Line] = [
            (
                (f"  {self._keys_of(action).ljust(keys_width)} ", "faint" if reason else "accent"),
                (f"{label} ", "faint" if reason else ""),
                (parts[0], "quiet"),
            )
        ]
        lines += [((" " * left, ""), (part, "quiet")) for part in parts[1:]]
        if reason and not said_above:
            lines += [
                ((" " * left, ""), (part, "attention")) for part in wrap(f"Not now: {reason}", max(16, width - left))
            ]
        return lines
