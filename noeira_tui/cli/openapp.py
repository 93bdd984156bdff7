"""Opening the app: no command library and no output module on the way, it must be on the screen at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from noeira_tui.core.errors import ConfigError, NoeiraError
from noeira_tui.core.settings import Settings


def open_app(*, read_only: bool = False, root: Path | None = None, env_file: Path | None = None) -> int:
    """Open the app, and end the process with it; wrong settings or no terminal are said on stderr, exit code 2."""
    try:
        _need_terminal()
        settings = Settings.load(root=root, env_file=env_file)
        from noeira_tui.tui import start

        leave(start.open_app(settings, read_only=read_only))
    except NoeiraError as err:
        from noeira_tui.cli.output import Output

        Output().error(err)
        return 2


def leave(code: int) -> NoReturn:
    """End this process at once, with the terminal put back already.

    Taking the interpreter apart piece by piece would take as long as half of starting it, with nothing to gain: the
    app's threads are daemons, and what goes on is in processes of its own.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _need_terminal() -> None:
    from noeira_tui.tui.terminal import is_page

    if is_page():
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(
            "The app needs a terminal, and this is none.",
            title="No terminal",
            hint="`noeira-tui status` prints what the app would show; `noeira-tui --help` lists the commands.",
        )
    if os.environ.get("TERM", "") in {"", "dumb", "unknown"}:
        raise ConfigError(
            f"The terminal type is {os.environ.get('TERM', '') or 'not set'} (TERM), which cannot show the app.",
            title="No usable terminal",
            hint="Set TERM, for instance to xterm-256color, or use `noeira-tui status`.",
        )
