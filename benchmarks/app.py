"""The app, as a process in a pseudo-terminal of 140x40: how soon a key shows, what it costs, what it writes.

    python -m benchmarks.app [--only keys bytes idle recordings quit] [--seconds 20] [--keys 200]

Its box has 10,000 datasets, 500 asset packs and 8 running jobs, all made up and changing four times a second; looks
go on as they do (the picture is looked at again every few seconds). For the idle figures the box is a real one with a
watch, and for those of `recordings` it has 20 LeRobot v3 recordings of 50 episodes besides, whose tables are parquet:
what it holds after --seconds at idle, and after the inspector with a plot and the quality screen were open. Keys are
timed from the byte typed to the byte that shows the row it leads to.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.tui.ports import BoxLike

DATASETS = 10_000
PACKS = 500
JOBS = 8
RECORDINGS = 20
TICK_S = 0.25
SIZE = (140, 40)


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its goal."""

    what: str
    value: float
    goal: float
    unit: str

    def line(self) -> str:
        ratio = self.value / self.goal if self.goal else float(self.value > 0)
        mark = "✓" if self.value <= self.goal else "✗"
        return f"| {self.what} | {self.value:.3g} {self.unit} | {self.goal:g} {self.unit} | {ratio:.2f} | {mark} |"


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments.child, Path(arguments.root) if arguments.root else None)
        return
    parts: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
        "keys": _keys,
        "bytes": _bytes,
        "idle": _idle,
        "recordings": _recordings,
        "quit": _quit,
    }
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print("| what | measured | goal | ratio | |\n|---|---|---|---|---|", flush=True)
    for name in arguments.only or parts:
        for figure in parts[name](arguments):
            print(figure.line(), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["keys", "bytes", "idle", "recordings", "quit"])
    parser.add_argument("--seconds", type=float, default=20, help="how long bytes and idle processor time are counted")
    parser.add_argument("--keys", type=int, default=200, help="how many keys are timed")
    parser.add_argument("--child", choices=["busy", "still", "real"], help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    return parser.parse_args()


# What is measured


def _keys(arguments: argparse.Namespace) -> Iterator[Figure]:
    with _app("busy") as app:
        app.settle(5)
        taken = []
        used = -app.processor_s()
        dice = random.Random(7)
        for shown in range(1, arguments.keys + 1):
            app.drain(dice.uniform(0.02, 0.12))
            began = time.perf_counter()
            app.terminal.type("j")
            app.until(f"set-{shown:05}-v1")
            taken.append((time.perf_counter() - began) * 1000)
        used += app.processor_s()
        taken.sort()
        yield Figure("key to repaint, median", statistics.median(taken), 50, "ms")
        yield Figure("key to repaint, p99", taken[int(len(taken) * 0.99) - 1], 120, "ms")
        # The same on a busy machine as on a quiet one; the jobs that go on beside are in it.
        yield Figure("processor time, a key and what goes on beside", used / len(taken) * 1000, 50, "ms")
        yield Figure("memory with all of it", app.resident_mb(), 120, "MB")


def _bytes(arguments: argparse.Namespace) -> Iterator[Figure]:
    for what, mode, ssh, goal in (
        ("bytes, 8 jobs, over SSH", "busy", True, 4.0),
        ("bytes, 8 jobs, local", "busy", False, 16.0),
        ("bytes, nothing going on", "still", False, 0.0),
    ):
        with _app(mode, ssh=ssh) as app:
            app.settle(3)
            written = app.drain(arguments.seconds)
            yield Figure(what, written / arguments.seconds / 1000, goal, "kB/s")


def _idle(arguments: argparse.Namespace) -> Iterator[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="noeira-bench-app-") as folder,
        _watching(Path(folder)) as root,
        _app("real", root=root) as app,
    ):
        app.settle(5)
        before = app.processor_s()
        app.drain(arguments.seconds)
        used = app.processor_s() - before
        yield Figure("processor, idle with a watch", 100 * used / arguments.seconds, 1.0, "%")
        yield Figure("memory, idle", app.resident_mb(), 120, "MB")


def _recordings(arguments: argparse.Namespace) -> Iterator[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="noeira-bench-app-") as folder,
        _watching(Path(folder), RECORDINGS) as root,
        _app("real", root=root) as app,
    ):
        app.terminal.expect(f"cubes-{RECORDINGS - 1:02}", 60)
        yield Figure("until the facts of 20 recordings are shown", time.perf_counter() - app.began, 1.0, "s")
        app.settle(5)
        before = app.processor_s(children=True)
        app.drain(arguments.seconds)
        used = app.processor_s(children=True) - before
        yield Figure("processor, idle with a watch and 20 recordings", 100 * used / arguments.seconds, 1.0, "%")
        yield Figure("memory beside 20 recordings, idle", app.resident_mb(), 120, "MB")
        yield Figure("of which its own (proportional)", app.proportional_mb(), 120, "MB")
        for what, keys in (("the inspector with a plot", ("1j", "i", "3", "j")), ("the quality screen", ("Q",))):
            for key in keys:
                app.terminal.type(key)
                app.drain(3)
            yield Figure(f"memory in {what}", app.resident_mb(), 120, "MB")
            app.terminal.type("\x1b")
            app.drain(3)
        yield Figure("memory after both", app.resident_mb(), 120, "MB")


def _quit(arguments: argparse.Namespace) -> Iterator[Figure]:
    taken = []
    for _ in range(5):
        with _app("busy") as app:
            app.settle(3)
            began = time.perf_counter()
            app.terminal.type("q")
            app.terminal.wait(10)
            taken.append(time.perf_counter() - began)
    yield Figure("quit with 8 jobs running", statistics.median(taken), 0.5, "s")


class _App:
    """The app in its terminal."""

    def __init__(self, terminal: object) -> None:
        from tests.support.terminal import Terminal

        assert isinstance(terminal, Terminal)
        self.began = time.perf_counter()
        self.terminal = terminal

    def settle(self, seconds: float) -> None:
        """Wait until the rows are there, and then some more."""
        self.terminal.expect("Not safe to destroy", 60)
        self.drain(seconds)

    def drain(self, seconds: float) -> int:
        """Read what it writes for a while; how many bytes that were."""
        until = time.monotonic() + seconds
        count = 0
        while (left_s := until - time.monotonic()) > 0:
            count += len(self.terminal.read(left_s))
        self.terminal.output = b""
        return count

    def until(self, text: str) -> None:
        """Read until it wrote a text."""
        deadline = time.monotonic() + 10
        self.terminal.output = b""
        while text.encode() not in self.terminal.output:
            assert time.monotonic() < deadline, f"{text} never came"
            self.terminal.read(1)

    def processor_s(self, *, children: bool = False) -> float:
        """Seconds of a core it has used; with those of its `children` that have ended, if they are asked for."""
        fields = Path(f"/proc/{self.terminal.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11 : 15 if children else 13])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Its memory."""
        status = Path(f"/proc/{self.terminal.pid}/status").read_text("utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024 / 1e6

    def proportional_mb(self) -> float:
        """Its memory without the share of others in libraries that they have too."""
        text = Path(f"/proc/{self.terminal.pid}/smaps_rollup").read_text("utf-8")
        line = next(line for line in text.splitlines() if line.startswith("Pss:"))
        return int(line.split()[1]) * 1024 / 1e6


@contextmanager
def _app(mode: str, *, ssh: bool = False, root: Path | None = None) -> Iterator[_App]:
    from tests.support.terminal import Terminal

    command = [sys.executable, "-m", "benchmarks.app", "--child", mode, *(["--root", str(root)] if root else [])]
    env = {"COLORTERM": "truecolor", "SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22" if ssh else "", "LANG": "C.UTF-8"}
    with Terminal(command, cwd=Path(__file__).parents[1], env=env, columns=SIZE[0], lines=SIZE[1]) as terminal:
        yield _App(terminal)


# The process that is measured


def _child(mode: str, root: Path | None) -> None:
    gc.disable()  # as `open_app` does until the first paint
    from noeira_tui.cli.openapp import leave
    from noeira_tui.tui.app import run

    if mode == "real":
        from noeira_tui.core.settings import Settings
        from noeira_tui.tui.lazy_box import LazyBox

        assert root is not None
        real: BoxLike = LazyBox(Settings.load(root=root, env_file=None, cwd=root))
        leave(run(real))
    box = _many(moving=mode == "busy")
    leave(run(box))


def _many(*, moving: bool) -> BoxLike:
    """A made-up box with very much on it."""
    from noeira_tui.core.states import State
    from tests.tui import fake_box

    picture = fake_box.overview(
        projects=fake_box.sample().projects,
        datasets=tuple(
            fake_box.dataset(f"set-{number:05}-v1", State.MISSING if number < 5000 else State.CURRENT, 4_000_000_000)
            for number in range(DATASETS)
        ),
        packs=tuple(
            fake_box.pack(f"pack-{number:03}", "v1", State.MISSING if number % 2 else State.CURRENT, 1_000_000)
            for number in range(PACKS)
        ),
    )
    box = fake_box.FakeBox(picture=picture)
    if moving:
        threading.Thread(target=_move, args=(box,), daemon=True).start()
    return box


def _move(box: object) -> None:
    """Let eight pulls go on, at speeds that jitter, four times a second."""
    from dataclasses import replace

    from noeira_tui.core.progress import ProgressSnapshot
    from noeira_tui.jobs.records import JobState
    from tests.tui import fake_box

    assert isinstance(box, fake_box.FakeBox)
    dice = random.Random(1)
    total = 4_000_000_000
    rows = [
        fake_box.job(number, "catalog-pull", f"set-{number + 20:05}-v1", JobState.RUNNING)
        for number in range(1, JOBS + 1)
    ]
    done = [dice.randrange(total // 2) for _ in rows]
    while True:
        for index in range(JOBS):
            rate = dice.uniform(20e6, 40e6)
            done[index] = (done[index] + int(rate * TICK_S)) % total
            progress = ProgressSnapshot(done[index], total, rate=rate, phase="downloading")
            rows[index] = replace(rows[index], progress=progress)
        box.set_jobs(*rows)
        time.sleep(TICK_S)


@contextmanager
def _watching(folder: Path, more: int = 0) -> Iterator[Path]:
    """A real root with a recording, and a watch of it in its jobs table, told of as its process would; `more`
    recordings lie beside it."""
    from noeira_tui.core.owner import ProcessOwner
    from noeira_tui.core.progress import ProgressSnapshot
    from noeira_tui.core.settings import Settings
    from noeira_tui.core.statedb import StateDb
    from noeira_tui.jobs.dataset_kinds import DatasetWatch
    from noeira_tui.jobs.store import JobStore
    from tests.support.datasets_build import write_v3

    recording = folder / "projects/bench/datasets/cubes"
    recording.mkdir(parents=True)
    (folder / "projects/bench/project.kv").write_text("name=bench\n", "utf-8")
    write_v3(recording)
    for number in range(more):
        write_v3(recording.with_name(f"cubes-{number:02}"), episodes=50, frames=300, joints=14, cameras=())
    (folder / ".env").write_text(
        f"NOEIRA_CLOUD_URL=http://127.0.0.1:9\nNOEIRA_CLOUD_API_KEY=x\nNOEIRA_STATE={folder / 'state'}\n", "utf-8"
    )
    settings = Settings.load(root=folder, cwd=folder)
    store = JobStore(StateDb(settings.state_dir))
    me = ProcessOwner.me()
    record = store.create(DatasetWatch("bench", "cubes").spec(settings), owner=me)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(5):
            phase = f"3 of 3 episodes sent · last sent {time.strftime('%H:%M:%S')}"
            store.beat(record.id, me, ProgressSnapshot(items_done=3, items_total=3, phase=phase))

    threading.Thread(target=beat, daemon=True).start()
    yield folder
    stop.set()


if __name__ == "__main__":
    main()
