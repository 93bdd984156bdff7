"""Processes that an ingest starts by itself: for large datasets on this box only, and they leave no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from noeira_tui.episodes import dataset as dataset_module
from noeira_tui.episodes import engine as engine_module
from noeira_tui.episodes import ingest as ingest_module
from noeira_tui.episodes.engine import Engine
from noeira_tui.episodes.ingest import ingest
from tests.episodes.test_engines import comparable, counted, session_of
from tests.support.episodes_build import takes, write_v3
from tests.support.waiting import until


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_v3(tmp_path_factory.mktemp("made") / "v3", takes(20, 60), group_rows=100))


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, bool]]:
    """The processes that each ingest asked for, and whether to be started at once; this box has two cores."""
    asked: list[tuple[int | None, bool]] = []
    real = engine_module.engine_for

    def engine_for(workers: int | None, scheduler: str | None, *, at_once: bool = False, **more: Any) -> Any:
        asked.append((workers, at_once))
        return real(workers, scheduler, at_once=at_once, **more)

    monkeypatch.setattr(ingest_module, "engine_for", engine_for)
    monkeypatch.setattr(ingest_module, "cores", lambda: 2)
    monkeypatch.setattr(dataset_module, "_LEAST_PART", 100)
    return asked


def test_a_large_dataset_is_scored_by_a_process_for_every_core(
    dataset: str, tmp_path: Path, engines: list[tuple[int | None, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_module, "_LARGE", 1_000)
    there, here = tmp_path / "there", tmp_path / "here"
    assert counted(ingest([dataset], catalog=str(there), is_alone=True)) == (20, 0, 0)
    assert counted(ingest([dataset], catalog=str(here))) == (20, 0, 0)
    assert comparable(there) == comparable(here)
    # Where there may be nothing to do, nothing is started before there is.
    assert counted(ingest([dataset], catalog=str(there), is_alone=True)) == (0, 20, 0)
    assert counted(ingest([dataset], catalog=str(there), is_alone=True, workers=1)) == (0, 20, 0)
    assert engines == [(2, True), (None, False), (2, False), (1, False)]


def test_a_small_or_unreadable_dataset_needs_no_processes(
    dataset: str, tmp_path: Path, engines: list[tuple[int | None, bool]]
) -> None:
    assert counted(ingest([dataset], catalog=str(tmp_path), is_alone=True)) == (20, 0, 0)
    assert counted(ingest([str(tmp_path / "none")], catalog=str(tmp_path), is_alone=True)) == (0, 0, 1)
    assert engines == [(None, False), (None, False)]


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
