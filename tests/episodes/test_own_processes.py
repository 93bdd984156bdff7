"""Processes that an ingest starts by itself: for large datasets on this box only, and they leave no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes import dataset as dataset_module
from noeira_tui.episodes import engine as engine_module
from noeira_tui.episodes import ingest as ingest_module
from noeira_tui.episodes.engine import Engine
from noeira_tui.episodes.ingest import ingest
from noeira_tui.episodes.processes import WithThisProcess, children_of_ours
from tests.episodes.test_engines import comparable, counted, session_of
from tests.support.episodes_build import takes, write_v3
from tests.support.waiting import until


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_v3(tmp_path_factory.mktemp("made") / "v3", takes(20, 60), group_rows=100))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each ingest that took the whole box, whether it started its processes at once; this box has two cores."""
    asked: list[bool] = []
    real = engine_module.whole_box

    def whole_box(processes: int, *, at_once: bool) -> AbstractContextManager[Engine]:
        asked.append(at_once)
        return real(processes, at_once=at_once)

    monkeypatch.setattr(ingest_module, "whole_box", whole_box)
    monkeypatch.setattr(ingest_module, "cores", lambda: 2)
    monkeypatch.setattr(dataset_module, "_LEAST_PART", 100)
    return asked


def test_a_large_dataset_is_scored_by_this_process_and_others(
    dataset: str, tmp_path: Path, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_module, "_LARGE", 1_000)
    there, here = tmp_path / "there", tmp_path / "here"
    assert counted(ingest([dataset], catalog=str(there), is_alone=True)) == (20, 0, 0)
    assert started == [True]
    # Neither where the call shares its process, nor where it says how many.
    assert counted(ingest([dataset], catalog=str(here))) == (20, 0, 0)
    assert counted(ingest([dataset], catalog=str(here), is_alone=True, workers=1)) == (0, 20, 0)
    assert started == [True]
    assert comparable(there) == comparable(here)
    # Where there may be nothing to do, nothing is started before there is.
    assert counted(ingest([dataset], catalog=str(there), is_alone=True)) == (0, 20, 0)
    assert started == [True, False]


def test_a_small_or_unreadable_dataset_needs_no_processes(dataset: str, tmp_path: Path, started: list[bool]) -> None:
    assert counted(ingest([dataset], catalog=str(tmp_path), is_alone=True)) == (20, 0, 0)
    assert counted(ingest([str(tmp_path / "none")], catalog=str(tmp_path), is_alone=True)) == (0, 0, 1)
    assert started == []


def test_both_this_process_and_the_other_work() -> None:
    with children_of_ours(), WithThisProcess(1) as pool:
        gate = [pool.submit(process_and_wait, 0.05) for _ in range(20)]
        assert len({future.result(timeout=60) for future in gate}) == 2


def process_and_wait(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def test_a_process_that_is_killed_is_replaced(
    dataset: str, tmp_path: Path, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_module, "_LARGE", 1_000)
    before = set(active_children())

    def kill() -> None:
        until(lambda: set(active_children()) - before, deadline_s=60)
        for child in set(active_children()) - before:
            child.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = ingest([dataset], catalog=str(tmp_path), is_alone=True)
    killer.join()
    assert counted(outcome) == (20, 0, 0)


class _Refusing(Executor):
    """An executor that has no process for a task, as one whose server was killed."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        raise ConnectionRefusedError(111, "Connection refused")


def test_processes_that_cannot_be_started_are_started_again_a_few_times(
    dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(1) as pool:
        good = Engine(_Refusing(), 2, again=lambda: pool)
        monkeypatch.setattr(Engine, "around", lambda executor: good)
        assert counted(ingest([dataset], catalog=str(tmp_path / "a"), executor=pool)) == (20, 0, 0)
    bad = Engine(_Refusing(), 2, again=_Refusing)
    monkeypatch.setattr(Engine, "around", lambda executor: bad)
    outcome = ingest([dataset], catalog=str(tmp_path / "b"), executor=_Refusing())
    assert outcome.ingested == 0
    assert outcome.failed > 0
    assert "die again and again" in outcome.failures[0].error


class _DyingOfTheSameSignal(Executor):
    """Its processes are ended together with this one, which hears of it a moment later."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        cancel = self._cancel

        class Dead(Future[Any]):
            def exception(self, timeout: float | None = None) -> BaseException | None:
                cancel.cancel()
                return super().exception(timeout)

        given = Dead()
        given.set_exception(BrokenExecutor("terminated"))
        return given


def test_no_other_processes_are_started_for_an_ingest_that_is_stopped(
    dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel, again = CancelToken(), list[bool]()
    dying = _DyingOfTheSameSignal(cancel)

    def another() -> Executor:
        again.append(True)
        return dying

    monkeypatch.setattr(Engine, "around", lambda executor: Engine(dying, 2, again=another))
    with pytest.raises(CancelledError):
        ingest([dataset], catalog=str(tmp_path / "catalog"), executor=dying, cancel=cancel)
    assert not again


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are counted in /proc")
@pytest.mark.parametrize("processes", [2, 3, 5])
def test_ctrl_c_is_told_once_whenever_it_comes(dataset: str, tmp_path: Path, processes: int) -> None:
    """A terminal sends it to every process of the command, some of which are still importing."""
    command = [sys.executable, "-m", "noeira_tui", "ingest", dataset, "--workers", "2", "--catalog", str(tmp_path)]
    ingesting = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until(lambda: len(session_of(ingesting.pid)) >= processes or ingesting.poll() is not None, deadline_s=60)
    os.killpg(ingesting.pid, signal.SIGINT)
    errors = ingesting.communicate(timeout=60)[1]
    assert "Traceback" not in errors
    # It may have been through already.
    assert ingesting.returncode in {0, 130}, errors
    until(lambda: not session_of(ingesting.pid), deadline_s=20, what="the end of the processes")
