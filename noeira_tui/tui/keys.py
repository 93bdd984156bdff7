"""What texts name keys by: the registry's, or the user's own. No text has a key in it; it names the action's id."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMED = re.compile(r"\{([a-z_]+)\}")


def shown_key(action_id: str, own_keys: Mapping[str, str]) -> str:
    """The first key of an action as people write it; `own_keys` are the user's, by actions' ids."""
    own = own_keys.get(action_id)
    if own is not None:
        return own
    from noeira_tui.tui import actions

    action = actions.BY_ID.get(action_id)
    if action is None:  # of a screen of its own, not for the first paint
        from noeira_tui.tui import inspector_actions, quality_actions

        action = inspector_actions.BY_ID.get(action_id) or quality_actions.BY_ID[action_id]
    return actions.key_label(action.keys[0])


def with_keys(text: str, own_keys: Mapping[str, str]) -> str:
    """A text of ours with the keys of the actions it names in braces: `press {packs}` becomes `press 3`."""
    return _NAMED.sub(lambda found: shown_key(found[1], own_keys), text) if "{" in text else text
