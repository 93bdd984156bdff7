from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.ports import NoLimit
from noeira_tui.core.progress import CancelToken, ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.records import JobSpec, JobState
from noeira_tui.jobs.store import JobStore
from noeira_tui.jobs.work import BoxLedger, SharedRate, shared_context

# -- what others will still write


def announced(store: JobStore, spec: JobSpec, me: ProcessOwner, done: int, total: int | None) -> int:
    record = store.create(spec, owner=me)
    store.beat(record.id, me, ProgressSnapshot(bytes_done=done, bytes_total=total))
    return record.id


def test_the_ledger_counts_what_other_live_jobs_will_still_write_there(
    store: JobStore, spec: JobSpec, me: ProcessOwner, tmp_path: Path
) -> None:
    mine = announced(store, spec, me, 0, 1_000_000)
    announced(store, spec, me, 30, 100)
    announced(store, replace(spec, folder=str(tmp_path / "not" / "yet" / "there")), me, 0, 7)
    announced(store, spec, me, 5, None)
    announced(store, spec, me, 120, 100)
    announced(store, replace(spec, folder=""), me, 0, 1000)
    announced(store, replace(spec, folder="/proc/self"), me, 0, 1000)
    over = announced(store, spec, me, 0, 1000)
    store.finish(over, JobState.FAILED, ProgressSnapshot(0, 1000), owner=me)
    assert BoxLedger(store, mine).promised_bytes(tmp_path) == 70 + 7
    assert BoxLedger(store, mine).promised_bytes(tmp_path / "new" / "folder") == 70 + 7
    assert BoxLedger(store, None).promised_bytes(tmp_path) == 1_000_000 + 77


def test_a_ledger_without_a_state_folder_knows_of_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert BoxLedger(JobStore(StateDb(tmp_path / "file")), None).promised_bytes(tmp_path) == 0


# -- bandwidth


class Recorder(CancelToken):
    """A token that does not wait but remembers how long it should have, on a clock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.check()


@pytest.mark.parametrize(("running", "expected_s"), [(1, 10.0), (2, 20.0), (0, 10.0)])
def test_a_transfer_gets_an_even_share(running: int, expected_s: float) -> None:
    cancel = Recorder()
    limit = SharedRate(1_000_000, lambda: running, clock=lambda: cancel.now)
    for _ in range(101):
        limit.take(100_000, cancel)
    assert cancel.now == pytest.approx(expected_s, rel=0.02)


def test_the_share_follows_the_number_of_transfers() -> None:
    cancel, running = Recorder(), [1]
    limit = SharedRate(1_000_000, lambda: running[0], clock=lambda: cancel.now)
    for _ in range(50):
        limit.take(100_000, cancel)
    assert cancel.now == pytest.approx(5, rel=0.05)
    running[0] = 5
    for _ in range(50):
        limit.take(100_000, cancel)
    assert cancel.now == pytest.approx(5 + 25, rel=0.1)


def test_threads_of_one_transfer_share_its_share() -> None:
    limit = SharedRate(2_000_000, lambda: 1)
    began = time.monotonic()

    def move() -> None:
        for _ in range(10):
            limit.take(10_000, CancelToken())

    threads = [threading.Thread(target=move) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 0.19


def test_a_wait_for_bandwidth_ends_when_cancelled() -> None:
    limit, cancel = SharedRate(1, lambda: 1), CancelToken()
    limit.take(1_000_000, cancel)
    threading.Timer(0.05, cancel.cancel).start()
    with pytest.raises(CancelledError):
        limit.take(1, cancel)


def test_the_limit_comes_from_the_settings_and_counts_running_jobs(
    store: JobStore, spec: JobSpec, me: ProcessOwner, tmp_path: Path
) -> None:
    def context(environ: dict[str, str]) -> object:
        return shared_context(Settings.load(environ=environ, cwd=tmp_path), store, 1).limit

    assert isinstance(context({}), NoLimit)
    for _ in range(4):
        store.create(spec, owner=me)
    store.beat(4, me, ProgressSnapshot(), paused=True)
    limit, cancel = context({"NOEIRA_MAX_RATE": "3MB/s"}), Recorder()
    assert isinstance(limit, SharedRate)
    limit.take(1_000_000, cancel)
    limit.take(1, cancel)
    assert cancel.now == pytest.approx(1.0, abs=0.1), "3 MB/s for three that run: one has 1 MB/s"
