"""Ingest against `forge quality`, and what it reads and holds: `python -m benchmarks.episodes`.

    python -m benchmarks.episodes [--only local remote processes memory] [--rounds 5]

`forge quality` computes fewer metrics and keeps none; it is run on local files always. It needs pandas, which it does
not ask for itself; the extra `dev` has it. Both sides are whole commands, run in turn; the catalog is a new one each
time. Processor time is the same on a busy machine, seconds are not: for two processes it is that of the longest way,
this process and the busier of the two.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inspect import DATA, chunk_bytes, mark, nanio
from noeira_tui.episodes.ingest import ingest
from tests.support.datasets_build import write_v3

PROPRIO = ("observation.state", "action", "timestamp", "frame_index", "episode_index", "index", "task_index")
HOUR_FRAMES = 180_000
HOUR_HZ = 50
JOINTS = 14


@dataclass(frozen=True)
class Taken:
    """What a command took: seconds, processor seconds, its largest memory in MB, and what it printed."""

    seconds: float
    processor_s: float
    peak_mb: float
    output: str


@dataclass(frozen=True)
class Work:
    """Where a run works, and how often each side is run."""

    folder: Path
    rounds: int

    def dataset(self, episodes: int, frames: int = 300, video_bytes: int = 0) -> Path:
        """A LeRobot v3 dataset; with two cameras where it is to have videos."""
        place = self.folder / f"{episodes}x{frames}"
        cameras = {"video_bytes": video_bytes} if video_bytes else {"cameras": ()}
        if not place.exists():
            elsewhere(write_v3, place, episodes=episodes, frames=frames, joints=JOINTS, **cameras)
        return place

    def catalog(self) -> Path:
        """A folder with no catalog in it yet."""
        place = self.folder / "catalog"
        shutil.rmtree(place, ignore_errors=True)
        return place

    def ours(self, uri: str, *more: str, environ: dict[str, str] | None = None, catalog: Path | None = None) -> Taken:
        command = [sys.executable, "-m", "noeira_tui", "ingest", uri, "--json", *more]
        place = catalog or self.catalog()
        state = {"NOEIRA_STATE": str(self.folder / "state"), "NOEIRA_ROOT": str(self.folder)}
        return run([*command, "--catalog", str(place)], {**os.environ, **state, **(environ or {})})

    def forge(self, dataset: Path) -> Taken:
        program = str(Path(sys.executable).with_name("forge"))
        return run([program, "quality", str(dataset)], dict(os.environ))

    def can_forge(self) -> bool:
        imports = [sys.executable, "-c", "import pandas, forge"]
        return subprocess.run(imports, capture_output=True, check=False).returncode == 0


def elsewhere(make: Callable[..., Path], *arguments: Any, **more: Any) -> Path:
    """Make something in a process of its own: what this one has held counts as the memory of all that it starts."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(make, *arguments, **more).result()


def run(command: Sequence[str], environ: dict[str, str]) -> Taken:
    """Run a command to its end. Raises CalledProcessError."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=environ, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, output.read(), errors.read())
        return Taken(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.read())


def in_turn(rounds: int, *sides: Callable[[], Taken]) -> list[Taken]:
    """The medians of every side, run in turn after one run of each that does not count."""
    taken: list[list[Taken]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for side, runs in zip(sides, taken, strict=True):
            one = side()
            if number:
                runs.append(one)
    measures = ("seconds", "processor_s", "peak_mb")
    return [
        Taken(*(statistics.median(getattr(one, name) for one in runs) for name in measures), runs[-1].output)
        for runs in taken
    ]


def faster(work: str, ours: Taken, theirs: Taken, goal: float) -> tuple[str, str, str, str]:
    ratio = theirs.seconds / ours.seconds
    words = f"{ours.seconds:.2f} s against {theirs.seconds:.2f} s: {ratio:.1f}×"
    words += f" (processor {ours.processor_s:.2f} s, {theirs.processor_s:.2f} s: "
    words += f"{theirs.processor_s / ours.processor_s:.1f}×)"
    return work, words, f"at least {goal:g}×", mark(ratio >= goal)


def local_rows(work: Work) -> Iterator[tuple[str, str, str, str]]:
    """1,000 episodes of 300 frames of 14 joints, and the same once more."""
    dataset = work.dataset(1000)
    if work.can_forge():
        ours, theirs = in_turn(work.rounds, lambda: work.ours(str(dataset)), lambda: work.forge(dataset))
        yield faster("local, 1,000 episodes × 300 frames × 14, against `forge quality`", ours, theirs, 10)
    else:
        yield "local, 1,000 episodes", "forge cannot be run: pip install -e '.[dev]'", "at least 10×", ""
    catalog = work.catalog()
    first = json.loads(work.ours(str(dataset), catalog=catalog).output)
    before = commits(catalog)
    taken = work.ours(str(dataset), catalog=catalog)
    again = json.loads(taken.output)
    nothing = again["bytes_read"] == 0 and commits(catalog) == before and again["skipped"] == first["ingested"]
    words = f"{again['bytes_read']:,} bytes, {commits(catalog) - before} commits, {taken.seconds:.2f} s"
    yield "again, nothing new", words, "no data, no commit", mark(nothing)


def commits(catalog: Path) -> int:
    return sum(1 for _ in catalog.rglob("_delta_log/*.json"))


def remote_rows(work: Work) -> Iterator[tuple[str, str, str, str]]:
    """100 episodes of a 400 MB dataset on S3."""
    dataset = work.dataset(100, video_bytes=197_000_000)
    columns = chunk_bytes(dataset / DATA, PROPRIO)
    with nanio(work.folder, dataset) as store:
        store.counted.reset()
        work.ours("s3://data/v3", environ=store.environ)
        read, asked = store.counted.body_bytes, store.counted.requests
        share = read / columns
        words = f"{read:,} bytes of {columns:,}: {share:.3f}×, {asked} requests"
        yield "400 MB on S3, 100 episodes: bytes, metadata included", words, "at most 1.1×", mark(share <= 1.1)
        if work.can_forge():
            direct = {**store.environ, "AWS_ENDPOINT_URL": store.direct}
            ours, theirs = in_turn(
                work.rounds, lambda: work.ours("s3://data/v3", environ=direct), lambda: work.forge(dataset)
            )
            yield faster("the same, against `forge quality` on a local copy", ours, theirs, 3)


def processes_rows(work: Work) -> Iterator[tuple[str, str, str, str]]:
    """Two processes against one, started before the clock is."""
    dataset = work.dataset(200, 3000)
    taken: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(work.rounds):
        for count, runs in taken.items():
            command = [sys.executable, "-m", "benchmarks.episodes", "--in-processes", str(count)]
            place = [str(dataset), str(work.catalog())]
            seconds, busy = run([*command, *place], {**os.environ, "OPENBLAS_NUM_THREADS": "1"}).output.split()
            runs.append((float(seconds), float(busy)))
    one, two = (tuple(map(statistics.median, zip(*runs, strict=True))) for runs in taken.values())
    words = f"{two[0]:.2f} s against {one[0]:.2f} s: {one[0] / two[0]:.2f}×"
    words += f" (processor {two[1]:.2f} s, {one[1]:.2f} s on the longest way: {one[1] / two[1]:.2f}×)"
    yield "200 episodes × 3,000 frames, two processes against one", words, "at least 1.7×", mark(one[0] / two[0] >= 1.7)


def in_processes(count: int, uri: str, catalog: str) -> tuple[float, float]:
    """Seconds that an ingest takes with processes that are up already, and processor seconds of this process and the
    busiest of them together."""
    with ProcessPoolExecutor(count, mp_context=get_context("forkserver")) as pool:
        before = dict(pool.map(_processor_s, range(count)))
        own = time.process_time()
        elapsed_s = ingest([uri], catalog=catalog, executor=pool).elapsed_s
        own = time.process_time() - own
        after = dict(pool.map(_processor_s, range(count)))
    return elapsed_s, own + max(after[process] - before.get(process, 0.0) for process in after)


def _processor_s(_: int) -> tuple[int, float]:
    """Which process this is, and its processor time; it waits, so that each of them is asked."""
    time.sleep(0.5)
    return os.getpid(), time.process_time()


def memory_rows(work: Work) -> Iterator[tuple[str, str, str, str]]:
    """Memory against the number of episodes, and an hour at 50 Hz."""
    few, many = (work.ours(str(work.dataset(count))) for count in (1000, 4000))
    words = f"{few.peak_mb:.0f} MB for 1,000 episodes, {many.peak_mb:.0f} MB for 4,000"
    yield "memory against the number of episodes", words, "flat", mark(many.peak_mb < 1.25 * few.peak_mb)
    taken = work.ours(str(elsewhere(an_hour, work.folder / "hour")))
    words = f"{taken.peak_mb:.0f} MB, {taken.seconds:.1f} s (processor {taken.processor_s:.1f} s)"
    yield "one episode of an hour at 50 Hz, every metric", words, "under 500 MB", mark(taken.peak_mb < 500)


def an_hour(place: Path) -> Path:
    """One episode of 180,000 frames: an arm that moves slowly, with noise, and stands still every now and then."""
    write_v3(place, episodes=1, frames=HOUR_FRAMES, joints=JOINTS, cameras=())
    rng = np.random.default_rng(0)
    t = np.arange(HOUR_FRAMES)[:, None] / HOUR_HZ
    state = np.zeros((HOUR_FRAMES, JOINTS))
    for _ in range(4):
        rate, phase = rng.uniform(0.02, 0.4, JOINTS), rng.uniform(0, 6, JOINTS)
        state += rng.uniform(0.1, 1, JOINTS) * np.sin(2 * np.pi * t * rate + phase)
    state += rng.normal(size=state.shape) * 1e-3
    state[(np.floor(t[:, 0] / 20) % 4) == 0] = state[0]
    action = state + rng.normal(size=state.shape) * 1e-2
    table = pq.read_table(place / DATA)
    for name, values in (("observation.state", state), ("action", action)):
        column = pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float32).ravel()), JOINTS)
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, place / DATA)
    return place


SECTIONS = {"local": local_rows, "remote": remote_rows, "processes": processes_rows, "memory": memory_rows}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.episodes", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-processes", nargs=3, metavar=("N", "URI", "CATALOG"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_processes:
        count, uri, catalog = arguments.in_processes
        print(*in_processes(int(count), uri, catalog))
        return
    with tempfile.TemporaryDirectory(prefix="noeira-bench-", dir="/var/tmp") as name:
        work = Work(Path(name), arguments.rounds)
        print(f"load {os.getloadavg()[0]:.1f} when it began\n\n| work | measured | goal | |\n|---|---|---|---|")
        for section in arguments.only:
            for row in SECTIONS[section](work):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
