"""The demo's two child processes: the embedded service and the recorder. Both end when the demo does."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from noeira_tui.core.dotenv import parse_dotenv
from noeira_tui.core.errors import StateError
from noeira_tui.core.settings import API_KEY, URL
from noeira_tui.demo.tether import tethered

_READY_WITHIN_S = 90.0
_END_WITHIN_S = 15.0
_BEGIN = "--- the demo starts the service ---\n"


@contextmanager
def service(
    folder: Path, log: Path, stop: threading.Event
) -> Iterator[tuple[Mapping[str, str], subprocess.Popen[str]] | None]:
    """Run the embedded service on a free loopback port; gives its two settings and its process.

    Gives None when `stop` is set before it is ready. Raises StateError, with what the service said, when it does not
    come up.
    """
    command = [sys.executable, "-m", "noeira_tui", "serve", "--host", "127.0.0.1", "--port", "0"]
    with log.open("a") as said:
        said.write(_BEGIN)
        said.flush()
        # A session of its own: Ctrl-C in the terminal reaches the demo, which then ends it in order.
        process = subprocess.Popen(
            tethered([*command, "--data-dir", str(folder)]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,
            # Neither the user's settings nor a `.env` beside them have a say in the demo's own service.
            env=_environment(),
            cwd=folder.parent,
        )
        try:
            settings = _wait_until_ready(process, log, stop)
            yield None if settings is None else (settings, process)
        finally:
            end(process)


@contextmanager
def recorder(folder: Path, log: Path, every_s: float) -> Iterator[subprocess.Popen[bytes]]:
    """Run the background recorder on a recording's folder."""
    command = [sys.executable, "-m", "noeira_tui.demo.recorder", str(folder), "--every", str(every_s)]
    with log.open("ab") as said:
        process = subprocess.Popen(
            [*command, "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Ask a child to finish, and end it when it does not."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def died(what: str, process: subprocess.Popen[str], log: Path) -> StateError:
    """The error for a service that ended by itself, with its last words."""
    # The log of a kept folder holds former runs too.
    said = log.read_text(errors="replace").rpartition(_BEGIN)[2]
    words = said.strip().splitlines()[-6:]
    return StateError(
        f"{what} ended with exit code {process.wait()}: {' '.join(words) or 'it said nothing'}",
        title="Demo service",
        hint=f"All of its output is in {log}.",
    )


def _environment() -> dict[str, str]:
    """This process's environment without settings that belong to the user's own service."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NOEIRA_")}


def _wait_until_ready(process: subprocess.Popen[str], log: Path, stop: threading.Event) -> Mapping[str, str] | None:
    assert process.stdout is not None
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True, name="demo-service-output").start()
    deadline = time.monotonic() + _READY_WITHIN_S
    settings: dict[str, str] = {}
    while not {URL, API_KEY} <= settings.keys():
        if stop.is_set():
            return None
        if time.monotonic() > deadline:
            raise StateError(f"It gave no sign of life in {_READY_WITHIN_S:.0f} s; see {log}.", title="Demo service")
        try:
            line = lines.get(timeout=0.1)
        except queue.Empty:
            continue
        if line is None:
            raise died("The embedded service", process, log)
        settings.update(parse_dotenv(line, "the service's output") if "=" in line else {})
    return settings


def _read_lines(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Hand on every line, and None at the end; reading on keeps the service from ever blocking on a full pipe."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)
