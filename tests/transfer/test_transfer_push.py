"""Uploads under every fault of the hard cases (b); the number of each case is in its test's docstring."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from noeira_tui.core.errors import (
    CancelledError,
    NetworkError,
    SourceChangedError,
    StorageRefusedError,
    TransferError,
)
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer import upload as upload_module
from noeira_tui.transfer.facts import Patience, TransferContext
from noeira_tui.transfer.upload import SINGLE_PUT_LIMIT_BYTES, Connections, upload
from tests.support.faulty_server import FAST_CONTEXT, SECRET, Fault, FaultyServer, Kind, Source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "set.h5"
    path.write_bytes(os.urandom(3_000_000))
    return path


def put(server: FaultyServer, path: Path, source: Source | None = None, **more: object):
    return upload(path, source or server.source(), context=FAST_CONTEXT, **more)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, 3_000_000])
def test_exact_headers(small: FaultyServer, tmp_path: Path, size: int) -> None:
    """(b) 1: exactly what the URL was signed with; a length even for nothing; no chunks, no checksums."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(size))
    progress = Progress()
    done = put(small, path, progress=progress)
    [seen] = small.seen
    assert seen.headers == {"Host": f"127.0.0.1:{small.port}", "Content-Length": str(size)}
    assert small.uploads["/object"] == path.read_bytes()
    assert done.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (done.size_bytes, done.bytes_transferred, done.requests) == (size, size, 1)
    assert progress.snapshot().bytes_done == size


@pytest.mark.parametrize(
    "fault",
    [Fault(Kind.RESET), Fault(Kind.CUT, 100_000), Fault(Kind.STATUS, 503), Fault(Kind.STATUS, 500)],
    ids=lambda fault: f"{fault.kind}{fault.value}",
)
def test_retry_sends_everything_again(small: FaultyServer, file: Path, fault: Fault) -> None:
    """(b) 2: the file is opened again."""
    small.will(fault, fault)
    progress = Progress()
    done = put(small, file, progress=progress)
    assert small.uploads["/object"] == file.read_bytes()
    assert done.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert done.requests == 3
    assert progress.snapshot().bytes_done == file.stat().st_size


def test_refused_early_shows_the_refusal(small: FaultyServer, file: Path) -> None:
    """A store that answers in the middle and hangs up: its words are worth more than the broken pipe."""
    file.write_bytes(os.urandom(40_000_000))
    small.upload_fault_after = 1000
    small.always = Fault(Kind.STATUS, 400)
    with pytest.raises((StorageRefusedError, NetworkError)):
        put(small, file)
    assert small.uploads == {}


def test_expired_url_is_refreshed(small: FaultyServer, file: Path) -> None:
    source = small.source()
    small.will(Fault(Kind.EXPIRE))
    put(small, file, source)
    assert source.refreshes == 1
    assert small.uploads["/object"] == file.read_bytes()


def test_refused_for_ever(small: FaultyServer, file: Path) -> None:
    small.always = Fault(Kind.STATUS, 403)
    source = small.source()
    with pytest.raises(StorageRefusedError) as caught:
        put(small, file, source)
    assert (caught.value.status, source.refreshes) == (403, 2)
    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}"


@pytest.mark.parametrize("fault", [Fault(Kind.RESET), Fault(Kind.CUT, 100_000)], ids=lambda fault: fault.kind)
def test_connection_kept_open_that_died(small: FaultyServer, file: Path, fault: Fault) -> None:
    """(b) 2: what is sent again is hashed again from its beginning."""
    connections = Connections(CancelToken(), FAST_CONTEXT)
    first = put(small, file, connections=connections)
    small.will(fault)
    second = put(small, file, connections=connections)
    connections.close()
    assert first.sha256 == second.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert small.uploads["/object"] == file.read_bytes()


def test_moved_elsewhere(small: FaultyServer, file: Path) -> None:
    with FaultyServer() as other:
        small.will(Fault(Kind.REDIRECT, 307, location=f"{other.origin}/there"))
        put(small, file)
        assert other.uploads["/there"] == file.read_bytes()


@pytest.mark.parametrize("change", ["same size", "longer", "shorter", "replaced"])
def test_changed_while_sent(small: FaultyServer, file: Path, change: str) -> None:
    """(b) 3: noticed, whatever the change is."""
    file.write_bytes(os.urandom(6_000_000))
    small.pace_s = 0.004
    progress = Progress()
    caught: list[BaseException] = []

    def run() -> None:
        try:
            put(small, file, progress=progress)
        except TransferError as err:
            caught.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + 10
    while progress.snapshot().bytes_done == 0:
        assert time.monotonic() < until
        time.sleep(0.002)
    if change == "same size":
        with file.open("r+b") as stream:
            stream.write(b"edited")
    elif change == "longer":
        with file.open("ab") as stream:
            stream.write(b"appended")
    elif change == "shorter":
        os.truncate(file, 1_000)
    else:
        other = file.with_name("other")
        other.write_bytes(file.read_bytes())
        other.replace(file)
    thread.join(20)
    assert [type(error) for error in caught] == [SourceChangedError]


def test_too_large_is_said_before_anything_is_read(
    small: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(b) 4"""
    path = tmp_path / "big file"
    with path.open("wb") as stream:
        stream.truncate(SINGLE_PUT_LIMIT_BYTES + 1)
    monkeypatch.setattr(upload_module.os, "preadv", None)
    with pytest.raises(TransferError) as caught:
        put(small, path)
    assert small.requests == 0
    assert caught.value.title == "Too large for one PUT"


def test_starved_upload_is_dead(small: FaultyServer, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(40_000_000))
    small.will(Fault(Kind.SILENT))
    began = time.monotonic()
    put(small, path)
    assert small.uploads["/object"] == path.read_bytes()
    assert time.monotonic() - began < 20


def test_cancel(small: FaultyServer, file: Path) -> None:
    cancel = CancelToken()
    small.always = Fault(Kind.SILENT)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            upload(file, small.source(), cancel=cancel, context=TransferContext(patience=Patience(tick_s=0.02)))
        except CancelledError as err:
            caught.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + 10
    while not small.requests:
        assert time.monotonic() < until
        time.sleep(0.002)
    cancel.cancel()
    thread.join(5)
    assert len(caught) == 1


def test_missing_file(small: FaultyServer, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="cannot be read"):
        put(small, tmp_path / "none")
