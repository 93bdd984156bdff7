"""`demo`: embedded service and sample data, then the app."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.cli.serve import DataDir
from noeira_tui.core.paths import absolute
from noeira_tui.core.settings import STATE

if TYPE_CHECKING:
    from noeira_tui.demo.run import DemoReady


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo")(demo)


def demo(
    cli: Cli,
    no_app: Annotated[bool, typer.Option("--no-app", help="Print the settings and stay in the foreground.")] = False,
    data_dir: DataDir = None,
) -> int:
    """Embedded service and sample data made on the spot, then the app; all of it in one folder that goes when it ends.

    With --data-dir the folder is kept and the next start is quick. Example: noeira-tui demo --no-app
    """
    with needs_extra("demo", "The demo"):
        from noeira_tui.demo.linger import until_jobs_end
        from noeira_tui.demo.run import run_demo

    folder = None if data_dir is None else absolute(data_dir, Path.cwd())
    stop, hung_up = threading.Event(), threading.Event()
    ended_by: list[int] = []

    def on_signal(signum: int, frame: FrameType | None) -> None:
        ended_by.append(signum)
        if signum == signal.SIGHUP and not no_app:
            hung_up.set()
        else:
            stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)

    def ready(facts: DemoReady) -> None:
        if no_app:
            for line in facts.lines:
                sys.stdout.write(line + "\n")
            sys.stdout.flush()
            cli.output.say("ready; Ctrl-C ends the demo")
        else:
            _open_app(facts, stop, hung_up)
            # Nobody looks any more, however long what was begun there still takes.
            facts.end_recording()
            if folder is not None:
                # What was begun in the app goes on without it, as everywhere; here the service must stay for that.
                until_jobs_end(Path(facts.environment[STATE]), stop, lambda text: _tell(cli, text))
            stop.set()

    run_demo(folder, ready, stop)
    if no_app and ended_by:
        return 128 + ended_by[-1]
    return 0


def _tell(cli: Cli, text: str) -> None:
    with suppress(OSError):
        # The terminal may be gone.
        cli.output.say(f"demo: {text}")


def _open_app(facts: DemoReady, stop: threading.Event, hung_up: threading.Event) -> None:
    """Have the app open in a process of its own, with the demo's settings, until it or the demo is to end."""
    import subprocess

    environment = {**os.environ, **facts.environment}
    child = subprocess.Popen([sys.executable, "-m", "noeira_tui"], env=environment, cwd=environment["NOEIRA_ROOT"])
    while child.poll() is None and not stop.is_set() and not hung_up.is_set():
        try:
            child.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
    if child.poll() is None:
        child.terminate()
        child.wait()
