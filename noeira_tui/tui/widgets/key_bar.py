"""The footer: the keys that work here, from the registry; those that do not right now are dimmed."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.message import Message

from noeira_tui.tui.actions import ACTIONS, Action, Situation, key_label, keyed
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import Piece, width_of
from noeira_tui.tui.widgets.painted import Painted

ALWAYS = ("back", "commands", "help", "quit")
"""Labels of the keys that are named at any width."""


class KeyBar(Painted):
    """One line of keys. A click on one does it."""

    class Clicked(Message):
        """A key's label was clicked."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="keys")
        self._glyphs = glyphs
        self._spans: list[tuple[int, int, str]] = []

    def show_keys(self, situation: Situation, actions: Iterable[Action] = ACTIONS) -> None:
        """Show the keys for a situation, as many as fit, the usable ones first; commands, help and quit always."""
        shown = sorted(
            (
                action
                for action in keyed(self.app, actions)
                if action.footer is not None and situation.place in action.places
            ),
            key=lambda action: action.footer or 0,
        )
        width = self.app.size.width
        last = [action for action in shown if action.label in ALWAYS]
        first = [action for action in shown if action.label not in ALWAYS]
        while first and sum(width_of(_pieces(action, situation)) for action in [*first, *last]) > width:
            # What cannot be used right now gives way first.
            unusable = [action for action in first if action.why_not(situation) is not None]
            first.remove(unusable[-1] if unusable else first[-1])
        pieces: list[Piece] = []
        self._spans = []
        for action in [*first, *last]:
            at = width_of(pieces)
            pieces += _pieces(action, situation)
            self._spans.append((at, width_of(pieces), action.id))
        self.show([tuple(pieces)])

    def on_click(self, event: events.Click) -> None:
        for start, end, action_id in self._spans:
            if start <= event.x < end:
                self.post_message(self.Clicked(action_id))


def _pieces(action: Action, situation: Situation) -> list[Piece]:
    key, label = key_label(action.keys[0]), action.label_in(situation)
    is_dimmed = action.why_not(situation) is not None
    return [(f" {key}", "faint" if is_dimmed else "accent"), (f" {label} ", "faint" if is_dimmed else "quiet")]
