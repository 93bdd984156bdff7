"""A pull that is killed, twice started, or out of room: the old state or the new one, and the next pull completes."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from noeira_tui.assets import claim, install, swap
from noeira_tui.assets.packs import Packs
from noeira_tui.assets.pull import PacksFailedError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.jobs.store import JobStore
from tests.support.commandline import spawn
from tests.support.pack_archives import PackServer, declare, sha256, stanza, tar_of, tree, zst

OLD = {f"d{number % 7}/f{number}": b"old %d" % number * 99 for number in range(300)}
NEW = {f"d{number % 5}/f{number}": b"new %d" % number * 99 for number in range(50, 350)}


def declare_version(root: Path, server: PackServer, files: dict[str, bytes], version: str) -> bytes:
    data = zst(tar_of(files))
    declare(root / "env", stanza(server.put(f"/{version}", data), data, pack=f"libero@{version}"))
    return data


def hidden(root: Path) -> list[str]:
    return [path.name for path in (root / "env").rglob(".*")]


@pytest.mark.slow
def test_killed_at_random_moments(packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    """Kills fall between the first import and the last commit; whole trees only, then one run completes."""
    declare_version(root, server, OLD, "v1")
    packs.pull()
    began = time.monotonic()
    declare_version(root, server, NEW, "v2")
    assert spawn("assets", "pull", "--force", cwd=root).wait(60) == 0
    took = time.monotonic() - began
    random.seed(7)
    for _ in range(6):
        packs.pull(force=True)
        declare_version(root, server, OLD, "v1")
        packs.pull(force=True)
        shutil.rmtree(cache / "packs" / sha256(declare_version(root, server, NEW, "v2")))
        process = spawn("assets", "pull", cwd=root)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(random.uniform(0.4, 0.95) * took)
        process.kill()
        process.wait(10)
        (status,) = packs.states()
        assert tree(root / "env/assets") in (OLD, NEW)
        assert status.state is (State.STALE if tree(root / "env/assets") == OLD else State.CURRENT)
        packs.pull()
        assert tree(root / "env/assets") == NEW
        assert (hidden(root), [one.state for one in packs.states()]) == ([], [State.CURRENT])
        assert list((cache / "new").iterdir()) == []


def pull_and_die(packs: Packs, module: object, name: str, after: bool) -> None:
    """Pull in a process of its own that is gone just before, or just after, one function of the package."""
    child = os.fork()
    if child == 0:
        real = getattr(module, name)

        def die(*arguments: object, **more: object) -> object:
            if after:
                real(*arguments, **more)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        setattr(module, name, die)
        try:
            packs.pull()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the process ended before it came to that point"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two steps"])
def test_killed_at_the_swap(
    after: bool, exchange: bool, packs: Packs, root: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(swap, "exchange_names", lambda one, other: 38)
    declare_version(root, server, OLD, "v1")
    packs.pull()
    declare_version(root, server, NEW, "v2")
    pull_and_die(packs, install, "swap_in", after)
    assert tree(root / "env/assets") == (NEW if after else OLD)
    assert [one.state for one in packs.states()] == [State.CURRENT if after else State.STALE]
    packs.pull()
    assert tree(root / "env/assets") == NEW
    assert hidden(root) == []


def test_killed_between_the_two_steps_of_a_swap(
    packs: Packs, root: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare_version(root, server, OLD, "v1")
    packs.pull()
    declare_version(root, server, NEW, "v2")
    monkeypatch.setattr(swap, "exchange_names", lambda one, other: 38)
    child = os.fork()
    if child == 0:
        real = Path.rename

        def rename(self: Path, target: Path) -> Path:
            moved = real(self, target)
            if str(target).endswith(swap.RETIRED):
                os.kill(os.getpid(), signal.SIGKILL)
            return moved

        Path.rename = rename  # type: ignore[method-assign,assignment]
        try:
            packs.pull()
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert not (root / "env/assets").exists()
    packs.pull()
    assert tree(root / "env/assets") == NEW
    assert hidden(root) == []


def test_killed_while_files_are_put_in_place_one_by_one(packs: Packs, root: Path, server: PackServer) -> None:
    declare_version(root, server, OLD, "v1")
    packs.pull()
    (root / "env/assets/mine").write_bytes(b"mine")
    declare_version(root, server, NEW, "v2")
    child = os.fork()
    if child == 0:
        real = install.Placer.replace
        count = [0]

        def replace(self: install.Placer, *arguments: object) -> None:
            count[0] += 1
            if count[0] == 20:
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, *arguments)  # type: ignore[arg-type]

        install.Placer.replace = replace  # type: ignore[method-assign,assignment]
        try:
            packs.pull()
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    (status,) = packs.states()
    assert status.state in {State.PARTIAL, State.MODIFIED}
    packs.pull()
    assert tree(root / "env/assets") == {**NEW, "mine": b"mine"}
    assert [one.state for one in packs.states()] == [State.CURRENT]


def test_two_pulls_at_once_share_one_download(root: Path, cache: Path, server: PackServer) -> None:
    data = declare_version(root, server, OLD, "v1")
    for number in range(2):
        declare(root / f"other{number}", stanza(server.url("/v1"), data, pack=f"p{number}"))
    server.gate = threading.Event()
    processes = [spawn("assets", "pull", "--json", cwd=root) for _ in range(2)]
    deadline = time.monotonic() + 20
    store = JobStore(StateDb(Settings.load(root=root).state_dir))
    while not server.seen or [job.state for job in store.list()] != [JobState.RUNNING] * 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.gate.set()
    assert [process.wait(60) for process in processes] == [0, 0]
    assert len(server.seen) == 1
    for folder in ("env", "other0", "other1"):
        assert tree(root / folder / "assets") == OLD
    assert list((cache / "claims").iterdir()) == []


def test_the_claim_of_a_dead_process_holds_nobody_up(packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    data = declare_version(root, server, OLD, "v1")
    script = (
        "import os, sys, pathlib; from noeira_tui.assets.claim import claimed; from noeira_tui.core.progress import *\n"
        "with claimed(pathlib.Path(sys.argv[1]), sys.argv[2], CancelToken()): os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(cache / "claims"), sha256(data)], check=True)
    assert [path.name for path in (cache / "claims").iterdir()] == [f"{sha256(data)}.claim"]
    packs.pull()
    assert tree(root / "env/assets") == OLD
    assert list((cache / "claims").iterdir()) == []


def test_a_holder_that_gives_no_sign_of_life_is_taken_over_from(tmp_path: Path) -> None:
    cancel = CancelToken()
    with claim.claimed(tmp_path, "x", cancel):
        with claim.holding(tmp_path, "x", cancel, wait=False) as held:
            assert not held
        os.utime(tmp_path / "x.claim", (1, 1))
        with claim.holding(tmp_path, "x", cancel, wait=False) as held:
            assert held
    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_was_half_written(tmp_path: Path) -> None:
    (tmp_path / "x.claim").write_bytes(b'{"token"')
    assert claim.is_held(tmp_path, "x")
    os.utime(tmp_path / "x.claim", (1, 1))
    with claim.claimed(tmp_path, "x", CancelToken()):
        assert claim.is_held(tmp_path, "x")


def test_a_file_that_may_not_grow(packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    """A limit on the size of files fails a write in the middle as a full disk does."""
    data = declare_version(root, server, {"big": os.urandom(300_000)}, "v1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(PacksFailedError):
            packs.pull()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not (root / "env/assets").exists()
    assert not (cache / "packs" / sha256(data)).exists()
    packs.pull()
    assert [one.state for one in packs.states()] == [State.CURRENT]


@pytest.mark.root
def test_a_full_disk(root: Path, tmp_path: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        monkeypatch.setenv("NOEIRA_CACHE", str(small))
        declare_version(root, server, {"big": os.urandom(700_000)}, "v1")
        packs = Packs(Settings.load(root=root))
        with pytest.raises(PacksFailedError) as caught:
            packs.pull()
        assert "Disk full" in caught.value.message
        assert not (root / "env/assets").exists()
        subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
        done = packs.pull()
        assert done.packs[0].copied == 1
        assert [one.state for one in packs.states()] == [State.CURRENT]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.root
def test_a_full_disk_at_the_destination(packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    """Where nothing can be linked, room is asked for before the first file is copied, and the right place is named."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    data = declare_version(root, server, {"a": b"x", "big": os.urandom(3 << 20)}, "v1")
    place = root / "env"
    manifest = (place / "assets.kv").read_bytes()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (place / "assets.kv").write_bytes(manifest)
        with pytest.raises(PacksFailedError, match=f"Disk full: {place}.* needs 3,145,729 bytes more and has"):
            packs.pull()
        assert [path.name for path in place.iterdir()] == ["assets.kv"]
        subprocess.run(["mount", "-o", "remount,size=8m", str(place)], check=True)
        done = packs.pull()
        assert (done.packs[0].copied, done.bytes_transferred) == (2, 0)
        assert (cache / "packs" / sha256(data)).exists()
    finally:
        subprocess.run(["umount", str(place)], check=True)
