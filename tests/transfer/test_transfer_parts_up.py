"""Parts under faults: what is sent again is what was hashed, nothing counts twice, and a failure leaves no parts."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, NetworkError, NoeiraError, SourceChangedError, StorageRefusedError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.boxs3 import PartStored
from noeira_tui.transfer.facts import TransferContext
from noeira_tui.transfer.multipart import MAX_PARTS, PART_BYTES, part_size, upload_in_parts
from tests.support.faulty_server import FAST, FAST_CONTEXT, SECRET, Fault, FaultyServer, Kind


class Target:
    """What a store does about an upload in parts, with the parts themselves at a faulty server."""

    def __init__(self, server: FaultyServer) -> None:
        self._server = server
        self.calls: list[str] = []
        self.finished: list[PartStored] = []

    def begin(self) -> str:
        self.calls.append("begin")
        return "upload"

    def part_url(self, upload_id: str, number: int) -> str:
        return self._server.presigned(f"/{upload_id}/{number:05d}").url

    def finish(self, upload_id: str, parts: list[PartStored]) -> None:
        self.calls.append("finish")
        self.finished = parts

    def abort(self, upload_id: str) -> NoeiraError | None:
        self.calls.append("abort")
        return None

    def stored(self) -> bytes:
        return b"".join(data for _, data in sorted(self._server.uploads.items()))


@pytest.fixture
def target(small: FaultyServer) -> Target:
    return Target(small)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "set.h5"
    path.write_bytes(os.urandom(3 * PART_BYTES + 12_345))
    return path


def test_honest(file: Path, target: Target) -> None:
    progress = Progress()
    done = upload_in_parts(file, target, progress=progress, context=FAST_CONTEXT)
    data = file.read_bytes()
    assert target.stored() == data
    assert [part.number for part in target.finished] == [1, 2, 3, 4]
    assert target.finished[0].etag == f'"{hashlib.md5(data[:PART_BYTES]).hexdigest()}"'
    assert done.sha256 == hashlib.sha256(data).hexdigest()
    assert (done.size_bytes, done.bytes_transferred, done.requests) == (len(data), len(data), 6)
    assert progress.snapshot().bytes_done == len(data)
    assert target.calls == ["begin", "finish"]


@pytest.mark.parametrize(
    "fault",
    [Fault(Kind.RESET), Fault(Kind.CUT, 100_000), Fault(Kind.STATUS, 503), Fault(Kind.STATUS, 500), Fault(Kind.HTML)],
    ids=lambda fault: f"{fault.kind}{fault.value}",
)
def test_a_part_is_sent_again(file: Path, small: FaultyServer, target: Target, fault: Fault) -> None:
    """(b) 2 and 3: from memory, so that it cannot differ from what was hashed."""
    small.will(*[fault] * 3)
    progress = Progress()
    done = upload_in_parts(file, target, progress=progress, context=FAST_CONTEXT)
    assert target.stored() == file.read_bytes()
    assert done.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert progress.snapshot().bytes_done == file.stat().st_size
    assert target.calls == ["begin", "finish"]


@pytest.mark.parametrize("fault", [Fault(Kind.STATUS, 403), Fault(Kind.RESET), Fault(Kind.HTML)], ids=lambda f: f.kind)
def test_failing_for_ever_is_aborted(file: Path, small: FaultyServer, target: Target, fault: Fault) -> None:
    small.always = fault
    with pytest.raises((StorageRefusedError, NetworkError)) as caught:
        upload_in_parts(file, target, context=FAST_CONTEXT)
    assert target.calls == ["begin", "abort"]
    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}"


@pytest.mark.parametrize("change", ["same size", "longer", "shorter", "replaced"])
def test_changed_while_sent(file: Path, small: FaultyServer, target: Target, change: str) -> None:
    """(b) 3: whatever the change is, it is never made an object."""
    small.pace_s = 0.002
    progress = Progress()

    def run() -> None:
        upload_in_parts(file, target, progress=progress, context=FAST_CONTEXT)

    thread, caught = in_thread(run)
    wait_until(lambda: progress.snapshot().bytes_done > 0)
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
    assert target.calls == ["begin", "abort"]


def test_cancel_is_prompt_and_aborts(file: Path, small: FaultyServer, target: Target) -> None:
    small.always = Fault(Kind.SILENT)
    cancel = CancelToken()
    thread, caught = in_thread(lambda: upload_in_parts(file, target, cancel=cancel, context=FAST_CONTEXT))
    wait_until(lambda: small.requests > 0)
    began = time.monotonic()
    cancel.cancel()
    thread.join(20)
    assert time.monotonic() - began < 2
    assert [type(error) for error in caught] == [CancelledError]
    assert target.calls == ["begin", "abort"]


def test_limit_is_asked_for_every_byte(file: Path, target: Target) -> None:
    taken: list[int] = []

    class Limit:
        def take(self, size_bytes: int, cancel: CancelToken) -> None:
            taken.append(size_bytes)

    upload_in_parts(file, target, context=TransferContext(limit=Limit(), patience=FAST))
    assert sum(taken) == file.stat().st_size


@pytest.mark.parametrize("size", [1, PART_BYTES, 40 << 30, PART_BYTES * MAX_PARTS, PART_BYTES * MAX_PARTS + 1, 5 << 40])
def test_part_sizes(size: int) -> None:
    part = part_size(size)
    assert part >= PART_BYTES and part % (1 << 20) == 0
    assert -(-size // part) <= MAX_PARTS


def in_thread(action) -> tuple[threading.Thread, list[BaseException]]:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except NoeiraError as err:
            caught.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, caught


def wait_until(condition, timeout_s: float = 10) -> None:
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.002)
