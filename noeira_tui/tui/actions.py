"""Every action of the app, once: bindings, footer, command palette, `?` help and the key table in the docs read this.

An action has an id (so that keys can be remapped), and says in words why it cannot be used right now. What the program
cannot do yet is not here at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from textual.binding import Binding

from noeira_tui.tui import reasons
from noeira_tui.tui.action import LISTS, Action, Danger, Group, Reason, Situation, bindings_of, key_label
from noeira_tui.tui.keys import with_keys
from noeira_tui.tui.page_actions import PAGES
from noeira_tui.tui.rows import Place

__all__ = [
    "ACTIONS",
    "BY_ID",
    "LISTS",
    "Action",
    "Danger",
    "Group",
    "Reason",
    "Situation",
    "bindings",
    "dialog_binding",
    "key_label",
    "key_of",
    "keyed",
]

_THINGS = frozenset({Place.PROJECTS, Place.CATALOG, Place.PACKS})
_SENDABLE = frozenset({Place.PROJECTS, Place.CATALOG})
_PROJECTS = frozenset({Place.PROJECTS})
_PACKS = frozenset({Place.PACKS})
_DIALOG = frozenset({Place.DIALOG})
_GO_TO_PANES = "This works on recordings, datasets and asset packs: press {projects}, {catalog} or {packs}."
_GO_TO_SENDABLE = "This works on recordings and datasets of the catalog: press {projects} or {catalog}."
_GO_TO_PROJECTS = "This works on recordings: press {projects}."
_ONLY_FOLDED = "Only a project's recordings are folded away: press {projects}."
_GO_TO_PACKS = "This works on asset packs: press {packs}."

ACTIONS: tuple[Action, ...] = (
    Action(
        "pull", ("p",), "pull", "Fetch the highlighted recording, dataset or pack, or all marked ones, verified; goes "
        "on where it stopped and asks before it overwrites what was changed here.",
        Group.DATA, Danger.OVERWRITES, _THINGS, _GO_TO_PANES, reasons.why_no_pull, footer=10,
    ),
    Action(
        "push", ("u",), "push", "Send what the service lacks of the highlighted recording or file, or of all marked "
        "ones; asks before it replaces what others changed there.",
        Group.DATA, Danger.OVERWRITES, _SENDABLE, _GO_TO_SENDABLE, reasons.why_no_push, footer=11,
    ),
    Action(
        "watch", ("w",), "watch", "Mirror a recording while it is made, or stop that. It goes on without the app.",
        Group.DATA, Danger.CHANGES, _PROJECTS, _GO_TO_PROJECTS, reasons.why_no_watch, footer=12,
        label_now=reasons.unwatches,
    ),
    Action(
        "verify", ("v",), "verify", "Hash every installed file of the highlighted pack, or of all marked ones.",
        Group.DATA, Danger.NONE, _PACKS, _GO_TO_PACKS, reasons.why_no_verify, footer=12,
    ),
    Action(
        "pull_packs", ("P",), "pull packs", "Fetch and install every declared pack that is missing, partial or stale.",
        Group.DATA, Danger.CHANGES, reason=reasons.why_no_pull_packs,
    ),
    Action(
        "retry", ("r",), "retry", "Start a failed, cancelled or interrupted job again, going on from what is on disk.",
        Group.DATA, Danger.CHANGES, reason=reasons.why_no_retry, footer=13,
    ),
    Action(
        "cancel", ("c",), "cancel", "Stop a job, or what is being verified or compared. What was transferred is kept, "
        "a retry goes on from there.",
        Group.DATA, Danger.CHANGES, reason=reasons.why_no_cancel, footer=14, harmless=reasons.stops_work,
    ),
    Action(
        "pause", ("z",), "pause", "Let a job stand still, or go on; another one gets its slot meanwhile.",
        Group.DATA, Danger.CHANGES, reason=reasons.why_no_pause, label_now=reasons.goes_on,
    ),
    Action(
        "free", ("x",), "free space", "Remove the copy here of what the service holds with the same bytes: hashed and "
        "compared first, then you type a word. Among the packs: what the cache holds for nobody; among the jobs: old "
        "ones with their logs.",
        Group.DATA, Danger.REMOVES, reason=reasons.why_no_free, footer=16,
    ),
    Action("open", ("enter",), "details", "Everything about the highlighted row; of a job its log.", Group.LISTS,
           reason=reasons.needs_row, footer=20),
    Action("filter", ("/",), "filter", "Show only some rows: words of names and states, !current leaves out, >1GB and "
           "<10MB compare; all that you type must hold.", Group.LISTS, footer=21),
    Action("mark", ("space",), "mark", "Mark the row, or a project's recordings; keys then work on all marked ones.",
           Group.LISTS, reason=reasons.needs_row, footer=22),
    Action("copy", ("y",), "copy", "Copy the row's whole sha256, else its path; of marked rows, a line each.",
           Group.LISTS, reason=reasons.needs_row, footer=23),
    Action("sort", ("s",), "sort", "Trouble first, by name, or largest first.", Group.LISTS,
           reason=reasons.why_no_sort),
    Action("unsent", ("D",), "safe to destroy?", "What would be lost with this box.", Group.DATA),
    Action("refresh", ("R", "ctrl+r"), "refresh", "Look at the box and ask the service again.", Group.LISTS, footer=30),
    Action("back", ("escape",), "back", "Clear the filter, then the marks.", Group.LISTS),
    Action("down", ("down", "j"), "down", "Next row.", Group.MOVE),
    Action("up", ("up", "k"), "up", "Previous row.", Group.MOVE),
    Action("top", ("home", "<"), "top", "First row.", Group.MOVE),
    Action("bottom", ("end", "G"), "bottom", "Last row.", Group.MOVE),
    Action("page_down", ("pagedown", "ctrl+d"), "page down", "One page on.", Group.MOVE),
    Action("page_up", ("pageup", "ctrl+u"), "page up", "One page back.", Group.MOVE),
    Action("fold", ("left", "h"), "fold", "Hide a project's recordings.", Group.MOVE, places=_PROJECTS,
           elsewhere=_ONLY_FOLDED),
    Action("unfold", ("right", "l"), "unfold", "Show a project's recordings.", Group.MOVE, places=_PROJECTS,
           elsewhere=_ONLY_FOLDED),
    Action("jump", ("f",), "jump", "Show a letter beside every row in sight; type it to go there.", Group.MOVE),
    Action("previous_visit", ("[", "backspace"), "back to", "The thing you were at before.", Group.MOVE,
           reason=reasons.why_no_way_back),
    Action("next_visit", ("]",), "forward to", "Forward again.", Group.MOVE, reason=reasons.why_no_way_forward),
    Action("projects", ("1",), "projects", "Go to the projects.", Group.MOVE),
    Action("catalog", ("2",), "catalog", "Go to the catalog.", Group.MOVE),
    Action("packs", ("3",), "asset packs", "Go to the asset packs.", Group.MOVE),
    Action("jobs", ("4",), "jobs", "Go to the jobs.", Group.MOVE),
    Action("next", ("tab",), "next pane", "Next pane.", Group.MOVE),
    Action("previous", ("shift+tab",), "previous pane", "Previous pane.", Group.MOVE),
    *PAGES,
    Action("palette", ("ctrl+p",), "commands", "Find any action by its name.", Group.APP, footer=40),
    Action("help", ("?",), "help", "The keys that work here.", Group.APP, footer=41),
    Action("quit", ("q",), "quit", "Leave. Jobs go on without the app.", Group.APP, footer=42),
    Action("close", ("escape",), "close", "Leave the dialog without doing anything.", Group.DIALOGS, places=_DIALOG),
    Action("push_unsent", ("u",), "push", "Push what would be lost with this box, once it was listed and agreed to.",
           Group.DIALOGS, Danger.CHANGES, _DIALOG),
    Action("copy_dialog", ("y",), "copy", "Copy what the dialog shows.", Group.DIALOGS, places=_DIALOG),
)  # fmt: skip
"""In the order in which help and docs name them."""


def keyed(app: object, actions: Iterable[Action]) -> tuple[Action, ...]:
    """Actions with the keys they have in an app, the user's own where there are any; their help names those too."""
    own: Mapping[str, tuple[str, ...]] = getattr(app, "own_keys", {})
    shown = {action_id: key_label(keys[0]) for action_id, keys in own.items()}
    return tuple(_keyed(action, own, shown) for action in actions)


def _keyed(action: Action, own: Mapping[str, tuple[str, ...]], shown: Mapping[str, str]) -> Action:
    if action.id not in own and "{" not in action.help:
        return action
    return replace(action, keys=own.get(action.id, action.keys), help=with_keys(action.help, shown))


def key_of(app: object, action_id: str) -> str:
    """The first key of an action in an app, as people write it."""
    (action,) = keyed(app, (BY_ID[action_id],))
    return key_label(action.keys[0]) if action.keys else ""


BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}


def bindings(actions: Iterable[Action] = ACTIONS) -> list[Binding]:
    """The bindings of the main screen."""
    return bindings_of(action for action in actions if action.keys and Place.DIALOG not in action.places)


def dialog_binding(action_id: str, method: str) -> Binding:
    """The binding of an action of dialogs to a method of one."""
    action = BY_ID[action_id]
    return Binding(",".join(action.keys), method, action.label, id=action.id, show=False)
