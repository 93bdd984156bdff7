"""The page of keys in the docs, made of the registry: `python -m noeira_tui.tui.keydocs > docs/keys.md`."""

from __future__ import annotations

import sys

from noeira_tui.tui.action import Danger, Group, key_label
from noeira_tui.tui.actions import ACTIONS
from noeira_tui.tui.inspector_actions import INSPECTOR
from noeira_tui.tui.keys import with_keys
from noeira_tui.tui.quality_actions import QUALITY

_HEAD = """# Keys

`?` in the app shows the keys that work where you are, and why one does not work right now; `ctrl+p` finds any by
its name. With `--read-only` the app leaves out whatever is marked ▲.

A filter (`/`) takes several terms, and a row stays when every one holds: a word of its name or state (`walker`,
`stale`), `!current` for all that is not, sizes such as `>1GB` and `<10MB`.

## Keys of your own

The settings file (`noeira-tui/config.toml`) may give any action other keys, by its id in the tables below. They show in
the footer, the help and the palette. An id that is none, a key that is none, or one key for two actions of one list is
said when the app opens.

```toml
[keys]
pull = "f5"
down = ["down", "n"]
```
"""


def keys_page() -> str:
    """The page as Markdown: a table for every group of actions."""
    parts = [_HEAD]
    for group in Group:
        found = [action for action in (*ACTIONS, *INSPECTOR, *QUALITY) if action.group is group]
        if not found:
            continue
        lines = [f"## {group.value}", "", "| key | id | action | what it does |", "|---|---|---|---|"]
        for action in found:
            keys = " ".join(f"`{key_label(key)}`" for key in action.keys) or "`^p`, by name"
            danger = "" if action.danger is Danger.NONE else "▲ "
            lines.append(f"| {keys} | `{action.id}` | {action.label} | {danger}{with_keys(action.help, {})} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(keys_page())
