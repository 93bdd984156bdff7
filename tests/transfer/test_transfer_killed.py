"""Processes that are killed in the middle of a pull, and processes that pull the same file at once."""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.transfer.download import download, part_path, partial_bytes
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.journal import Journal, read_journal, write_journal
from noeira_tui.transfer.part import claim, journal_path
from noeira_tui.transfer.plan import MIN_PIECE_BYTES
from noeira_tui.transfer.ramp import MAX_CONNECTIONS
from tests.support.faulty_puller import Puller
from tests.support.faulty_server import FAST_CONTEXT, FaultyServer

thorough = pytest.mark.skipif(not os.environ.get("THOROUGH"), reason="takes minutes: THOROUGH=1 runs it")


def names(dest: Path) -> set[str]:
    return {path.name for path in dest.parent.iterdir()}


def kill_one(server: FaultyServer, dest: Path, delay_s: float) -> None:
    """Start a pull, kill it after `delay_s`, and pull again: it completes, and fetches little twice."""
    server.seen.clear()
    puller = Puller(server, dest)
    puller.go()
    time.sleep(delay_s)  # the moment of the kill is the input of this test, not a synchronisation
    puller.kill()
    if dest.exists():
        assert dest.read_bytes() == server.content
        dest.unlink()
    kept = partial_bytes(dest) or 0
    done = download(server.source(), dest, server.wanted, context=FAST_CONTEXT)
    assert dest.read_bytes() == server.content
    assert done.resumed_from == kept
    assert done.bytes_transferred == len(server.content) - kept
    flying = MAX_CONNECTIONS * MIN_PIECE_BYTES * 2
    assert server.bytes_sent_twice <= min(flying, len(server.content))
    assert names(dest) == {dest.name}
    dest.unlink()


def test_killed_with_a_piece_done(large: FaultyServer, dest: Path) -> None:
    """What the journal holds is not fetched again."""
    large.pace_s = 0.004
    puller = Puller(large, dest)
    puller.go()
    until = time.monotonic() + 20
    while (partial_bytes(dest) or 0) < MIN_PIECE_BYTES:
        assert time.monotonic() < until
        time.sleep(0.01)
    puller.kill()
    kept = partial_bytes(dest) or 0
    assert kept >= MIN_PIECE_BYTES
    large.pace_s = 0
    done = download(large.source(), dest, large.wanted, context=FAST_CONTEXT)
    assert (done.resumed_from, done.bytes_transferred) == (kept, len(large.content) - kept)
    assert dest.read_bytes() == large.content


@pytest.mark.parametrize("round_", range(5))
def test_killed_at_random(large: FaultyServer, dest: Path, round_: int) -> None:
    large.pace_s = 0.001
    kill_one(large, dest, random.Random(round_).uniform(0.0, 0.35))


@pytest.mark.slow
@thorough
def test_killed_a_hundred_times(large: FaultyServer, dest: Path) -> None:
    moments = random.Random(100)
    for _ in range(100):
        large.pace_s = moments.choice([0, 0.001, 0.003])
        kill_one(large, dest, moments.uniform(0.0, 0.5))


def test_killed_again_and_again_without_a_clean_run(large: FaultyServer, dest: Path) -> None:
    """Each run goes on where the last one died, so a box that crashes every second still gets there."""
    large.pace_s = 0.02
    last = 0
    for _ in range(4):
        puller = Puller(large, dest)
        puller.go()
        until = time.monotonic() + 20
        while (now := partial_bytes(dest) or 0) <= last and not dest.exists():
            assert time.monotonic() < until
            time.sleep(0.005)
        puller.kill()
        assert not dest.exists(), "too fast for this test"
        assert now > last
        last = now
    large.pace_s = 0
    download(large.source(), dest, large.wanted, context=FAST_CONTEXT)
    assert dest.read_bytes() == large.content


def test_two_at_once(large: FaultyServer, dest: Path) -> None:
    """(a) 5: one good file, nobody waits for ever, nothing is left over."""
    large.pace_s = 0.001
    pullers = [Puller(large, dest) for _ in range(2)]
    for puller in pullers:
        puller.go()
    for puller in pullers:
        puller.finish()
    assert dest.read_bytes() == large.content
    assert names(dest) == {dest.name}


@pytest.mark.parametrize("seed", range(2))
def test_two_at_once_and_one_is_killed(large: FaultyServer, dest: Path, seed: int) -> None:
    """(a) 5"""
    large.pace_s = 0.002
    first, second = Puller(large, dest), Puller(large, dest)
    first.go()
    second.go()
    time.sleep(random.Random(seed).uniform(0.02, 0.2))  # the moment of the kill is the input of this test
    first.kill()
    second.finish()
    assert dest.read_bytes() == large.content
    dest.unlink()
    download(large.source(), dest, large.wanted, context=FAST_CONTEXT)
    assert dest.read_bytes() == large.content
    assert names(dest) == {dest.name}, "what the killed one left was swept up"


def kill_some_of_two(server: FaultyServer, dest: Path, moments: random.Random) -> None:
    """Two pulls at once, one or both killed: who lives finishes, and the next run completes from what is on disk."""
    pullers = [Puller(server, dest) for _ in range(2)]
    for puller in pullers:
        puller.go()
    victims = moments.choice([pullers[:1], pullers[1:], pullers])
    time.sleep(moments.uniform(0.0, 0.5))  # the moment of the kill is the input of this test
    for puller in victims:
        puller.kill()
    for puller in pullers:
        if puller not in victims:
            puller.finish()
            assert dest.exists(), "who was not killed published"
    if dest.exists():
        assert dest.read_bytes() == server.content
        dest.unlink()
    kept = partial_bytes(dest) or 0
    done = download(server.source(), dest, server.wanted, context=FAST_CONTEXT)
    assert dest.read_bytes() == server.content
    assert (done.resumed_from, done.bytes_transferred) == (kept, len(server.content) - kept)
    assert names(dest) == {dest.name}, "what the killed ones left was swept up"
    dest.unlink()


@pytest.mark.slow
@thorough
def test_two_at_once_killed_a_hundred_times(large: FaultyServer, dest: Path) -> None:
    """(a) 5"""
    moments = random.Random(200)
    for _ in range(100):
        large.pace_s = moments.choice([0, 0.001, 0.003])
        kill_some_of_two(large, dest, moments)


def test_lock_left_by_a_dead_process(large: FaultyServer, dest: Path) -> None:
    """(a) 5: a lock that nobody alive holds, as network file systems leave it, holds nobody up."""
    import fcntl

    large.pace_s = 0.004
    puller = Puller(large, dest)
    puller.go()
    until = time.monotonic() + 20
    while (partial_bytes(dest) or 0) < MIN_PIECE_BYTES:
        assert time.monotonic() < until
        time.sleep(0.01)
    puller.kill()
    large.pace_s = 0
    with part_path(dest).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = download(large.source(), dest, large.wanted, context=FAST_CONTEXT)
    assert done.resumed_from >= MIN_PIECE_BYTES
    assert dest.read_bytes() == large.content


def test_small_file_on_a_slow_link(small: FaultyServer, dest: Path) -> None:
    """What arrived is noted by the clock, not only by the piece: a small file may take long, too."""
    small.pace_s = 0.3
    puller = Puller(small, dest)
    puller.go()
    until = time.monotonic() + 20
    while (kept := partial_bytes(dest) or 0) == 0:
        assert time.monotonic() < until
        time.sleep(0.01)
    puller.kill()
    assert kept < len(small.content), "too fast for this test"
    small.pace_s = 0
    small.seen.clear()
    done = download(small.source(), dest, small.wanted, context=FAST_CONTEXT)
    assert done.resumed_from >= kept
    assert done.bytes_transferred == len(small.content) - done.resumed_from
    assert dest.read_bytes() == small.content


def leave(path: Path, sha256: str, owner: ProcessOwner | None) -> Path:
    write_journal(path, Journal(sha256, 10, path.name.rpartition(".")[2], owner))
    return path


def test_what_a_kill_between_two_steps_leaves_is_swept(small: FaultyServer, dest: Path) -> None:
    """A journal without its name yet, beside the part or a part of one's own."""
    dest.parent.mkdir()
    dead = replace(ProcessOwner.me(), start_time="0")
    part = part_path(dest)
    leave(part.with_name(f"{part.name}.journal.{'a' * 16}"), small.wanted.sha256, dead)
    leave(part.with_name(f"{part.name}.123-aaaaaa.journal.{'b' * 16}"), small.wanted.sha256, dead)
    leave(part.with_name(f"{part.name}.123-bbbbbb.journal"), small.wanted.sha256, dead)
    own = part.with_name(f"{part.name}.123-bbbbbb")
    own.write_bytes(b"some")
    torn = part.with_name(f"{part.name}.journal.{'d' * 16}")
    torn.write_text('{"version": 1, "dig')
    alive = leave(part.with_name(f"{part.name}.123-cccccc.journal"), small.wanted.sha256, ProcessOwner.me())
    download(small.source(), dest, small.wanted, context=FAST_CONTEXT)
    assert names(dest) == {dest.name, alive.name}, "what a living process has stays"


def test_journal_that_is_swept_while_it_is_written(dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may take a journal without its name for a dead one's; it is written again."""
    dest.parent.mkdir()
    path = journal_path(part_path(dest))
    replace_file = Path.replace
    swept = iter([True, True, False])

    def swept_first(self: Path, target: Path) -> Path:
        if next(swept):
            self.unlink()
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", swept_first)
    leave(path, "0" * 64, None)
    found = read_journal(path)
    assert found is not None and found.size_bytes == 10
    assert names(dest) == {path.name}


def test_a_large_folder_is_listed_once_in_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files may go into one folder: each of them would list all others."""
    for number in range(300):
        (tmp_path / f"file-{number:03d}").touch()
    listed: list[object] = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: (listed.append(folder), listdir(folder))[1])
    wanted = Wanted("0" * 64, 1)
    for number in range(20):
        claim(tmp_path / f"new-{number}", wanted).discard()
    assert len(listed) == 1
    # A small one is listed each time, so that nothing stays.
    small = tmp_path / "small"
    for number in range(3):
        claim(small / f"new-{number}", wanted).discard()
    assert len(listed) == 4
