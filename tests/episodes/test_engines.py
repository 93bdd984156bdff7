"""The same tables wherever the scoring is done: here, in processes, on a Dask cluster, and when a worker is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from noeira_tui.core.errors import CancelledError, NetworkError, UnreachableError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.episodes import dataset as dataset_module
from noeira_tui.episodes import engine
from noeira_tui.episodes.engine import engine_for
from noeira_tui.episodes.facts import EpisodeInfo, Ingested
from noeira_tui.episodes.ingest import ingest
from noeira_tui.episodes.query import CatalogReader
from tests.support.episodes_build import takes, write_v3, write_v21
from tests.support.waiting import until


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Forty episodes of two formats, that are read in many parts."""
    folder = tmp_path_factory.mktemp("made")
    return [
        str(write_v3(folder / "v3", takes(20, 60), group_rows=100)),
        str(write_v21(folder / "v21", takes(20, 60, seed=1))),
    ]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_module, "PART_FRAMES", 130)
    monkeypatch.setattr(dataset_module, "_LEAST_PART", 1)


@pytest.fixture(scope="module")
def expected(datasets: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeInfo]:
    catalog = tmp_path_factory.mktemp("here")
    ingest(datasets, catalog=str(catalog))
    return comparable(catalog)


def comparable(catalog: Path) -> list[EpisodeInfo]:
    with CatalogReader(str(catalog)) as reader:
        return sorted((replace(one, ingested_at="") for one in reader.episodes()), key=lambda one: one.episode_id)


def counted(outcome: Ingested) -> tuple[int, int, int]:
    return outcome.ingested, outcome.skipped, outcome.failed


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made:  # type: ignore[no-untyped-call]
        yield made


def test_processes_give_the_same_tables(datasets: list[str], expected: list[EpisodeInfo], tmp_path: Path) -> None:
    outcome = ingest(datasets, catalog=str(tmp_path), workers=2)
    assert counted(outcome) == (40, 0, 0)
    assert comparable(tmp_path) == expected
    assert outcome.bytes_read > 0


def test_one_row_group_with_everything_is_shared_out_and_read_once(tmp_path: Path) -> None:
    place = write_v3(tmp_path / "v3", takes(20, 60), group_rows=10_000)
    (tmp_path / "here").mkdir()
    alone = ingest([str(place)], catalog=str(tmp_path / "here"))
    # Not an executor of threads by its kind: for all the ingest knows, it is elsewhere.
    with _Elsewhere(2) as pool:
        shared = ingest([str(place)], catalog=str(tmp_path / "there"), executor=pool)
    assert pool.tasks >= 4
    assert counted(shared) == counted(alone) == (20, 0, 0)
    assert comparable(tmp_path / "there") == comparable(tmp_path / "here")
    assert shared.bytes_read == alone.bytes_read


def test_a_dataset_that_is_read_here_for_others_fails_alone(
    datasets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_module, "_ONLY_HERE", frozenset({None}))

    whole, first = dataset_module.small_loads, True

    def once(found: Iterator[Any], max_frames: int) -> Iterator[tuple[Any, ...]]:
        nonlocal first
        broken, first = first, False
        for one in whole(found, max_frames):
            yield one
            if broken:
                raise NetworkError("The connection broke.")

    monkeypatch.setattr(dataset_module, "small_loads", once)
    with _Elsewhere(2) as pool:
        outcome = ingest(datasets, catalog=str(tmp_path), executor=pool)
    assert [(one.uri, one.error) for one in outcome.failures] == [(datasets[0], "The connection broke.")]
    assert 20 < outcome.ingested < 40


class _Elsewhere(Executor):
    """Threads that count, and do not look like those of this process."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count)
        self._max_workers = count
        self.tasks = 0

    def submit(self, work: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        self.tasks += 1
        return self._pool.submit(work, *arguments, **more)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def test_a_cluster_gives_the_same_tables(
    cluster: LocalCluster, datasets: list[str], expected: list[EpisodeInfo], tmp_path: Path
) -> None:
    outcome = ingest(datasets, catalog=str(tmp_path), scheduler=cluster.scheduler_address)
    assert counted(outcome) == (40, 0, 0)
    assert comparable(tmp_path) == expected
    assert counted(ingest(datasets, catalog=str(tmp_path), scheduler=cluster.scheduler_address)) == (0, 40, 0)


def test_a_cluster_survives_a_worker_that_is_killed(
    cluster: LocalCluster, datasets: list[str], expected: list[EpisodeInfo], tmp_path: Path
) -> None:
    progress = Progress()
    killed: list[int] = []

    def kill_one() -> None:
        until(lambda: progress.snapshot().items_done > 0, every_s=0.001, deadline_s=60)
        killed.append(next(iter(cluster.workers.values())).process.pid)
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    outcome = ingest(datasets, catalog=str(tmp_path), scheduler=cluster.scheduler_address, progress=progress)
    killer.join()
    assert killed
    assert counted(outcome) == (40, 0, 0)
    assert comparable(tmp_path) == expected


def test_processes_survive_one_that_is_killed(datasets: list[str], expected: list[EpisodeInfo], tmp_path: Path) -> None:
    said: list[str] = []
    before = set(active_children())
    progress = Progress()

    def kill_one() -> None:
        until(lambda: progress.snapshot().items_done > 0, every_s=0.001, deadline_s=60)
        mine = set(active_children()) - before
        os.kill(min(child.pid or 0 for child in mine), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    outcome = ingest(datasets, catalog=str(tmp_path), workers=2, progress=progress, say=said.append)
    killer.join()
    assert counted(outcome) == (40, 0, 0)
    assert comparable(tmp_path) == expected
    assert not set(active_children()) - before


def test_cancelling_ends_the_processes(datasets: list[str], tmp_path: Path) -> None:
    before = set(active_children())
    cancel, progress = CancelToken(), Progress()

    def stop() -> None:
        until(lambda: progress.snapshot().items_done > 0, every_s=0.001, deadline_s=60)
        cancel.cancel()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(CancelledError):
        ingest([*datasets, *datasets], catalog=str(tmp_path), workers=2, cancel=cancel, progress=progress)
    stopper.join()
    until(lambda: not set(active_children()) - before)


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are counted in /proc")
def test_processes_do_not_outlive_an_ingest_that_is_killed(datasets: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noeira_tui", "ingest", *datasets, "--workers", "2", "--catalog", str(tmp_path)]
    ingesting = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(session_of(ingesting.pid)) >= 4, deadline_s=60, what="the start of the processes")
    ingesting.kill()
    ingesting.wait()
    until(lambda: not session_of(ingesting.pid), deadline_s=20, what="the end of the processes")


def session_of(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                found += [int(folder.name)] if session == str(leader) and state not in "ZX" else []
    return found


class Breaking(Executor):
    """An executor of somebody else's, whose tasks fail as those of a cluster that lost its workers do."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("all workers are gone"))
        return future


def test_what_an_executor_cannot_do_is_a_failure_in_words(datasets: list[str], tmp_path: Path) -> None:
    outcome = ingest(datasets[:1], catalog=str(tmp_path), executor=Breaking())
    assert outcome.ingested == 0
    assert outcome.failed > 0
    assert "all workers are gone" in outcome.failures[0].error


def test_an_executor_of_the_callers_is_used_and_left_open(datasets: list[str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert counted(ingest(datasets, catalog=str(tmp_path), executor=pool)) == (40, 0, 0)
        assert pool.submit(lambda: 1).result() == 1


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_CONNECT_S", 0.5)
    with pytest.raises(UnreachableError, match="does not answer"), engine_for(None, "tcp://127.0.0.1:1"):
        pass
    with pytest.raises(UnreachableError, match="does not answer"), engine_for(None, "nonsense://x"):
        pass
