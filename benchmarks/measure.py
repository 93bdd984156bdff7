"""Timing commands in turn, so that all sides of a comparison meet the same moods of the machine."""

from __future__ import annotations

import atexit
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

Run = Callable[[], float]
"""Does the work once and returns the seconds it took; raises MissingToolError when a tool is not installed."""


class MissingToolError(Exception):
    """A tool to compare with is not installed."""


@dataclass(frozen=True)
class Side:
    """The medians of several runs of one tool; `seconds` is None when it is not installed.

    `processor_s` is the time that its processes had a core: the same on a busy machine as on an idle one.
    """

    name: str
    seconds: float | None
    runs: tuple[float, ...] = field(default=())
    processor_s: float | None = None


def compare(sides: Mapping[str, Run], rounds: int) -> dict[str, Side]:
    """Run all sides in turn, `rounds` times."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    used: dict[str, list[float]] = {name: [] for name in sides}
    missing: set[str] = set()
    for _ in range(rounds):
        for name, run in sides.items():
            if name in missing:
                continue
            before = _processor_s()
            try:
                taken[name].append(run())
            except MissingToolError:
                missing.add(name)
            else:
                used[name].append(_processor_s() - before)
    return {name: Side(name, _median(runs), tuple(runs), _median(used[name])) for name, runs in taken.items()}


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _processor_s() -> float:
    """What the processes that were waited for so far have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(*commands: list[str]) -> float:
    """The seconds that commands take one after the other. Raises MissingToolError; CalledProcessError."""
    for command in commands:
        if shutil.which(command[0]) is None:
            raise MissingToolError(command[0])
    began = time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def ours(*arguments: str, environ: Mapping[str, str] | None = None) -> tuple[float, dict[str, float]]:
    """Seconds, from starting the interpreter to its end, and what our side reports.

    Modules are compiled ahead, as they are where a package was installed.
    """
    environment = {**os.environ, **(environ or {}), "PYTHONPYCACHEPREFIX": str(_compiled())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ours", *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env=environment,
    )
    return time.perf_counter() - began, json.loads(done.stdout)


@cache
def _compiled() -> Path:
    """A folder with our compiled modules, gone with this process."""
    folder = tempfile.TemporaryDirectory(prefix="noeira-bench-compiled-")
    atexit.register(folder.cleanup)
    command = [sys.executable, "-m", "compileall", "-q", "noeira_tui", "benchmarks"]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder.name}
    subprocess.run(command, check=True, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL)
    return Path(folder.name)


def resident_share(path: Path) -> float | None:
    """How much of a file is in the page cache, 0 to 1; None where `fincore` is not installed."""
    if shutil.which("fincore") is None:
        return None
    shown = subprocess.run(["fincore", "-b", "-n", "-o", "RES", str(path)], capture_output=True, text=True, check=True)
    return int(shown.stdout or 0) / path.stat().st_size
