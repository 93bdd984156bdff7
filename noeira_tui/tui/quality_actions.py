"""The actions of the quality screen: its bindings, footer, palette, help and the key table read this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from noeira_tui.tui.action import Action, Danger, Group, Situation, reason_on
from noeira_tui.tui.rows import Place


@dataclass(frozen=True)
class Judging(Situation):
    """What an action of the quality screen depends on. `on_flags` tells that the keyboard is in the list of flags;
    `shown` counts the episodes that the filter keeps; `reject_refusal` is why the highlighted or marked ones cannot be
    rejected; `undoable` counts what can be taken back."""

    on_flags: bool = False
    known: bool = False
    reading: bool = False
    shown: int = 0
    flags: int = 0
    reject_refusal: str | None = None
    undoable: int = 0
    ingest_refusal: str | None = None


def _on_row(now: Judging) -> str | None:
    if not now.known and now.reading:
        return "The catalog is being read."
    if not now.known:
        return (
            f"No catalog of episodes is open: {now.key('quality_ingest')} ingests a dataset, "
            f"{now.key('quality_place')} opens another catalog."
        )
    return None if now.shown else f"No episode is shown: {now.key('quality_close')} clears the filter."


def _when_known(now: Judging) -> str | None:
    return None if now.known else _on_row(now)


def _may_open(now: Judging) -> str | None:
    if now.on_flags:
        return None if now.flags else "No episode has a flag."
    return _on_row(now)


def _may_reject(now: Judging) -> str | None:
    return _on_row(now) or now.reject_refusal


def _may_undo(now: Judging) -> str | None:
    return None if now.undoable else "Nothing was rejected since the app was opened."


def _may_ingest(now: Judging) -> str | None:
    return now.ingest_refusal


_HERE = frozenset({Place.DIALOG})


def _action(
    name: str,
    keys: tuple[str, ...],
    label: str,
    help: str,
    reason: Callable[[Judging], str | None] | None = None,
    footer: int | None = None,
    danger: Danger = Danger.NONE,
) -> Action:
    told = None if reason is None else reason_on(Judging, reason, "This works in the quality screen.")
    return Action(f"quality_{name}", keys, label, help, Group.QUALITY, danger, places=_HERE, reason=told, footer=footer)


QUALITY: tuple[Action, ...] = (
    _action("open", ("enter",), "inspect", "Open the episode in the inspector; on a flag, show only who has it.",
            _may_open, 8),
    _action("next", ("tab",), "flags", "The episodes, the flags, the details, in turn.", footer=17),
    _action("previous", ("shift+tab",), "flags back", "The same backwards."),
    _action("mark", ("space",), "mark", "Mark the episode; {quality_reject} then works on all marked ones.", _on_row,
            9),
    _action("mark_all", ("a",), "mark all", "Mark all episodes that are shown, or none of them.", _on_row),
    _action("reject", ("X",), "reject", "Write the episode, or all marked ones, into its recording's "
            "meta/rejected_episodes.json: kept, and not trained on. When all of them are rejected, take that back.",
            _may_reject, 12, Danger.CHANGES),
    _action("undo", ("u",), "undo", "Take back the last change of rejected episodes.", _may_undo, 16, Danger.CHANGES),
    _action("ingest", ("g",), "ingest", "Ingest a dataset into this catalog: type or paste its address.", _may_ingest,
            15, Danger.CHANGES),
    _action("filter", ("/",), "filter", "Show only some: words, flags, rejected, marked; !jerky leaves out, score<5 "
            "and ldlj<-25 compare.", _when_known, 10),
    _action("sort", ("s",), "sort", "By score, length or any metric, the worst first.", _when_known, 13),
    _action("turn", ("S",), "other end first", "The best first, or the worst.", _when_known),
    _action("details", ("d",), "details", "Every metric of the episode and the reason for each flag.", _on_row, 11),
    _action("place", ("o",), "open catalog", "Look at another catalog of episodes: a folder or a bucket's address."),
    _action("refresh", ("R", "ctrl+r"), "refresh", "Read the catalog again."),
    _action("copy", ("y",), "copy", "Copy where the episode is, its score and flags; of marked ones, a line each.",
            _on_row),
    _action("down", ("down", "j"), "down", "Next row."),
    _action("up", ("up", "k"), "up", "Previous row."),
    _action("top", ("home", "<"), "top", "First row."),
    _action("bottom", ("end", "G"), "bottom", "Last row."),
    _action("page_down", ("pagedown", "ctrl+d"), "page down", "One page on."),
    _action("page_up", ("pageup", "ctrl+u"), "page up", "One page back."),
    _action("close", ("escape",), "back", "Back: from the details, the filter, the flag, the marks, then from here.",
            footer=30),
    _action("palette", ("ctrl+p",), "commands", "Find any action of this screen by its name.", footer=40),
    _action("help", ("?",), "help", "The keys that work here.", footer=41),
    _action("quit", ("q",), "quit", "Leave the app. Jobs go on without it.", footer=42),
)  # fmt: skip

BY_ID: dict[str, Action] = {action.id: action for action in QUALITY}
