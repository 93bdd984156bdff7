from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from noeira_tui.core.progress import Progress, ProgressSnapshot


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_counters_and_a_frozen_picture() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.expect(size_bytes=100, items=4)
    progress.already(30)
    progress.advance(20)
    progress.item_done()
    progress.item_done(2)
    progress.enter("downloading")
    progress.attempt(3)
    clock.now += 2
    seen = progress.snapshot()
    assert (seen.bytes_done, seen.bytes_total, seen.items_done, seen.items_total) == (50, 100, 3, 4)
    assert (seen.phase, seen.attempts, seen.elapsed_s) == ("downloading", 3, 2.0)
    progress.advance(50)
    assert seen.bytes_done == 50
    with pytest.raises(FrozenInstanceError):
        seen.bytes_done = 1  # type: ignore[misc]


def test_totals_become_known_one_by_one() -> None:
    progress = Progress(Clock())
    progress.expect(items=2)
    progress.expect(size_bytes=0)
    assert (progress.snapshot().items_total, progress.snapshot().bytes_total) == (2, 0)


def test_the_rate_is_of_the_last_seconds_and_ignores_what_was_here() -> None:
    clock = Clock()
    progress = Progress(clock)
    assert progress.snapshot().rate == 0.0
    progress.already(10**9)
    for _ in range(100):
        clock.now += 0.1
        progress.advance(1_000)
    assert progress.snapshot().rate == pytest.approx(10_000, rel=0.05)
    for _ in range(100):
        clock.now += 0.1
        progress.advance(5_000)
    assert progress.snapshot().rate == pytest.approx(50_000, rel=0.05)
    clock.now += 60
    assert progress.snapshot().rate < 100, "a transfer that stands still has no rate"


def test_time_left_and_share() -> None:
    assert ProgressSnapshot(bytes_done=50, bytes_total=100, rate=10).remaining_s == 5
    assert ProgressSnapshot(bytes_done=120, bytes_total=100, rate=10).remaining_s == 0
    assert ProgressSnapshot(bytes_done=50, bytes_total=100).remaining_s is None
    assert ProgressSnapshot(bytes_done=50, rate=10).remaining_s is None
    assert ProgressSnapshot(bytes_done=50, bytes_total=100, items_done=1, items_total=100).fraction == 0.5
    assert ProgressSnapshot(items_done=1, items_total=4).fraction == 0.25
    assert ProgressSnapshot(bytes_done=120, bytes_total=100).fraction == 1.0
    assert ProgressSnapshot(bytes_done=5).fraction is None


def test_a_restart_and_a_rewind_take_bytes_back_but_not_the_rate() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.advance(1000)
    clock.now += 1
    before = progress.snapshot().rate
    progress.rewind_to(400)
    assert progress.snapshot().bytes_done == 400
    progress.restart()
    assert progress.snapshot().bytes_done == 0
    assert progress.snapshot().rate == before > 0


def test_nothing_is_lost_between_threads() -> None:
    progress = Progress()
    stop = threading.Event()
    seen: list[ProgressSnapshot] = []

    def read() -> None:
        while not stop.is_set():
            seen.append(progress.snapshot())

    def write() -> None:
        for _ in range(2_000):
            progress.advance(3)
            progress.item_done()

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write) for _ in range(8)]
    in_parallel(readers + writers, lambda: [thread.join() for thread in writers])
    stop.set()
    for reader in readers:
        reader.join()
    assert (progress.snapshot().bytes_done, progress.snapshot().items_done) == (48_000, 16_000)
    amounts = [snapshot.bytes_done for snapshot in seen]
    assert all(amount % 3 == 0 for amount in amounts)


def in_parallel(threads: list[threading.Thread], then: Callable[[], object]) -> None:
    for thread in threads:
        thread.start()
    then()
