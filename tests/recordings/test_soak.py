"""Both recorders at work while a watch is killed and restarted, the service goes and comes, and a reader pulls."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.layout import belongs
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.pull import pull
from tests.support.recorders import CheckpointingRecorder, LeRobotRecorder
from tests.support.service_process import ROOT, ServeProcess, start, until

CLOSING = ("meta/stats.json", "meta/tasks.parquet")


_hashed: dict[tuple[str, int, int, int], str] = {}


def digest(file: os.DirEntry[str]) -> str:
    """The digest of a file, read once for every stamp it has; one that changed just now is read again."""
    stat = file.stat()
    key = (file.path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key not in _hashed or time.time_ns() - stat.st_mtime_ns < 1_000_000_000:
        _hashed[key] = hashlib.sha256(Path(file.path).read_bytes()).hexdigest()
    return _hashed[key]


def files_below(folder: str) -> Iterator[os.DirEntry[str]]:
    """Every file; entries know what they are, and paths are not taken apart: the soak looks at them 60,000 times."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            elif entry.is_file():
                yield entry


def digests(folder: Path) -> dict[str, str]:
    """Everything that belongs to a recording, by path; nothing while there is no folder."""
    if not folder.is_dir():
        return {}
    start = len(str(folder)) + 1
    return {file.path[start:]: digest(file) for file in files_below(str(folder)) if belongs(file.path[start:])}


class Truth:
    """What a reader may see above each `info.json`: the files it names, as the recorder had closed them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.by_info: dict[str, dict[str, str]] = {}
        self.lock = threading.Lock()
        self.seen: set[int] = set()
        """By how many episodes each whole revision counted that a reader got."""

    def note(self) -> None:
        """The recording is whole now."""
        now = digests(self._folder)
        needed = {p: d for p, d in now.items() if not p.endswith("writer_stats.json") and p != "meta/info.json"}
        with self.lock:
            self.by_info[now["meta/info.json"]] = needed


class Reader(threading.Thread):
    """Pulls every so often into a folder of its own and compares what it got with the truth."""

    def __init__(self, service: ServeProcess, folder: Path, truths: dict[str, Truth], every_s: float) -> None:
        super().__init__(daemon=True)
        self._service, self._folder, self._truths, self._every_s = service, folder, truths, every_s
        self.over = threading.Event()
        self.wrong: list[str] = []

    def mirror(self, client: CatalogClient, dataset: str) -> Mirror:
        return Mirror(client, StateDb(self._folder / "state"), self._folder / "projects", "tower", dataset)

    def run(self) -> None:
        with CatalogClient(self._service.url, self._service.key, sleep=lambda s: None) as client:
            while not self.over.wait(self._every_s):
                for dataset, truth in self._truths.items():
                    self.look(client, dataset, truth)

    def look(self, client: CatalogClient, dataset: str, truth: Truth) -> None:
        try:
            outcome = pull(self.mirror(client, dataset))
        except NoeiraError:
            return  # the service is away: nothing was read
        if not outcome.is_clean or outcome.held:
            return
        folder = self._folder / "projects/tower/datasets" / dataset
        got = digests(folder)
        info = got.get("meta/info.json")
        if info is None or (episodes := json.loads((folder / "meta/info.json").read_bytes())["total_episodes"]) == 0:
            return
        with truth.lock:
            wanted = truth.by_info.get(info)
        if wanted is None:
            self.wrong.append(f"{dataset}: an info.json that was never above whole files")
            return
        lacking = [f"{dataset}: {path}" for path, digest in wanted.items() if got.get(path) != digest]
        self.wrong += lacking
        if not lacking:
            truth.seen.add(episodes)


class Watches:
    """One `dataset push --watch` a recording, each a process of its own."""

    def __init__(self, root: Path, env: dict[str, str]) -> None:
        self._root, self._env = root, env
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, dataset: str) -> None:
        command = [sys.executable, "-m", "noeira_tui", "dataset", "push", "--project", "tower", "--dataset", dataset]
        with (self._root.parent / f"{dataset}.log").open("ab") as log:
            self._running[dataset] = subprocess.Popen(
                [*command, "--watch", "--every", "0.5"], cwd=self._root, env=self._env, stdout=log, stderr=log
            )

    def restart(self, dataset: str) -> None:
        """Kill it wherever it is, and start another one."""
        self.end(dataset, signal.SIGKILL)
        self.start(dataset)

    def end(self, dataset: str, number: signal.Signals = signal.SIGTERM) -> None:
        process = self._running.pop(dataset)
        process.send_signal(number)
        process.wait(20)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[tuple[ServeProcess, Path, Watches]]:
    service = start(tmp_path / "service")
    root = tmp_path / "root"
    (root / "projects/tower/datasets").mkdir(parents=True)
    (root / "projects/tower/project.kv").write_text("description=soak\n")
    env = os.environ | {
        "NOEIRA_CLOUD_URL": service.url,
        "NOEIRA_CLOUD_API_KEY": service.key,
        "NOEIRA_STATE": str(tmp_path / "state"),
        "PYTHONPATH": str(ROOT),
    }
    watches = Watches(root, env)
    holder = [service]
    try:
        yield service, root, watches
    finally:
        for dataset in list(watches._running):
            watches.end(dataset, signal.SIGKILL)
        for one in (*holder, *_restarted):
            if one.process.poll() is None:
                one.kill()
        _restarted.clear()


Box = tuple[ServeProcess, Path, Watches]
_restarted: list[ServeProcess] = []


def soak(
    box: tuple[ServeProcess, Path, Watches],
    episodes: int,
    pace_s: float,
    trouble_every: int,
    look_every: int,
    seed: int,
) -> None:
    """Record, make trouble, and every `look_every` episodes wait until a reader has all of them, whole."""
    service, root, watches = box
    chance = random.Random(seed)
    folders = {name: root / "projects/tower/datasets" / name for name in ("checkpointing", "lerobot")}
    truths = {name: Truth(folder) for name, folder in folders.items()}
    reader = Reader(service, root.parent / "reader", truths, 1.0)
    for folder in folders.values():
        folder.mkdir()
    for name in folders:
        watches.start(name)
    reader.start()

    def pause(what: str) -> None:
        time.sleep(pace_s * chance.random())  # the pace of a recorder, not a wait for something

    def reader_has(name: str, count: int) -> None:
        def is_read() -> bool:
            assert reader.wrong == []
            return count in truths[name].seen

        log = root.parent / f"{name}.log"
        until(is_read, f"a reader gets {count} episodes of {name}: {log.read_text()[-2000:]}", 60)

    first = CheckpointingRecorder(folders["checkpointing"], seed=1, step=pause, chunks_size=50)
    second = LeRobotRecorder(
        folders["lerobot"], seed=2, step=pause, data_file_bytes=20_000, video_file_bytes=8_000, chunks_size=50
    )
    # What is above info.json is whole before info.json is: the truth is noted in the recorder's last step.
    first.step = lambda what: (truths["checkpointing"].note() if what == "meta/info.json" else None, pause(what))[1]
    troubles = chance.sample(["checkpointing", "lerobot", "service"], 3)
    for episode in range(1, episodes + 1):
        first.record(10 + episode % 7)
        second.record(10 + episode % 5, task=f"task {episode // 20}")
        if episode % trouble_every == 0:
            what = troubles[episode // trouble_every % len(troubles)]
            if what == "service":
                service.stop()
                port = int(service.url.rsplit(":", 1)[1])
                service = start(service.data_dir, port=port)
                _restarted.append(service)
            else:
                watches.restart(what)
        if episode % look_every == 0:
            reader_has("checkpointing", episode)
    assert truths["lerobot"].seen == set(), "the open tables of LeRobot's recorder name nothing yet"
    second.finalize()
    truths["lerobot"].note()
    first.finish()
    reader_has("lerobot", episodes)
    reader.over.set()
    reader.join(60)
    assert reader.wrong == []
    with CatalogClient(service.url, service.key) as client:
        for name, folder in folders.items():
            assert_mirrored(client, name, folder, root.parent / f"{name}.log")
            outcome = pull(reader.mirror(client, name))
            assert outcome.is_clean, outcome
            assert digests(root.parent / "reader/projects/tower/datasets" / name) == digests(folder)


def assert_mirrored(client: CatalogClient, name: str, folder: Path, log: Path) -> None:
    """Wait until the service has exactly what is here."""
    wanted = digests(folder)

    def is_there() -> bool:
        answer = client.get_recording("tower", name)
        return answer is not None and {file.path: file.sha256 for file in answer.files} == wanted

    until(is_there, f"{name} is whole on the service: {log.read_text()[-2000:]}", 60)


@pytest.mark.slow
def test_soak_of_200_episodes_with_both_recorders(box: Box) -> None:
    soak(box, episodes=200, pace_s=0.003, trouble_every=13, look_every=50, seed=4)
