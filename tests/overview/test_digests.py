from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from noeira_tui.core.statedb import StateDb
from noeira_tui.overview.digests import GlanceDigests
from noeira_tui.transfer.hashcache import HashCache


@pytest.fixture
def hashes(tmp_path: Path) -> HashCache:
    return HashCache(StateDb(tmp_path / "state"))


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all files have been there for ten seconds: what is younger than two is not remembered."""
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 10_000_000_000)


def files(folder: Path, count: int) -> dict[Path, str]:
    found = {}
    for number in range(count):
        path = folder / f"{number}.bin"
        path.write_bytes(f"contents {number}".encode())
        found[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def test_it_hashes_what_its_budget_allows(hashes: HashCache, tmp_path: Path) -> None:
    (small, digest), (other, _) = files(tmp_path, 2).items()
    digests = GlanceDigests(hashes, budget_bytes=12)
    assert digests.of(small) == digest
    assert digests.of(other) is None, "the budget is spent"
    assert digests.of(tmp_path / "absent") is None
    assert digests.of(tmp_path) is None
    assert GlanceDigests(hashes, None).of(other) is not None


@pytest.mark.usefixtures("long_ago")
def test_what_was_hashed_is_remembered_in_one_go(
    hashes: HashCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = files(tmp_path, 50)
    writes = []
    transaction = StateDb.transaction
    monkeypatch.setattr(StateDb, "transaction", lambda db, schema: writes.append(1) or transaction(db, schema))
    digests = GlanceDigests(hashes)
    digests.look_up(wanted)
    assert {path: digests.of(path) for path in wanted} == wanted
    digests.keep()
    assert len(writes) == 1
    assert hashes.lookup_many(wanted) == wanted
    again = GlanceDigests(hashes, budget_bytes=0)
    again.look_up(wanted)
    assert {path: again.of(path) for path in wanted} == wanted, "nothing had to be read"


@pytest.mark.usefixtures("long_ago")
def test_a_look_that_takes_long_is_remembered_on_the_way(
    hashes: HashCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = files(tmp_path, 3)
    monkeypatch.setattr("noeira_tui.overview.digests._KEEP_EVERY_S", -1.0)
    digests = GlanceDigests(hashes)
    for path in wanted:
        digests.of(path)
    assert hashes.lookup_many(wanted) == wanted


def test_a_file_that_just_changed_is_hashed_but_not_remembered(hashes: HashCache, tmp_path: Path) -> None:
    ((path, digest),) = files(tmp_path, 1).items()
    digests = GlanceDigests(hashes)
    assert digests.of(path) == digest
    digests.keep()
    assert hashes.lookup(path) is None


@pytest.mark.usefixtures("long_ago")
def test_a_file_that_changed_since_is_hashed_again(hashes: HashCache, tmp_path: Path) -> None:
    ((path, before),) = files(tmp_path, 1).items()
    first = GlanceDigests(hashes)
    assert first.of(path) == before
    first.keep()
    path.write_bytes(b"contents X")
    os.utime(path, (1_000_000, 1_000_000))
    assert GlanceDigests(hashes).of(path) == hashlib.sha256(b"contents X").hexdigest()


def test_without_a_state_folder_it_hashes(tmp_path: Path) -> None:
    ((path, digest),) = files(tmp_path, 1).items()
    digests = GlanceDigests(HashCache(StateDb(path)))
    digests.look_up([path])
    assert digests.of(path) == digest
    digests.keep()
