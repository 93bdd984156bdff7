"""Token buckets, in one process and in a file that several processes map."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from noeira_tui.service import limits
from noeira_tui.service.limits import Buckets, SharedBuckets

Moment = list[float]


@pytest.fixture(params=["alone", "shared"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[float, float, Moment], Buckets]:
    def made(per_second: float, burst: float, moment: Moment) -> Buckets:
        if request.param == "alone":
            return Buckets(per_second, burst, lambda: moment[0])
        SharedBuckets.make(tmp_path / "file")
        return SharedBuckets(tmp_path / "file", per_second, burst, lambda: moment[0])

    return made


def test_a_bucket_fills_again(make: Callable[[float, float, Moment], Buckets]) -> None:
    moment = [0.0]
    buckets = make(2, 4, moment)
    assert [buckets.take("a") for _ in range(6)] == [0, 0, 0, 0, 1, 1]
    moment[0] = 1.0
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1]
    assert buckets.take("b") == 0
    slow = make(0.1, 1, moment)
    assert [slow.take("a"), slow.take("a")] == [0, 10]
    assert all(make(0, 1, moment).take("a") == 0 for _ in range(9))


def test_a_clock_that_goes_back_takes_nothing_away(make: Callable[[float, float, Moment], Buckets]) -> None:
    moment = [1000.0]
    buckets = make(1, 3, moment)
    assert buckets.take("a") == 0
    moment[0] = 10.0
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1]


def test_many_names_free_nobody(make: Callable[[float, float, Moment], Buckets]) -> None:
    moment = [0.0]
    buckets = make(1, 2, moment)
    assert [buckets.take("spent") for _ in range(3)] == [0, 0, 1]
    for number in range(30_000):
        buckets.take(f"client {number}")
    assert buckets.take("spent") == 1


def test_forgetting_full_buckets_frees_memory() -> None:
    moment = [0.0]
    buckets = Buckets(1, 1, lambda: moment[0])
    for number in range(20_000):
        buckets.take(f"client {number}")
    moment[0] = 10.0
    for number in range(20_000, 41_000):
        buckets.take(f"client {number}")
    assert len(buckets._levels) < 30_000


def taken(path: Path, times: int) -> int:
    # In a process of its own. On a busy machine the lock's holder may be kept off the processor for long.
    limits._LOCK_TRIES = 10_000_000
    buckets = SharedBuckets(path, 0.001, 500)
    return sum(buckets.take("key") == 0 for _ in range(times))


def test_processes_count_together(tmp_path: Path) -> None:
    SharedBuckets.make(tmp_path / "file")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert sum(pool.starmap(taken, [(tmp_path / "file", 400)] * 3)) == 500


def test_a_process_that_stands_still_with_the_lock_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_LOCK_TRIES", 3)
    SharedBuckets.make(tmp_path / "file")
    buckets = SharedBuckets(tmp_path / "file", 1, 2)
    other = os.open(tmp_path / "file", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1]
    os.close(other)
    buckets.close()
