"""How long the app takes to its first paint, the whole process, beside an empty Textual app.

    python -m benchmarks.startup [--rounds 11] [--imports]

Both run in a pseudo-terminal, in turn, and are killed at their first paint; so time and processor time end there. On a
busy machine the processor time tells more. `--imports` lists what the app imports beyond the empty one, dearest first.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import REPOSITORY

GOAL = 1.6
DEADLINE_S = 60.0
EMPTY = "from textual.app import App; App().run()"
ASKS_FOR_MODE = b"\x1b[?1049h"


@dataclass(frozen=True)
class Paint:
    """What it took to the first paint, in seconds."""

    elapsed_s: float
    processor_s: float


@dataclass(frozen=True)
class Contender:
    """A program, and what the terminal gets when its first picture is painted."""

    name: str
    command: tuple[str, ...]
    painted: bytes


EMPTY_APP = Contender("an empty Textual app", (sys.executable, "-c", EMPTY), b"48;2;")
OURS = Contender("noeira-tui", (sys.executable, "-m", "noeira_tui"), b"Catalog")


def first_paint(contender: Contender, folder: Path) -> Paint:
    """Run it in a terminal of its own until it has painted. Raises RuntimeError when it does not."""
    began = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        os.chdir(folder)
        os.execve(contender.command[0], contender.command, environment(folder))
    try:
        seen = b""
        while contender.painted not in seen.partition(ASKS_FOR_MODE)[2]:
            if time.perf_counter() - began > DEADLINE_S or not select.select([fd], [], [], DEADLINE_S)[0]:
                raise RuntimeError(f"{contender.name} never painted: {seen[-300:]!r}")
            seen += os.read(fd, 65536)
        elapsed_s = time.perf_counter() - began
    finally:
        os.kill(pid, signal.SIGKILL)
        _, _, used = os.wait4(pid, 0)
        os.close(fd)
    return Paint(elapsed_s, used.ru_utime + used.ru_stime)


def environment(folder: Path) -> Mapping[str, str]:
    """Nothing of the user's: no settings, no service, so that both only paint."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOEIRA_", "SSH_"))}
    kept = {name: value for name, value in kept.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(folder), "NOEIRA_LOCAL_ONLY": "yes", "TERM": "xterm-256color", "COLORTERM": "truecolor",
            "PYTHONPATH": str(REPOSITORY)}  # fmt: skip


def imports(folder: Path) -> None:
    """What the app imports that the empty one does not, with the time that each took by itself."""
    listed = [_imported(one, folder) for one in (EMPTY_APP, OURS)]
    extra = {name: own_us for name, own_us in listed[1].items() if name not in listed[0]}
    print(f"{len(extra)} modules more, {sum(extra.values()) / 1000:.0f} ms")
    for name, own_us in sorted(extra.items(), key=lambda one: -one[1])[:30]:
        print(f"{own_us / 1000:8.1f} ms  {name}")


def _imported(contender: Contender, folder: Path) -> dict[str, int]:
    # Made but not run: the list goes to stderr, which is the app's terminal.
    made = "from noeira_tui.tui.start import open_app; from noeira_tui.tui.app import make_app; make_app(None)"
    code = made if contender is OURS else EMPTY.removesuffix(".run()")
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        check=True, stderr=subprocess.PIPE, text=True, env=dict(environment(folder)), cwd=folder,
    ).stderr  # fmt: skip
    found = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", told)
    return {name: int(own_us) for own_us, name in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="runs of each, of which the median counts")
    parser.add_argument("--imports", action="store_true", help="list the app's own imports instead")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noeira-startup-") as name:
        folder = Path(name)
        if chosen.imports:
            imports(folder)
            return
        sides = (EMPTY_APP, OURS)
        for side in sides:
            first_paint(side, folder)  # byte code and page cache
        pairs = [tuple(first_paint(side, folder) for side in sides) for _ in range(chosen.rounds)]
        for number, side in enumerate(sides):
            elapsed = statistics.median(pair[number].elapsed_s for pair in pairs)
            used = statistics.median(pair[number].processor_s for pair in pairs)
            print(f"{side.name:24} {elapsed * 1000:5.0f} ms to the first paint, {used * 1000:5.0f} ms of a core")
        for what, ratio in (
            ("time", statistics.median(ours.elapsed_s / empty.elapsed_s for empty, ours in pairs)),
            ("processor time", statistics.median(ours.processor_s / empty.processor_s for empty, ours in pairs)),
        ):
            print(f"first paint, {what}: {ratio:.2f}x an empty Textual app (goal: at most {GOAL}x)")


if __name__ == "__main__":
    main()
