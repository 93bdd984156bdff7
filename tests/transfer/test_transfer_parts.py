"""The small machines inside a transfer: ranges, plans, chunked bodies, retries, the number of connections."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import HTTPException
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.errors import NetworkError, StorageRefusedError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.transfer.chunked import ChunkedBody
from noeira_tui.transfer.facts import Patience
from noeira_tui.transfer.plan import Plan
from noeira_tui.transfer.ramp import MAX_CONNECTIONS, Ramp
from noeira_tui.transfer.ranges import Ranges
from noeira_tui.transfer.retry import Attempts, SharedUrl, retry_after_s
from noeira_tui.transfer.stall import StalledError, StallGuard

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


@given(spans)
def test_ranges_are_a_set_of_bytes(pairs: list[tuple[int, int]]) -> None:
    covered = {byte for first, end in pairs for byte in range(first, end)}
    ranges = Ranges(pairs)
    frozen = ranges.frozen()
    assert {byte for first, end in frozen for byte in range(first, end)} == covered
    assert all(left[1] < right[0] for left, right in pairwise(frozen)), "merged and in order"
    assert ranges.total == len(covered)
    assert ranges.front == next(byte for byte in range(70) if byte not in covered)
    missing = {byte for first, end in ranges.gaps(50) for byte in range(first, end)}
    assert missing == set(range(50)) - covered
    assert {byte for first, end in ranges.below(30) for byte in range(first, end)} == {b for b in covered if b < 30}


@given(st.integers(0, 300 << 20), st.lists(st.tuples(st.integers(0, 1 << 28), st.integers(0, 1 << 28)), max_size=5))
def test_plan_hands_out_every_missing_byte_once(size: int, done: list[tuple[int, int]]) -> None:
    plan = Plan(size, Ranges(done).frozen())
    handed = Ranges(done)
    total = handed.total if not done else sum(end - first for first, end in Ranges(done).below(size))
    while not plan.complete:
        piece = plan.take(4)
        assert piece is not None and piece.end is not None
        total += piece.end - piece.at
        plan.wrote(piece, piece.end - piece.at)
        plan.landed(piece)
    assert total == size
    assert plan.take(4) is None


def test_plan_takes_back_what_was_not_brought() -> None:
    plan = Plan(1000, ())
    piece = plan.take(1)
    assert piece is not None
    plan.wrote(piece, 400)
    plan.landed(piece)
    again = plan.take(1)
    assert again is not None
    assert (again.at, again.end) == (400, 1000)


def test_stopped_plan_hands_out_nothing() -> None:
    plan = Plan(1000, ())
    plan.stop()
    assert plan.take(1) is None
    assert plan.front_beyond(0) == 0


def chunks(parts: list[bytes]) -> bytes:
    body = b"".join(b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in parts if part)
    return body + b"0\r\nTrailer: x\r\n\r\n"


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 20))
def test_chunked_whatever_the_edges_of_the_reads(parts: list[bytes], step: int) -> None:
    raw = bytearray(chunks(parts))
    body = ChunkedBody()
    out = b""
    for start in range(0, len(raw), step):
        view = memoryview(raw)[start : start + step]
        out += bytes(view[: body.strip(view)])
    assert out == b"".join(parts)
    assert body.finished


@pytest.mark.parametrize("raw", [b"zz\r\n", b"3\r\nabcX\r\n", b"1" * 5000])
def test_chunked_nonsense(raw: bytes) -> None:
    with pytest.raises(HTTPException):
        ChunkedBody().strip(memoryview(bytearray(raw)))


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7), (" 0 ", 0), ("soon", None), ("", None), (None, None), ("-3", None)]
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


@pytest.mark.parametrize(("hours", "low", "high"), [(1, 3500, 3600), (-1, 0, 0)])
def test_retry_after_a_date(hours: int, low: float, high: float) -> None:
    found = retry_after_s(format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True))
    assert found is not None and low <= found <= high


def test_connections_that_fail_together_are_one_round() -> None:
    attempts = Attempts(Patience(attempts=2, backoff_s=0))
    tickets = [attempts.ticket() for _ in range(16)]
    for ticket in tickets:
        attempts.failed(NetworkError("gone"), ticket)
    with pytest.raises(NetworkError):
        attempts.failed(NetworkError("gone"), attempts.ticket())


def test_progress_forgives_but_not_a_dribble() -> None:
    attempts = Attempts(Patience(attempts=2, backoff_s=0))
    for _ in range(10):
        attempts.failed(NetworkError("gone"), attempts.ticket(), brought=1)
    attempts.failed(StalledError("starved"), attempts.ticket(), brought=100)
    with pytest.raises(StalledError):
        attempts.failed(StalledError("starved"), attempts.ticket(), brought=100)


def test_what_cannot_succeed_is_not_tried_again() -> None:
    with pytest.raises(StorageRefusedError):
        Attempts(Patience()).failed(StorageRefusedError("no", status=400), 0)


class CountingSource:
    def __init__(self) -> None:
        self.given = 0

    def current(self) -> PresignedUrl:
        return PresignedUrl("http://store/0")

    def refresh(self) -> PresignedUrl:
        self.given += 1
        return PresignedUrl(f"http://store/{self.given}")


def test_one_refresh_for_all_that_were_refused() -> None:
    """(a) 8"""
    source = CountingSource()
    shared = SharedUrl(source)
    generations = [shared.get()[1] for _ in range(16)]
    for generation in generations:
        shared.refused(generation, StorageRefusedError("expired", status=403))
    assert source.given == 1
    assert shared.get()[0].url == "http://store/1"


def test_refreshing_without_progress_is_bounded() -> None:
    """(a) 8"""
    source = CountingSource()
    shared = SharedUrl(source)
    refused = StorageRefusedError("expired", status=403)
    for _ in range(2):
        shared.refused(shared.get()[1], refused)
    with pytest.raises(StorageRefusedError):
        shared.refused(shared.get()[1], refused)
    shared.progressed()
    shared.refused(shared.get()[1], refused)
    assert source.given == 3


def test_stall_guard_counts_only_waiting() -> None:
    guard = StallGuard(Patience(min_rate=10, window_s=5))
    for _ in range(100):
        guard.waited(4.9)
        guard.moved(50)
    guard.waited(4.9)
    guard.moved(49)
    with pytest.raises(StalledError):
        guard.waited(0.2)


def run_ramp(rate_of: object, seconds: float = 5.0, lag: int = 0) -> Ramp:
    ramp, now, moved = Ramp(0.0), 0.0, 0.0
    ramp.ranges_work(now, 0)
    while now < seconds:
        now += 0.03
        moved += 0.03 * rate_of(ramp.target)  # type: ignore[operator]
        ramp.observe(now, int(moved), lag)
    return ramp


def test_capped_connections_are_multiplied() -> None:
    assert run_ramp(lambda connections: connections * 50e6).target == MAX_CONNECTIONS


def test_a_full_link_gets_few() -> None:
    assert run_ramp(lambda connections: 1e9).target <= 4


def test_no_more_while_hashing_lags_behind() -> None:
    assert run_ramp(lambda connections: connections * 50e6, lag=1 << 30).target <= 2


def test_fewer_after_a_refusal() -> None:
    ramp = run_ramp(lambda connections: connections * 50e6)
    ramp.stumbled(5.0)
    ramp.stumbled(5.1)
    assert ramp.target == MAX_CONNECTIONS // 2
