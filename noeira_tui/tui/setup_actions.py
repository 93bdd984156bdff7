"""The actions that set the app up: settings, colours, and the service this box uses."""

from __future__ import annotations

from noeira_tui.tui.action import Action, Danger, Group
from noeira_tui.tui.rows import Place

_DIALOG = frozenset({Place.DIALOG})


SETUP: tuple[Action, ...] = (
    Action(
        "settings", ("comma",), "settings", "Every setting, its value and where that came from; change it.", Group.APP,
    ),
    Action(
        "service", ("S",), "service", "Connect this box to a catalog service, or start one here.", Group.APP,
        Danger.CHANGES,
    ),
    Action("themes", (), "choose theme", "See and choose the colours; the choice is remembered.", Group.APP),
    Action("theme", (), "light or dark", "Change between the light and the dark theme; remembered.", Group.APP),
    Action(
        "edit_setting", ("enter",), "edit", "Change the highlighted setting in the settings file.", Group.DIALOGS,
        Danger.CHANGES, _DIALOG,
    ),
    Action(
        "unset_setting", ("delete", "backspace"), "take out", "Take the highlighted setting out of the settings file.",
        Group.DIALOGS, Danger.CHANGES, _DIALOG,
    ),
    Action(
        "keep_anyway", ("ctrl+s",), "keep anyway", "Keep address and key of a service that gives no answer just now.",
        Group.DIALOGS, Danger.CHANGES, _DIALOG,
    ),
)  # fmt: skip
"""In the order in which help and docs name them."""
