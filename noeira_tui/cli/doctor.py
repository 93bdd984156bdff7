"""`doctor`: settings, service, store, disk and terminal, each with what to do."""

from __future__ import annotations

from dataclasses import asdict

import typer

from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import paint


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor")(doctor)


def doctor(cli: Cli) -> int:
    """Look at settings and where each came from, keys (masked), service, clock, object store, disk and terminal.

    Example: noeira-tui doctor --json
    """
    import sys

    from noeira_tui.overview.doctor import examine

    checks = []
    for check in examine(cli.settings):
        checks.append(check)
        if not cli.output.json:
            mark = paint("ok  ", "32", sys.stdout) if check.ok else paint("FAIL", "31;1", sys.stdout)
            cli.output.line(f"{mark}  {check.check:22} {literal(check.detail)}")
            if check.hint:
                cli.output.line(f"{'':28} {literal(check.hint)}")
    if cli.output.json:
        cli.output.data([asdict(check) for check in checks])
    return 0 if all(check.ok for check in checks) else 1
