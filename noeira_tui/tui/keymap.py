"""The user's own keys: the table `[keys]` of the settings file, an action's id and its keys.

```toml
[keys]
pull = "f5"
down = ["down", "n"]
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from noeira_tui.core.errors import ConfigError
from noeira_tui.tui.action import Action, Group, key_label
from noeira_tui.tui.actions import ACTIONS
from noeira_tui.tui.inspector_actions import INSPECTOR
from noeira_tui.tui.quality_actions import QUALITY

Given = Mapping[str, str | tuple[str, ...]]
"""Ids of actions and keys, as they stand in the file."""

_NAMED = frozenset(
    ("escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown")
) | {"up", "down", "left", "right"}
_MODIFIERS = r"(?:(?:ctrl|shift|alt|meta|super|hyper)\+)*"
_SPELLED = {"esc": "escape", "pgup": "pageup", "pgdn": "pagedown", "del": "delete", "return": "enter"}


def read_keys(config_file: Path) -> Given:
    """The table in the settings file; empty without one. Raises ConfigError for a damaged file."""
    from noeira_tui.core.settingsfile import read_settings_table

    return read_settings_table(config_file, "keys")


def own_keys(given: Given, place: str) -> dict[str, tuple[str, ...]]:
    """The user's keys by actions' ids, each by the library's name for it.

    Raises ConfigError, naming `place`, for an id that no action has, for what is no key, and where two actions of one
    list, or of dialogs, or of the inspector would have the same key.
    """
    actions = (*ACTIONS, *INSPECTOR, *QUALITY)
    known = {action.id for action in actions}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ConfigError(f"{place}: there is no action {unknown[0]!r} for a key.", hint=_near(unknown[0], known))
    own = {action_id: _keys(told, action_id, place) for action_id, told in given.items()}
    _refuse_clashes(actions, own, place)
    return own


def _near(unknown: str, known: set[str]) -> str:
    """The ids that may have been meant; without any, those of the main screen: all of them would fill a terminal."""
    from difflib import get_close_matches

    near = get_close_matches(unknown, sorted(known), 3)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Such as {', '.join(action.id for action in ACTIONS[:12])}; docs/keys.md has all of them."


def _keys(told: str | tuple[str, ...], action_id: str, place: str) -> tuple[str, ...]:
    texts = (told,) if isinstance(told, str) else told
    if not texts:
        raise ConfigError(f"{place}: keys.{action_id} has no key.", hint='Write it like "f5" or ["p", "f5"].')
    return tuple(_key(text.strip(), action_id, place) for text in texts)


def _key(text: str, action_id: str, place: str) -> str:
    """A key by the library's name: `f5`, `ctrl+k`, `question_mark`."""
    from textual.keys import _character_to_key

    modifiers, rest = re.fullmatch(f"({_MODIFIERS})(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    lowered = rest.lower() if len(rest) > 1 else rest
    name = _SPELLED.get(lowered, lowered)
    if "ctrl+" in modifiers:
        # A terminal does not tell ctrl+h from ctrl+H.
        name = name.lower()
    if len(name) == 1 and name.isprintable() and name != " ":
        name = _character_to_key(name)
    elif not (name in _NAMED or re.fullmatch("f([1-9]|1[0-9]|2[0-4])", name)):
        raise ConfigError(
            f"{place}: {text!r} is no key (keys.{action_id}).",
            hint="A key is a character, f1 to f24, or one such as enter, space, pageup; ctrl+, shift+ or alt+ before.",
        )
    return modifiers + name


def _refuse_clashes(actions: tuple[Action, ...], own: Mapping[str, tuple[str, ...]], place: str) -> None:
    holders: dict[tuple[object, str], Action] = {}
    for action in actions:
        for where in action.places:
            domain = action.group if action.group in {Group.INSPECTOR, Group.QUALITY} else where
            for key in map(_plain, own.get(action.id, action.keys)):
                other = holders.setdefault((domain, key), action)
                if other is not action and {other.id, action.id} & own.keys():
                    raise ConfigError(
                        f"{place}: {key_label(key)} would be both {other.label} ({other.id}) and {action.label} "
                        f"({action.id}).",
                        hint=f"Give {action.id} or {other.id} another key in [keys] as well.",
                    )


def _plain(key: str) -> str:
    """Our own tables write `?`, the library calls it `question_mark`."""
    from textual.keys import _character_to_key

    return _character_to_key(key) if len(key) == 1 else key
