"""Downloads under every fault of the hard cases (a); the number of each case is in its test's docstring."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace as replaced
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from noeira_tui.core.errors import (
    CancelledError,
    DestinationError,
    DiskFullError,
    NetworkError,
    StorageRefusedError,
    VerificationError,
)
from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.download import download, part_path, partial_bytes
from noeira_tui.transfer.facts import Downloaded, FileStamp, Patience, Replace, TransferContext, Wanted
from noeira_tui.transfer.journal import read_journal
from noeira_tui.transfer.part import journal_path
from tests.support.faulty_server import FAST, FAST_CONTEXT, SECRET, Fault, FaultyServer, Kind


def pull(server: FaultyServer, dest: Path, **more: object):
    more.setdefault("context", FAST_CONTEXT)
    source = more.pop("source", None) or server.source()
    return download(source, dest, more.pop("wanted", server.wanted), **more)


def leave_part(server: FaultyServer, dest: Path, size: int) -> None:
    """An interrupted download of `size` bytes."""
    server.will(Fault(Kind.CUT, size), *[Fault(Kind.RESET)] * 10)
    with pytest.raises(NetworkError):
        pull(server, dest)
    server.faults.clear()
    server.seen.clear()
    assert partial_bytes(dest) == size


def names(dest: Path) -> list[str]:
    return sorted(path.name for path in dest.parent.iterdir())


@pytest.fixture(params=["small", "large"])
def server(request: pytest.FixtureRequest) -> FaultyServer:
    return request.getfixturevalue(request.param)


def test_honest(server: FaultyServer, dest: Path) -> None:
    progress = Progress()
    done = pull(server, dest, progress=progress)
    assert dest.read_bytes() == server.content
    assert names(dest) == [dest.name]
    assert (done.sha256, done.size_bytes) == (server.wanted.sha256, len(server.content))
    assert done.bytes_transferred == len(server.content) == server.bytes_sent
    assert (done.resumed_from, done.requests) == (0, server.requests)
    assert server.bytes_sent_twice == 0
    snapshot = progress.snapshot()
    assert (snapshot.bytes_done, snapshot.bytes_total) == (len(server.content), len(server.content))


def test_large_file_uses_several_ranges(large: FaultyServer, dest: Path) -> None:
    pull(large, dest)
    assert large.requests > 2
    assert all("Range" in one.headers for one in large.seen)


@pytest.mark.parametrize("size", [0, 1])
def test_tiny(dest: Path, size: int) -> None:
    with FaultyServer(b"x" * size) as server:
        pull(server, dest)
        assert dest.read_bytes() == b"x" * size


@pytest.mark.parametrize("size", [0, 1, 300_000, 9 << 20])
@pytest.mark.parametrize("kind", [None, Kind.IGNORE_RANGE, Kind.CHUNKED, Kind.NO_LENGTH])
def test_unknown_size(dest: Path, size: int, kind: Kind | None) -> None:
    with FaultyServer(os.urandom(size)) as server:
        server.always = None if kind is None else Fault(kind)
        pull(server, dest, wanted=Wanted(server.wanted.sha256))
        assert dest.read_bytes() == server.content


def test_resume_goes_on_at_the_byte(server: FaultyServer, dest: Path) -> None:
    leave_part(server, dest, 100_000)
    progress = Progress()
    done = pull(server, dest, progress=progress)
    assert dest.read_bytes() == server.content
    assert done.resumed_from == 100_000
    assert done.bytes_transferred == len(server.content) - 100_000 == server.bytes_sent
    assert progress.snapshot().bytes_done == len(server.content)


def test_range_ignored_on_resume(server: FaultyServer, dest: Path) -> None:
    """(a) 1"""
    leave_part(server, dest, 100_000)
    server.always = Fault(Kind.IGNORE_RANGE)
    pull(server, dest)
    assert dest.read_bytes() == server.content


def test_server_without_ranges_that_breaks(server: FaultyServer, dest: Path) -> None:
    """(a) 1: every attempt begins again, and the number of them is bounded."""
    server.always = Fault(Kind.IGNORE_RANGE)
    server.will(Fault(Kind.CUT, 1000), Fault(Kind.IGNORE_RANGE))
    pull(server, dest)
    assert dest.read_bytes() == server.content


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Kind.WRONG_START, 5),
        Fault(Kind.NO_CONTENT_RANGE),
        Fault(Kind.SHORT, 1000),
        Fault(Kind.CUT, 1000),
        Fault(Kind.RESET),
        Fault(Kind.STATUS, 500),
        Fault(Kind.STATUS, 503),
        Fault(Kind.WRONG_TOTAL),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.value}",
)
def test_one_odd_answer(server: FaultyServer, dest: Path, fault: Fault) -> None:
    """(a) 2: only Content-Range is believed, a short body is continued."""
    leave_part(server, dest, 100_000)
    server.will(fault)
    pull(server, dest)
    assert dest.read_bytes() == server.content
    if fault.kind in {Kind.SHORT, Kind.CUT, Kind.RESET, Kind.STATUS}:
        assert server.bytes_sent_twice == 0


@pytest.mark.parametrize("kind", [Kind.NO_CONTENT_RANGE, Kind.WRONG_START])
def test_odd_answers_for_ever(server: FaultyServer, dest: Path, kind: Kind) -> None:
    """(a) 2"""
    leave_part(server, dest, 100_000)
    server.always = Fault(kind, 7)
    with pytest.raises(NetworkError):
        pull(server, dest)
    assert not dest.exists()
    assert partial_bytes(dest) == 100_000


def test_full_part_needs_no_request(server: FaultyServer, dest: Path) -> None:
    """(a) 3"""
    dest.parent.mkdir()
    part_path(dest).write_bytes(server.content)
    done = pull(server, dest)
    assert (server.requests, done.requests, done.bytes_transferred) == (0, 0, 0)
    assert dest.read_bytes() == server.content
    assert names(dest) == [dest.name]


def test_part_too_long_restarts(server: FaultyServer, dest: Path) -> None:
    """(a) 3"""
    dest.parent.mkdir()
    part_path(dest).write_bytes(server.content + b"more")
    pull(server, dest)
    assert dest.read_bytes() == server.content


def test_416_restarts_once(small: FaultyServer, dest: Path) -> None:
    """(a) 3"""
    leave_part(small, dest, 100_000)
    small.will(Fault(Kind.NOT_SATISFIABLE))
    pull(small, dest)
    assert dest.read_bytes() == small.content
    assert [one.headers.get("Range") for one in small.seen] == ["bytes=100000-299999", None]


def test_416_for_ever(large: FaultyServer, dest: Path) -> None:
    """(a) 3: not for ever."""
    large.always = Fault(Kind.NOT_SATISFIABLE)
    with pytest.raises(StorageRefusedError) as caught:
        pull(large, dest)
    assert caught.value.status == 416
    assert large.requests <= 3 * 32


@pytest.mark.parametrize("offset", [0, 150_000])
def test_wrong_bytes_get_one_clean_retry(server: FaultyServer, dest: Path, offset: int) -> None:
    """(a) 4"""
    server.will(Fault(Kind.FLIP, offset))
    done = pull(server, dest)
    assert dest.read_bytes() == server.content
    assert done.bytes_transferred == 2 * len(server.content)


def test_wrong_resumed_prefix(server: FaultyServer, dest: Path) -> None:
    """(a) 4: the prefix on the disk is hashed too."""
    leave_part(server, dest, 100_000)
    with part_path(dest).open("r+b") as stream:
        stream.write(b"not it")
    pull(server, dest)
    assert dest.read_bytes() == server.content


def test_wrong_bytes_for_ever(server: FaultyServer, dest: Path) -> None:
    """(a) 4: both digests are shown and nothing is published."""
    server.always = Fault(Kind.FLIP, 10)
    wrong = bytearray(server.content)
    wrong[10] ^= 0xFF
    with pytest.raises(VerificationError) as caught:
        pull(server, dest)
    actual = hashlib.sha256(wrong).hexdigest()
    assert (caught.value.expected, caught.value.actual) == (server.wanted.sha256, actual)
    assert actual in str(caught.value) and server.wanted.sha256 in str(caught.value)
    assert names(dest) == []
    assert server.bytes_sent == 2 * len(server.content)


def test_object_longer_than_promised(server: FaultyServer, dest: Path) -> None:
    """(a) 2 and 4: the total of Content-Range is not the catalog's size."""
    wanted = Wanted(server.wanted.sha256, len(server.content) - 1)
    with pytest.raises(VerificationError, match="promised"):
        pull(server, dest, wanted=wanted)
    assert names(dest) == []


def test_body_longer_than_promised(small: FaultyServer, dest: Path) -> None:
    small.will(Fault(Kind.TOO_LONG))
    pull(small, dest)
    assert dest.read_bytes() == small.content
    small.always = Fault(Kind.TOO_LONG)
    with pytest.raises(VerificationError):
        pull(small, dest.with_name("other"))


def test_replaced_between_attempts(server: FaultyServer, dest: Path) -> None:
    """(a) 6: same size, other contents: the journal's digest decides."""
    leave_part(server, dest, 100_000)
    server.content = bytes(reversed(server.content))
    done = pull(server, dest)
    assert dest.read_bytes() == server.content
    assert done.resumed_from == 0
    assert done.bytes_transferred == len(server.content)


def test_another_size_in_the_journal(server: FaultyServer, dest: Path) -> None:
    """(a) 6"""
    leave_part(server, dest, 100_000)
    server.content += b"appended"
    assert pull(server, dest).resumed_from == 0
    assert dest.read_bytes() == server.content


def test_gzip_by_a_proxy(server: FaultyServer, dest: Path) -> None:
    """(a) 7"""
    server.always = Fault(Kind.GZIP)
    pull(server, dest)
    assert dest.read_bytes() == server.content
    assert all(one.headers["Accept-Encoding"] == "identity" for one in server.seen)


def test_gzip_cut_is_never_resumed(small: FaultyServer, dest: Path) -> None:
    """(a) 7"""
    small.will(Fault(Kind.GZIP), Fault(Kind.GZIP))
    small.content = b"easy " * 60_000
    pull(small, dest)
    assert dest.read_bytes() == small.content


def test_expiry_mid_way_is_one_refresh(large: FaultyServer, dest: Path) -> None:
    """(a) 8: with several connections open; nothing is sent twice."""
    large.pace_s = 0.002
    large.will(Fault(Kind.CUT, 1 << 40), Fault(Kind.CUT, 1 << 40), Fault(Kind.CUT, 1 << 40), Fault(Kind.EXPIRE))
    source = large.source()
    pull(large, dest, source=source)
    assert dest.read_bytes() == large.content
    assert source.refreshes == 1
    assert large.bytes_sent_twice == 0


def test_refused_for_ever(server: FaultyServer, dest: Path) -> None:
    """(a) 8: refreshing without progress is bounded."""
    server.always = Fault(Kind.STATUS, 403)
    source = server.source()
    with pytest.raises(StorageRefusedError) as caught:
        pull(server, dest, source=source)
    assert caught.value.status == 403
    assert source.refreshes == 2


def test_url_about_to_expire_is_refreshed_before_it_is_used(small: FaultyServer, dest: Path) -> None:
    class Old:
        asked = 0

        def current(self) -> PresignedUrl:
            return PresignedUrl(f"{small.origin}/old", datetime.now(UTC) + timedelta(seconds=3))

        def refresh(self) -> PresignedUrl:
            self.asked += 1
            return PresignedUrl(f"{small.origin}/fresh", datetime.now(UTC) - timedelta(days=1))

    old = Old()
    small.will(Fault(Kind.CUT, 1000), Fault(Kind.CUT, 1000))
    pull(small, dest, source=old)
    assert {one.path for one in small.seen} == {"/fresh"}
    assert old.asked == 1, "a URL born expired tells of a wrong clock, not of an expired URL"


def test_redirect_carries_nothing(small: FaultyServer, dest: Path) -> None:
    """(a) 9"""
    with FaultyServer(small.content) as other:
        small.will(Fault(Kind.REDIRECT, location=f"{other.origin}/there"))
        pull(small, dest)
        assert dest.read_bytes() == small.content
        [seen] = other.seen
        assert seen.query == ""
        assert set(seen.headers) == {"Host", "Accept-Encoding", "User-Agent"}


def test_redirects_for_ever(small: FaultyServer, dest: Path) -> None:
    small.always = Fault(Kind.REDIRECT, location="/again")
    with pytest.raises(NetworkError, match="redirects more than"):
        pull(small, dest)


def test_no_head_is_ever_sent(server: FaultyServer, dest: Path) -> None:
    """(a) 10"""
    pull(server, dest, wanted=Wanted(server.wanted.sha256))
    assert {one.method for one in server.seen} == {"GET"}


@pytest.mark.parametrize("fault", [Fault(Kind.DRIBBLE, 5), Fault(Kind.SILENT)], ids=["dribble", "silent"])
def test_starved_connection_is_dead(server: FaultyServer, dest: Path, fault: Fault) -> None:
    """(a) 11: an idle timeout that a dribble satisfies would never end this."""
    server.will(fault)
    began = time.monotonic()
    pull(server, dest)
    assert dest.read_bytes() == server.content
    assert time.monotonic() - began < 15


def test_dribble_for_ever(small: FaultyServer, dest: Path) -> None:
    """(a) 11: bytes of a starved connection are no progress."""
    small.always = Fault(Kind.DRIBBLE, 5)
    context = TransferContext(patience=replaced(FAST, attempts=2))
    with pytest.raises(NetworkError, match="bytes moved in"):
        pull(small, dest, context=context)


def test_slow_but_alive_is_left_alone(dest: Path) -> None:
    """(a) 11: no total timeout."""
    with FaultyServer(os.urandom(40_000)) as server:
        server.always = Fault(Kind.DRIBBLE, 1000)
        began = time.monotonic()
        done = pull(server, dest)
        assert (done.requests, time.monotonic() - began > 3 * FAST.window_s) == (1, True)


def test_the_clock_stands_while_paused(small: FaultyServer, dest: Path) -> None:
    """(a) 11"""
    cancel, progress = CancelToken(), Progress()
    small.pace_s = 0.02
    thread, result = in_thread(lambda: pull(small, dest, cancel=cancel, progress=progress))
    wait_until(lambda: progress.snapshot().bytes_done > 0)
    cancel.pause()
    time.sleep(2 * FAST.window_s)
    cancel.resume()
    thread.join(20)
    assert result[0].requests == 1
    assert dest.read_bytes() == small.content


def test_many_breaks_with_progress(small: FaultyServer, dest: Path) -> None:
    """(a) 11: attempts count only without progress."""
    small.will(*[Fault(Kind.CUT, 10_000)] * 25)
    done = pull(small, dest)
    assert done.requests == 26
    assert small.bytes_sent_twice == 0


def test_breaks_without_progress_are_bounded(server: FaultyServer, dest: Path) -> None:
    """(a) 11"""
    server.always = Fault(Kind.RESET)
    with pytest.raises(NetworkError):
        pull(server, dest)
    assert server.requests <= FAST.attempts


def test_no_listener(dest: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/x?X-Amz-Signature={SECRET}"
        with pytest.raises(NetworkError, match="refused") as caught:
            download(FixedUrl(PresignedUrl(url)), dest, Wanted("0" * 64, 10), context=FAST_CONTEXT)
    assert caught.value.retryable


def test_disk_checked_with_other_work_counted(server: FaultyServer, dest: Path) -> None:
    """(a) 13"""

    class Busy:
        def reserve(self, folder: Path, size_bytes: int):
            from contextlib import nullcontext

            return nullcontext()

        def promised_bytes(self, folder: Path) -> int:
            return 1 << 60

    with pytest.raises(DiskFullError) as caught:
        pull(server, dest, context=TransferContext(ledger=Busy(), patience=FAST))
    assert caught.value.missing_bytes > 1 << 59
    assert server.requests == 0


def test_disk_full_keeps_the_part(server: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(a) 13: ENOSPC in the middle says how much is missing, and the next run goes on."""
    room = 200_000
    real = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if offset + len(data) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data, offset)

    leave_part(server, dest, 100_000)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", pwrite)
        with pytest.raises(DiskFullError) as caught:
            pull(server, dest)
    assert caught.value.missing_bytes >= 1
    assert (partial_bytes(dest) or 0) >= 100_000
    assert pull(server, dest).resumed_from >= 100_000
    assert dest.read_bytes() == server.content


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_holds_all_workers(large: FaultyServer, dest: Path, form: str) -> None:
    """(a) 14"""
    asked = "1" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    large.will(Fault(Kind.STATUS, 429, (("Retry-After", asked),)))
    began = time.monotonic()
    pull(large, dest)
    assert dest.read_bytes() == large.content
    assert 0.9 < time.monotonic() - began < 10


def test_publish_is_durable(server: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(a) 15: fsync of the file, then the rename, then fsync of the folder."""
    steps: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        name = Path(f"/proc/self/fd/{fd}").readlink().name
        steps.append(f"{name} {'after' if dest.exists() else 'before'}")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    pull(server, dest)
    assert steps == [f"{part_path(dest).name} before", f"{dest.parent.name} after"]


@pytest.mark.parametrize("content", [b"", b"short"])
def test_short_file_is_no_hit(small: FaultyServer, dest: Path, content: bytes) -> None:
    """(a) 15"""
    dest.parent.mkdir()
    dest.write_bytes(content)
    pull(small, dest, replace=Replace(stamp=FileStamp.of(dest.stat())))
    assert dest.read_bytes() == small.content


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Kind.STATUS, 403),
        Fault(Kind.STATUS, 400),
        Fault(Kind.STATUS, 500),
        Fault(Kind.RESET),
        Fault(Kind.FLIP, 3),
        Fault(Kind.HTML),
        Fault(Kind.WRONG_TOTAL),
        Fault(Kind.REDIRECT, location=f"/x?sig={SECRET}"),
    ],
    ids=lambda fault: f"{fault.kind}{fault.value}",
)
def test_secrets_stay_out_of_errors(server: FaultyServer, dest: Path, fault: Fault) -> None:
    """(a) 16: chained ones too."""
    server.always = fault
    with pytest.raises((NetworkError, StorageRefusedError, VerificationError)) as caught:
        pull(server, dest, wanted=replaced(server.wanted, sha256="0" * 64))
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error!r} {error.args} {getattr(error, 'hint', '')}"
        error = error.__cause__ or error.__context__


def test_bad_url_shows_no_query(dest: Path) -> None:
    """(a) 16: http.client would show the whole target."""
    source = FixedUrl(PresignedUrl(f"http://127.0.0.1:1/a b?X-Amz-Signature={SECRET}"))
    with pytest.raises(NetworkError) as caught:
        download(source, dest, Wanted("0" * 64, 10), context=FAST_CONTEXT)
    assert SECRET not in repr(caught.value)


def test_cancel_keeps_what_arrived(server: FaultyServer, dest: Path) -> None:
    cancel, progress = CancelToken(), Progress()
    server.pace_s = 0.02
    thread, result = in_thread(lambda: pull(server, dest, cancel=cancel, progress=progress))
    wait_until(lambda: progress.snapshot().bytes_done > 60_000)
    cancel.cancel()
    thread.join(5)
    assert not thread.is_alive()
    assert isinstance(result[0], CancelledError)
    kept = partial_bytes(dest) or 0
    assert kept >= 60_000
    server.pace_s = 0
    assert pull(server, dest).resumed_from == kept
    assert dest.read_bytes() == server.content


def test_cancel_while_the_server_is_silent(server: FaultyServer, dest: Path) -> None:
    cancel = CancelToken()
    server.always = Fault(Kind.SILENT)
    context = TransferContext(patience=Patience(tick_s=0.05))
    thread, result = in_thread(lambda: pull(server, dest, cancel=cancel, context=context))
    wait_until(lambda: part_path(dest).exists())
    cancel.cancel()
    thread.join(5)
    assert isinstance(result[0], CancelledError)


def test_rate_limit_is_asked_for_every_byte(server: FaultyServer, dest: Path) -> None:
    taken: list[int] = []

    class Limit:
        def take(self, size_bytes: int, cancel: CancelToken) -> None:
            taken.append(size_bytes)

    pull(server, dest, context=TransferContext(limit=Limit(), patience=FAST))
    assert sum(taken) == len(server.content)


def test_ipv6(dest: Path) -> None:
    try:
        server = FaultyServer(b"six" * 1000, family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on loopback")
    with server:
        pull(server, dest)
        assert dest.read_bytes() == server.content


def test_proxy_is_used_and_excepted(small: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = FixedUrl(PresignedUrl("http://store.example:8080/object?X-Amz-Signature=s"))
    monkeypatch.setenv("HTTP_PROXY", small.origin.replace("http://", "http://me:pw@"))
    monkeypatch.setenv("http_proxy", small.origin.replace("http://", "http://me:pw@"))
    pull(small, dest, source=url)
    [seen] = small.seen
    assert seen.headers["Host"] == "store.example:8080"
    assert seen.headers["Proxy-Authorization"] == "Basic bWU6cHc="
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with FaultyServer(small.content) as direct:
        pull(direct, dest.with_name("direct"))
        assert direct.requests == 1


def test_unusable_proxy_is_named(small: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(NetworkError, match="socks5"):
        pull(small, dest)


def in_thread(action: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    result: list[object] = []

    def run() -> None:
        try:
            result.append(action())
        except (CancelledError, NetworkError, DestinationError) as err:
            result.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, result


def wait_until(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.005)


def test_journal_says_what_is_there(large: FaultyServer, dest: Path) -> None:
    leave_part(large, dest, 1 << 20)
    journal = read_journal(journal_path(part_path(dest)))
    assert journal is not None
    assert (journal.sha256, journal.size_bytes) == (large.wanted.sha256, len(large.content))
    assert (journal.done, journal.owner) == (((0, 1 << 20),), None)


def test_bandwidth_limit_that_holds_a_small_file_back(small: FaultyServer, dest: Path) -> None:
    """What arrived while a limit holds it back is in the journal before the transfer goes on."""
    free = threading.Event()
    noted: list[int] = []

    class Limit:
        def take(self, size_bytes: int, cancel: CancelToken) -> None:
            assert free.wait(20)

    small.will(Fault(Kind.CUT, 100_000))
    thread, result = in_thread(lambda: pull(small, dest, context=TransferContext(limit=Limit(), patience=FAST)))
    wait_until(lambda: (partial_bytes(dest) or 0) > 0)
    noted.append(partial_bytes(dest) or 0)
    free.set()
    thread.join(20)
    assert isinstance(result[0], Downloaded)
    assert 0 < noted[0] <= 100_000
    assert dest.read_bytes() == small.content
