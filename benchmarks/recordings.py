"""Mirroring recordings beside the tools people use instead: `python -m benchmarks.recordings [--only PART …]`.

From an episode's end to that episode on the service, a first push of small files against `rclone copy` to the same
store, an unchanged pass against `find`, and the processor time of an idle watch over a large tree. Everything runs on
loopback in a temporary folder; one line a figure, with its goal. Seconds depend on what else the machine does,
processor time (ours, the service's and the store's together) hardly.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import REPOSITORY
from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.mirror import Mirror, Work
from noeira_tui.recordings.push import push
from noeira_tui.recordings.tree import scan
from noeira_tui.recordings.watch import Watch
from noeira_tui.service.config import DEFAULT_BUCKET
from noeira_tui.transfer.hashing import hash_file
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_process import ServeProcess, start

PATIENCE_S = 120.0


@dataclass(frozen=True)
class Bench:
    """One service and one box for all parts; `files` and `rounds` are how much is measured."""

    service: ServeProcess
    box: Path
    files: int
    idle_files: int
    idle_s: float
    rounds: int

    def folder(self, dataset: str) -> Path:
        return self.box / "projects/tower/datasets" / dataset

    def mirror(self, dataset: str, cancel: CancelToken | None = None) -> Mirror:
        client = CatalogClient(self.service.url, self.service.key)
        work = Work(Progress(), cancel or CancelToken())
        return Mirror(client, StateDb(self.box / "state"), self.box / "projects", "tower", dataset, work)

    def command(self, *words: str) -> tuple[list[str], dict[str, str]]:
        """One of our commands as a user starts it, and its environment."""
        environment = os.environ | {
            "NOEIRA_CLOUD_URL": self.service.url,
            "NOEIRA_CLOUD_API_KEY": self.service.key,
            "NOEIRA_STATE": str(self.box / "state"),
            "NOEIRA_PROJECTS": str(self.box / "projects"),
            "PYTHONPATH": str(REPOSITORY),
        }
        return [sys.executable, "-m", "noeira_tui", *words], environment


def say(what: str, told: str, goal: str, met: bool) -> None:
    print(f"{'✓' if met else '✗'} {what}: {told}; goal {goal}", flush=True)


def make(folder: Path, files: int, *, contents: int | None = None) -> None:
    """A finished recording of two episodes, and many small closed files beside them, a few of different contents."""
    recorder = CheckpointingRecorder(folder, seed=time.time_ns())
    recorder.record()
    recorder.record()
    several = [os.urandom(500) for _ in range(contents or 0)]
    for number in range(files):
        place = folder / f"videos/many/chunk-{number // 1000:03d}"
        place.mkdir(parents=True, exist_ok=True)
        data = several[number % len(several)] if several else os.urandom(500)
        (place / f"file-{number % 1000:03d}.bin").write_bytes(data)
    recorder.finish()
    time.sleep(2.5)  # a file younger than two seconds is hashed twice, which is not what is measured here


def episode_end(bench: Bench) -> None:
    """A watch in a process of its own; the clock runs from the recorder's last write to the service's new revision."""
    folder = bench.folder("recorded")
    recorder = CheckpointingRecorder(folder, seed=time.time_ns())
    recorder.record()
    command, environment = bench.command(*_named("push", "recorded"), "--watch")
    watch = subprocess.Popen(command, env=environment, cwd=bench.box, stdout=subprocess.DEVNULL)
    taken: list[float] = []
    try:
        with CatalogClient(bench.service.url, bench.service.key) as client:
            _wait_for(lambda: _is_there(client, folder))
            for _ in range(max(5, bench.rounds)):
                time.sleep(1.5)
                recorder.record()
                ended = time.monotonic()
                _wait_for(lambda: _is_there(client, folder))
                taken.append(time.monotonic() - ended)
    finally:
        watch.terminate()
        watch.wait(30)
    told = f"median {statistics.median(taken):.2f} s, worst {max(taken):.2f} s of {len(taken)} episodes"
    say("an episode's end to that episode on the service, checkpointing recorder", told, "under 2 s", max(taken) < 2)


def _is_there(client: CatalogClient, folder: Path) -> bool:
    answer = client.get_recording("tower", folder.name)
    there = {file.path: file.sha256 for file in answer.files} if answer is not None and answer.revision else {}
    return there.get(INFO) == hash_file(folder / INFO)[0]


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("the service never got it")
        time.sleep(0.05)


def _named(verb: str, dataset: str) -> tuple[str, ...]:
    return ("dataset", verb, "--project", "tower", "--dataset", dataset)


def first_push(bench: Bench) -> None:
    """Our push and `rclone copy` of the same files, one after the other in turn, each with its start."""
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for number in range(bench.rounds):
        dataset = f"many-{number}"
        make(bench.folder(dataset), bench.files)
        command, environment = bench.command(*_named("push", dataset), "--json")
        ours.append(_timed(bench, command, environment))
        copy = _rclone(bench, dataset)
        if copy is not None:
            theirs.append(_timed(bench, *copy))
    _compare(f"first push of {bench.files} small files, digests included", ours, theirs)


def _compare(what: str, ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> None:
    """Seconds and processor seconds of each round, ours against those of rclone where it is installed."""
    seconds, processor_s = (statistics.median(values) for values in zip(*ours, strict=True))
    told = f"{seconds:.1f} s, processor time {processor_s:.1f} s"
    if not theirs:
        say(what, f"{told}; rclone is not installed", "as fast as rclone copy", True)
        return
    other_s, other_processor_s = (statistics.median(values) for values in zip(*theirs, strict=True))
    told += f"; rclone copy {other_s:.1f} s, processor time {other_processor_s:.1f} s: {other_s / seconds:.2f}×"
    say(what, told, "at least 1×", other_s >= seconds)


def first_pull(bench: Bench) -> None:
    """Our pull to a box that has nothing of a recording, and `rclone copy` of the same files, in turn."""
    make(bench.folder("whole"), bench.files)
    push(bench.mirror("whole"))
    copy = _rclone(bench, "whole")
    if copy is not None:
        subprocess.run(copy[0], env=copy[1], check=True, capture_output=True)
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for number in range(bench.rounds):
        other = bench.box.with_name(f"other-{number}")
        shutil.copytree(bench.box / "projects", other / "projects", ignore=shutil.ignore_patterns("datasets"))
        command, environment = bench.command(*_named("pull", "whole"), "--json")
        environment |= {"NOEIRA_STATE": str(other / "state"), "NOEIRA_PROJECTS": str(other / "projects")}
        ours.append(_timed(bench, command, environment, other))
        if copy is not None:
            words, environment = copy
            theirs.append(_timed(bench, [*words[:2], words[3], str(other / "rclone")], environment, other))
    _compare(f"first pull of {bench.files} small files, each verified", ours, theirs)


def _timed(
    bench: Bench, command: list[str], environment: dict[str, str], box: Path | None = None
) -> tuple[float, float]:
    """Seconds, and the processor time of the command and of the servers."""
    before, began = _processor_s(bench.service), time.perf_counter()
    subprocess.run(command, env=environment, cwd=box or bench.box, check=True, capture_output=True)
    return time.perf_counter() - began, _processor_s(bench.service) - before


def _processor_s(service: ServeProcess) -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime + _used_s(service.process.pid) + _used_s(service.store_pid)


def _used_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rclone(bench: Bench, dataset: str) -> tuple[list[str], dict[str, str]] | None:
    keys = _store_keys(bench.service)
    if keys is None or shutil.which("rclone") is None:
        return None
    store = (
        f":s3,provider=Other,endpoint='{bench.service.store_endpoint}',"
        f"access_key_id={keys[0]},secret_access_key={keys[1]},force_path_style=true,list_version=2:{DEFAULT_BUCKET}/rclone-{dataset}"
    )
    # Credentials and authorities of the machine have no business with a store on loopback.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return ["rclone", "copy", str(bench.folder(dataset)), store], clean


def _store_keys(service: ServeProcess) -> tuple[str, str] | None:
    for path in service.data_dir.glob("store*.json"):
        told = json.loads(path.read_text())
        if "secret_key" in told:
            return told["access_key"], told["secret_key"]
    return None


def unchanged(bench: Bench) -> None:
    folder = bench.folder("unchanged")
    make(folder, bench.files, contents=100)
    push(bench.mirror("unchanged"))
    push(bench.mirror("unchanged"))
    finds, passes = [], []
    for _ in range(7):
        began = time.perf_counter()
        subprocess.run(["find", folder, "-printf", "%s %T@ %p\n"], stdout=subprocess.DEVNULL, check=True)
        finds.append(time.perf_counter() - began)
        one = bench.mirror("unchanged")
        one.client.facts()  # the connection and imports are the start, which is deducted
        began = time.perf_counter()
        outcome = push(one)
        passes.append(time.perf_counter() - began)
    ratio = min(passes) / min(finds)
    told = (
        f"{min(passes) * 1000:.0f} ms, {outcome.requests} requests; find {min(finds) * 1000:.0f} ms: {ratio:.1f} times"
    )
    met = ratio < 5 and outcome.requests <= 3
    say(f"a pass over {outcome.unchanged} unchanged files", told, "at most 3 requests and under 5 times", met)


def idle(bench: Bench) -> None:
    folder = bench.folder("idle")
    make(folder, bench.idle_files, contents=100)
    (folder / "meta/noeira_writer_stats.json").write_text('{"finished": false}')
    cancel = CancelToken()
    one = bench.mirror("idle", cancel)
    watch = Watch(one)

    def run() -> None:
        try:
            watch.run()
        except CancelledError:
            return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        until = time.monotonic() + 1800
        while (watch._last is None or one.young) and time.monotonic() < until:
            time.sleep(0.5)
        time.sleep(3)
        requests, hashed, used_s, began = one.client.requests, one.hashed_bytes, time.process_time(), time.monotonic()
        time.sleep(bench.idle_s)
        share = (time.process_time() - used_s) / (time.monotonic() - began)
        asked, hashed = one.client.requests - requests, one.hashed_bytes - hashed
    finally:
        cancel.cancel()
        thread.join()
    what = f"an idle watch over {len(scan(folder).files)} files for {bench.idle_s:.0f} s"
    told = f"{share:.3%} of a core, {asked} requests, {hashed} bytes hashed"
    say(what, told, "no request, no hashing, under 0.2 %", share < 0.002 and not asked and not hashed)


PARTS = {
    "episode-end": episode_end,
    "first-push": first_push,
    "first-pull": first_pull,
    "unchanged": unchanged,
    "idle": idle,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recordings", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="some of the figures")
    parser.add_argument("--files", type=int, default=10_000, help="small files of a first push and an unchanged pass")
    parser.add_argument("--idle-files", type=int, default=100_000, help="files under the idle watch")
    parser.add_argument("--idle-s", type=float, default=180.0, help="for how long the idle watch is looked at")
    parser.add_argument("--rounds", type=int, default=3, help="pushes by each tool, of which the median counts")
    parser.add_argument("--folder", default="/var/tmp", help="where to work: a real disk")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noeira-bench-", dir=arguments.folder, ignore_cleanup_errors=True) as place:
        service = start(Path(place) / "service")
        try:
            box = Path(place) / "box"
            (box / "projects/tower").mkdir(parents=True)
            (box / "projects/tower/project.kv").write_text("description=benchmark\n")
            bench = Bench(
                service, box, arguments.files, arguments.idle_files, arguments.idle_s, max(1, arguments.rounds)
            )
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when it began", flush=True)
            for part in arguments.only:
                PARTS[part](bench)
        finally:
            service.stop()


if __name__ == "__main__":
    main()
