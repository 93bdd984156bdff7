"""Hashing files, and remembering digests without ever being fooled by a file that changed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, SourceChangedError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.transfer import hashcache, hashing
from noeira_tui.transfer.facts import FileStamp
from noeira_tui.transfer.hashcache import HashCache
from noeira_tui.transfer.hashing import hash_file


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def cache(tmp_path: Path) -> HashCache:
    return HashCache(StateDb(tmp_path / "state"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"contents")
    return path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is ten seconds on: the files just made are old enough to be remembered."""
    real = time.time_ns
    monkeypatch.setattr(hashcache.time, "time_ns", lambda: real() + 10_000_000_000)


def not_read(*args: object, **more: object) -> None:
    raise AssertionError("the file was read")


def test_hash_file(tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    path = tmp_path / "file"
    path.write_bytes(data)
    progress = Progress()
    assert hash_file(path, progress=progress) == (sha(data), FileStamp.of(path.stat()))
    assert progress.snapshot().bytes_done == len(data)


def test_changed_while_hashed(file: Path) -> None:
    class Edits(Progress):
        def advance(self, size_bytes: int) -> None:
            with file.open("ab") as stream:
                stream.write(b"!")

    with pytest.raises(SourceChangedError):
        hash_file(file, progress=Edits())


def test_cancelled(file: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        hash_file(file, cancel=cancel)


@pytest.mark.usefixtures("later")
def test_second_time_is_not_read(cache: HashCache, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.lookup(file) is None
    assert cache.digest(file) == sha(b"contents")
    monkeypatch.setattr(hashcache, "hash_file", not_read)
    progress = Progress()
    assert cache.digest(file, progress=progress) == sha(b"contents") == cache.lookup(file)
    assert progress.snapshot().bytes_done == 8


def test_young_file_is_distrusted(cache: HashCache, file: Path) -> None:
    """(d) 5: two edits within the clock's grain leave the same times."""
    assert cache.digest(file) == sha(b"contents")
    assert cache.lookup(file) is None
    cache.remember(file, sha(b"contents"), FileStamp.of(file.stat()))
    assert cache.lookup(file) is None


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("keep_mtime", [False, True])
def test_same_size_edit(cache: HashCache, file: Path, keep_mtime: bool) -> None:
    """(d) 5: ctime tells even when the modification time was put back."""
    before = file.stat()
    cache.digest(file)
    time.sleep(0.02)  # beyond the grain of the kernel's clock, which is what the test is about
    file.write_bytes(b"CONTENTS")
    if keep_mtime:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.lookup(file) is None
    assert cache.digest(file) == sha(b"CONTENTS")


@pytest.mark.usefixtures("later")
def test_replaced_file(cache: HashCache, file: Path) -> None:
    cache.digest(file)
    other = file.with_name("other")
    other.write_bytes(b"CONTENTS")
    other.replace(file)
    assert cache.lookup(file) is None


@pytest.mark.usefixtures("later")
def test_remember_only_what_is_still_so(cache: HashCache, file: Path) -> None:
    stamp = FileStamp.of(file.stat())
    file.write_bytes(b"longer contents")
    cache.remember(file, sha(b"contents"), stamp)
    assert cache.lookup(file) is None
    cache.remember(file, sha(b"longer contents"), FileStamp.of(file.stat()))
    assert cache.lookup(file) == sha(b"longer contents")


@pytest.mark.usefixtures("later")
def test_many(cache: HashCache, tmp_path: Path) -> None:
    paths = []
    for number in range(1000):
        path = tmp_path / f"{number}"
        path.write_bytes(b"%d" % number)
        paths.append(path)
    found = cache.digest_many(paths)
    assert found == {path: sha(path.name.encode()) for path in paths}
    assert cache.lookup_many([*paths, tmp_path / "none"]) == found


def test_missing_file(cache: HashCache, tmp_path: Path) -> None:
    assert cache.lookup(tmp_path / "none") is None
    with pytest.raises(OSError, match="No such file"):
        cache.digest(tmp_path / "none")


@pytest.mark.usefixtures("later")
def test_unusable_database_only_costs_memory(tmp_path: Path, file: Path) -> None:
    (tmp_path / "state").write_bytes(b"a file where the folder should be")
    cache = HashCache(StateDb(tmp_path / "state"))
    assert cache.digest(file) == sha(b"contents")
    assert cache.lookup(file) is None
    cache.remember(file, sha(b"contents"), FileStamp.of(file.stat()))


def test_several_files_at_once(tmp_path: Path) -> None:
    paths = []
    for number in range(5):
        path = tmp_path / f"{number}"
        path.write_bytes(os.urandom(number * 700_000))
        paths.append(path)
    progress = Progress()
    found = hashing.hash_files(paths, progress=progress)
    assert {path: digest for path, (digest, _) in found.items()} == {path: sha(path.read_bytes()) for path in paths}
    assert progress.snapshot().bytes_done == sum(path.stat().st_size for path in paths)


def test_several_files_one_missing(tmp_path: Path, file: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        hashing.hash_files([file, tmp_path / "none"])
