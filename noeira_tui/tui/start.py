"""Opening the app on this box, as fast as it goes."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.core.settings import Settings


def open_app(settings: Settings, *, read_only: bool = False) -> int:
    """Run the app on this box until it is left; returns the exit code (see `noeira_tui.tui.app.run`).

    Raises ConfigError for keys in the settings file that cannot be had. What the box itself needs is imported after the
    first paint. The garbage collector rests until then: nothing that is made while starting is garbage, and looking for
    it takes a tenth of the time.
    """
    gc.disable()
    from noeira_tui.core.paths import is_file
    from noeira_tui.core.settings import LOCAL_ONLY, THEME, URL
    from noeira_tui.core.settingspecs import is_on
    from noeira_tui.tui.app import run
    from noeira_tui.tui.lazy_box import LazyBox

    keys = None
    if is_file(settings.config_file):
        from noeira_tui.tui.keymap import own_keys, read_keys

        given = read_keys(settings.config_file)
        keys = own_keys(given, str(settings.config_file)) if given else None
    is_wanted = not is_on(settings.get(LOCAL_ONLY) or "no")
    asks = is_wanted and settings.get(URL) is None
    return run(LazyBox(settings), read_only=read_only, theme=settings.get(THEME), asks_for_service=asks, keys=keys)
