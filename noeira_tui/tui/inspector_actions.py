"""The actions of the inspector: its bindings, footer, palette, help and the key table read this, as for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from noeira_tui.tui.action import Action, Danger, Group, Situation, reason_on
from noeira_tui.tui.rows import Place


class Section(StrEnum):
    """The parts of the inspector, in the order of their keys."""

    SUMMARY = "summary"
    FEATURES = "features"
    EPISODES = "episodes"
    TASKS = "tasks"
    PROBLEMS = "problems"
    STATISTICS = "statistics"
    LENGTHS = "lengths"


@dataclass(frozen=True)
class Inspecting(Situation):
    """What an inspector's action depends on. `dimensions` counts those of the plots; `failed` tells that something
    shown in this section could not be read."""

    section: Section = Section.SUMMARY
    known: bool = False
    episodes: int | None = None
    plotted: bool = False
    dimensions: int = 0
    cameras: int = 0
    frame_shown: bool = False
    reading: bool = False
    checking: bool = False
    checked: bool = False
    failed: bool = False
    reject_refusal: str | None = None
    undoable: int = 0
    ingest_refusal: str | None = None


def _in_episodes(now: Inspecting) -> str | None:
    if now.section is not Section.EPISODES:
        return f"This works on episodes: press {now.key('inspector_episodes')}."
    if now.episodes is None:
        return "The episode table was not read yet."
    return None if now.episodes else "There are no episodes to look at."


def _on_plot(now: Inspecting) -> str | None:
    return _in_episodes(now) or (None if now.plotted else "No episode is plotted yet.")


def _on_dimensions(now: Inspecting) -> str | None:
    return _on_plot(now) or (None if now.dimensions else "The episode has no state and no action.")


def _on_camera(now: Inspecting) -> str | None:
    return _in_episodes(now) or (None if now.cameras else "The dataset has no cameras.")


def _on_frame(now: Inspecting) -> str | None:
    return _on_camera(now) or (
        None if now.frame_shown else f"No frame is shown: {now.key('inspector_frame')} shows it."
    )


def _other_camera(now: Inspecting) -> str | None:
    if reason := _on_frame(now):
        return reason
    return None if now.cameras > 1 else "There is only one camera."


def _may_check(now: Inspecting) -> str | None:
    if not now.known:
        return "Nothing is known of the dataset yet."
    if now.checking:
        return f"It is being looked at already: {now.key('inspector_stop')} stops that."
    return "Rows and videos were looked at already." if now.checked else None


def _may_stop(now: Inspecting) -> str | None:
    return None if now.reading else "Nothing is being read."


def _may_reject(now: Inspecting) -> str | None:
    return _in_episodes(now) or now.reject_refusal


def _may_undo(now: Inspecting) -> str | None:
    return None if now.undoable else "Nothing was rejected since the app was opened."


def _may_ingest(now: Inspecting) -> str | None:
    return now.ingest_refusal


_HERE = frozenset({Place.DIALOG})
_IN = Group.INSPECTOR


def _action(
    name: str,
    keys: tuple[str, ...],
    label: str,
    help: str,
    reason: Callable[[Inspecting], str | None] | None = None,
    footer: int | None = None,
    danger: Danger = Danger.NONE,
) -> Action:
    told = None if reason is None else reason_on(Inspecting, reason, "This works in the inspector.")
    return Action(f"inspector_{name}", keys, label, help, _IN, danger, places=_HERE, reason=told, footer=footer)


INSPECTOR: tuple[Action, ...] = (
    _action("zoom", ("enter",), "plots", "The episode's plots alone, or beside the list again.", _in_episodes, 8),
    _action("left", ("left", "h"), "earlier", "Move the cursor in time back; values and frame follow.", _on_plot),
    _action("right", ("right", "l"), "later", "Move the cursor in time on; values and frame follow.", _on_plot),
    _action("far_left", ("shift+left", "H"), "much earlier", "Back by a tenth of the episode.", _on_plot),
    _action("far_right", ("shift+right", "L"), "much later", "On by a tenth of the episode.", _on_plot),
    _action("one_left", (",",), "one frame back", "Exactly one frame back.", _on_plot),
    _action("one_right", (".",), "one frame on", "Exactly one frame on.", _on_plot),
    _action("dimension", ("d",), "dimension", "Plot one dimension after the other, then all again.", _on_dimensions,
            12),
    _action("dimension_back", ("D",), "dimension back", "The dimension before.", _on_dimensions),
    _action("dimensions", ("a",), "all dimensions", "Plot all dimensions.", _on_dimensions),
    _action("which", ("s",), "state/action", "Plot state and action, only the state, or only the action.",
            _on_dimensions, 13),
    _action("frame", ("f",), "frame", "Show what a camera saw at the cursor, or hide it.", _on_camera, 11),
    _action("camera", ("c",), "camera", "The next camera.", _other_camera, 14),
    _action("camera_back", ("C",), "camera back", "The camera before.", _other_camera),
    _action("drawing", ("m",), "drawing", "Draw the frame in another way: as half blocks, as letters, or by a graphics "
            "protocol, which not every terminal tells that it has.", _on_frame),
    _action("about", ("b",), "about", "What the dataset tells of the episode: tasks, files, problems, quality.",
            _in_episodes, 15),
    _action("mark", ("space",), "mark", "Mark the episode; {inspector_reject} then works on all marked ones.",
            _in_episodes, 17),
    _action("reject", ("X",), "reject", "Write the episode, or all marked ones, into meta/rejected_episodes.json: "
            "kept, and not trained on. When all of them are rejected, take that back.", _may_reject, 18,
            Danger.CHANGES),
    _action("undo", ("u",), "undo", "Take back the last change of rejected episodes.", _may_undo,
            danger=Danger.CHANGES),
    _action("ingest", ("g",), "ingest", "Register and score every episode of it, without the videos; {quality} on the "
            "main screen shows how they do.", _may_ingest, 19, Danger.CHANGES),
    _action("go", ("/",), "go to", "Go to an episode by its number.", _in_episodes, 16),
    _action("check", ("V",), "check deeply", "Compare the rows and the frames of the mp4s with the episode table, by "
            "ranges.", _may_check, 20),
    _action("stop", ("x",), "stop", "Stop what is being read.", _may_stop, 21),
    _action("again", ("r",), "read again", "Read again what failed, else all of it: a recording may have grown.",
            footer=22),
    _action("copy", ("y",), "copy", "Copy the address, an error, or the problems.", footer=23),
    _action("down", ("down", "j"), "down", "Next row."),
    _action("up", ("up", "k"), "up", "Previous row."),
    _action("top", ("home", "<"), "top", "First row."),
    _action("bottom", ("end", "G"), "bottom", "Last row."),
    _action("page_down", ("pagedown", "ctrl+d"), "page down", "One page on."),
    _action("page_up", ("pageup", "ctrl+u"), "page up", "One page back."),
    *(
        _action(section.value, (str(number),), section.value, f"The inspector's {section.value}.")
        for number, section in enumerate(Section, 1)
    ),
    _action("next", ("tab",), "section", "Next section.", footer=9),
    _action("previous", ("shift+tab",), "previous section", "Previous section."),
    _action("close", ("escape",), "back", "Back: from the zoom, then from the inspector.", footer=30),
    _action("palette", ("ctrl+p",), "commands", "Find any action of the inspector by its name.", footer=40),
    _action("help", ("?",), "help", "The keys that work here.", footer=41),
    _action("quit", ("q",), "quit", "Leave the app. Jobs go on without it.", footer=42),
)  # fmt: skip

ON_EPISODES = frozenset(
    f"inspector_{name}" for name in ("zoom", "frame", "dimension", "which", "camera", "about", "go", "mark", "reject")
)
"""Actions that only work on episodes."""

BY_ID: dict[str, Action] = {action.id: action for action in INSPECTOR}
