"""The actions that open screens of their own: what `Pages` does.

Apart from the other actions, because each comes and goes with its screen.
"""

from __future__ import annotations

from noeira_tui.tui.action import Action

PAGES: tuple[Action, ...] = ()
