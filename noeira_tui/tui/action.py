"""What an action of the app is: an id, keys, words, its danger, and why it cannot be used right now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from textual.binding import Binding

from noeira_tui.tui.keys import shown_key, with_keys
from noeira_tui.tui.rows import Place, Row

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord


class Danger(StrEnum):
    """What an action can do to somebody's data; `--read-only` allows only the harmless ones."""

    NONE = "none"
    CHANGES = "changes"
    OVERWRITES = "overwrites"
    REMOVES = "removes"


class Group(StrEnum):
    """Headings of the help."""

    DATA = "Data"
    LISTS = "Lists"
    MOVE = "Move"
    APP = "App"
    DIALOGS = "In dialogs"
    INSPECTOR = "In the inspector"
    QUALITY = "In the quality screen"


LISTS = frozenset({Place.PROJECTS, Place.CATALOG, Place.PACKS, Place.JOBS})
"""Everywhere on the main screen."""


@dataclass(frozen=True)
class Situation:
    """What an action's reason depends on.

    `job` is the job under the cursor, or the newest one of the thing under it. The refusals are what the box said of
    the highlighted thing, None when it has nothing against it or was not asked yet. `packs_to_fetch` counts packs that
    are declared and not whole here; `doing` is what the app itself does beside what it shows, such as `verifying`, and
    `does_it_here` tells that it was begun in this list. `can_go_back` and `can_go_forward` are of what was visited.
    `own_keys` are the user's, by actions' ids, as people write them. `is_watched` tells that a watch mirrors all that
    is marked, or what is highlighted.
    """

    place: Place
    row: Row | None = None
    marked: int = 0
    is_watched: bool = False
    job: JobRecord | None = None
    read_only: bool = False
    pull_refusal: str | None = None
    push_refusal: str | None = None
    watch_refusal: str | None = None
    verify_refusal: str | None = None
    packs_to_fetch: int = 0
    free_refusal: str | None = None
    doing: str = ""
    does_it_here: bool = False
    can_go_back: bool = False
    can_go_forward: bool = False
    own_keys: Mapping[str, str] = field(default_factory=dict, hash=False)

    def key(self, action_id: str) -> str:
        """The key of an action, as a reason names it."""
        return shown_key(action_id, self.own_keys)


Reason = Callable[[Situation], str | None]
S = TypeVar("S", bound=Situation)


@dataclass(frozen=True)
class Action:
    """One thing a user can do. `footer` orders it in the footer, None when it is not shown there.

    `help` and `elsewhere` name other actions' keys by their ids in braces.
    `harmless` tells when even a read-only app may do what is a danger otherwise, `label_now` what an action that turns
    something on and off does now; None where that is what `label` says.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: Group
    danger: Danger = Danger.NONE
    places: frozenset[Place] = LISTS
    elsewhere: str = ""
    reason: Reason | None = None
    footer: int | None = None
    harmless: Callable[[Situation], bool] | None = None
    label_now: Reason | None = None

    def why_not(self, situation: Situation) -> str | None:
        """None when it can be used now, else why not, in words."""
        spared = self.harmless is not None and self.harmless(situation)
        if situation.read_only and self.danger is not Danger.NONE and not spared:
            return "This app was opened read-only."
        if situation.place not in self.places:
            return with_keys(self.elsewhere, situation.own_keys)
        return self.reason(situation) if self.reason is not None else None

    def label_in(self, situation: Situation) -> str:
        """What it does in a situation, in a word or two."""
        return (self.label_now(situation) if self.label_now is not None else None) or self.label

    @property
    def shown_keys(self) -> str:
        """Its keys as people write them."""
        return " ".join(key_label(key) for key in self.keys)


def reason_on(kind: type[S], why_not: Callable[[S], str | None], elsewhere: str) -> Reason:
    """A reason that looks at one page's situation; on any other screen it is `elsewhere`."""

    def reason(now: Situation) -> str | None:
        return why_not(now) if isinstance(now, kind) else elsewhere

    return reason


def bindings_of(actions: Iterable[Action]) -> list[Binding]:
    """The bindings of actions to the screen's `act`. All stay active: a disabled action answers with its reason."""
    return [
        Binding(",".join(_bound_keys(action.keys)), f"act('{action.id}')", action.label, id=action.id, show=False)
        for action in actions
    ]


def _bound_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Keys as a binding has them: a comma separates them there, so the key itself goes by its name."""
    names = {",": "comma", ".": "full_stop", "/": "slash", "?": "question_mark"}
    return tuple(dict.fromkeys(names.get(key, key) for key in keys))


_KEY_LABELS = {
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "delete": "del",
    "comma": ",",
    "slash": "/",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def key_label(key: str) -> str:
    """A key as people write it: `^p`, `esc`, `shift+tab`."""
    return _KEY_LABELS.get(key, key.replace("ctrl+", "^"))
