"""Verifying installed packs: what is found stays known, and the work is a job that goes on without who asked."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.assets.packs import Packs
from noeira_tui.assets.records import DIFFERS, real_dest
from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import CancelledError, JobError, PackError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs.pack_kinds import AssetsVerify
from noeira_tui.jobs.records import JobRecord, JobState
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.box import Box
from noeira_tui.overview.packjobs import follow_verification, packs_of, verified_in
from tests.support.pack_archives import PackServer, declare, stanza, tar_of, zst
from tests.support.waiting import until


@pytest.fixture
def installed(packs: Packs, server: PackServer) -> Packs:
    """One installed pack, `libero@v1`."""
    data = zst(tar_of())
    declare(packs.settings.root / "env", stanza(server.put("/libero.tar.zst", data), data))
    packs.pull()
    return packs


def only(states: tuple[PackStatus, ...]) -> PackStatus:
    (status,) = states
    return status


def forge(packs: Packs) -> tuple[Path, bytes]:
    """Change a file so that neither size nor time tell; the file, and what it was."""
    mesh = only(packs.states()).dest / "meshes/base.stl"
    stat, before = mesh.stat(), mesh.read_bytes()
    mesh.unlink()
    mesh.write_bytes(bytes(stat.st_size))
    os.utime(mesh, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
    return mesh, before


def test_what_a_verification_found_is_known_to_every_later_look(installed: Packs) -> None:
    mesh, before = forge(installed)
    assert only(installed.states()).state is State.CURRENT
    assert only(installed.verify()).state is State.MODIFIED
    known = only(installed.states())
    assert (known.state, [one.path for one in known.problems]) == (State.MODIFIED, ["meshes/base.stl"])
    with pytest.raises(PackError, match=r"meshes/base.stl \(modified\)"):
        installed.pull()
    # Put back as it was, it is looked at again: by a verification, and by a pull.
    mesh.write_bytes(before)
    assert only(installed.verify()).state is State.CURRENT
    assert only(installed.states()).state is State.CURRENT


def test_a_pull_finds_out_that_a_file_is_as_it_was_again(installed: Packs, server: PackServer) -> None:
    mesh, before = forge(installed)
    installed.verify()
    mesh.write_bytes(before)
    asked = len(server.seen)
    done = only(tuple(one.status for one in installed.pull().packs))
    assert (done.state, len(server.seen)) == (State.CURRENT, asked)


def test_forced_it_is_mended(installed: Packs) -> None:
    mesh, before = forge(installed)
    installed.verify()
    installed.pull(force=True)
    assert (only(installed.states()).state, mesh.read_bytes()) == (State.CURRENT, before)


def test_a_verification_says_nothing_of_what_was_installed_meanwhile(installed: Packs) -> None:
    dest = real_dest(only(installed.states()).dest)
    looked_at = installed.installs.get(dest)
    assert looked_at is not None
    newer = replace(looked_at, version="v2", sha256="ab" * 32, installed_at=looked_at.installed_at + 1)
    installed.installs.commit(newer)
    installed.installs.note_times(looked_at.with_mtimes([DIFFERS] * len(looked_at.paths)))
    kept = installed.installs.get(dest)
    assert kept is not None and (kept.version, DIFFERS in kept.mtimes_ns) == ("v2", False)


def test_it_is_a_job_whose_row_tells_what_was_found(installed: Packs) -> None:
    forge(installed)
    box = Box(installed.settings)
    progress = Progress()
    found = only(box.verify_packs(installed.states(), progress=progress))
    assert found == only(installed.states())
    assert (found.state, found.problems[0].path) == (State.MODIFIED, "meshes/base.stl")
    (record,) = box.jobs()
    assert (record.spec.kind, record.state, record.spec.takes_slot) == ("assets-verify", JobState.DONE, False)
    assert record.result is not None and verified_in(record.result) == (found,)
    assert record.progress.bytes_done == record.progress.bytes_total == progress.snapshot().bytes_total
    assert packs_of(record.spec) == {(str(found.manifest), "libero@v1")}
    assert "meshes/base.stl" in box.log(record.id)


HUGE_BYTES = 1 << 40


@pytest.fixture
def endless(installed: Packs) -> Iterator[tuple[Box, JobStore, JobRecord]]:
    """The job of a verification that takes an hour: a file of the pack is a hole of a TiB, and was always."""
    dest = real_dest(only(installed.states()).dest)
    noted = installed.installs.get(dest)
    assert noted is not None
    mesh = dest / "meshes/base.stl"
    mesh.unlink()
    with mesh.open("wb") as stream:
        stream.truncate(HUGE_BYTES)
    number = noted.paths.index("meshes/base.stl")
    sizes, mtimes = list(noted.sizes), list(noted.mtimes_ns)
    sizes[number], mtimes[number] = HUGE_BYTES, mesh.stat().st_mtime_ns
    installed.installs.commit(replace(noted, sizes=sizes, mtimes_ns=mtimes))
    box, store = Box(installed.settings), JobStore(StateDb(installed.settings.state_dir))
    record = box.start(AssetsVerify.of(installed.states()))
    until(lambda: store.get(record.id).progress.bytes_done > 0 or not store.get(record.id).is_live, what="hashing")
    assert store.get(record.id).is_live
    yield box, store, record
    with suppress(JobError):
        box.cancel(record.id)


def test_it_goes_on_without_who_asked_and_is_stopped_by_asking(endless: tuple[Box, JobStore, JobRecord]) -> None:
    box, store, record = endless
    pack = only(Packs(box.settings).states())
    assert f"Job {record.id} (verify libero@v1) is running." == box.can_verify_pack(pack)
    cancel, progress = CancelToken(), Progress()
    told: list[bool] = []

    def follow() -> None:
        with pytest.raises(CancelledError, match="stopped"):
            follow_verification(store, record, progress, cancel)
        told.append(True)

    follower = threading.Thread(target=follow)
    follower.start()
    until(lambda: progress.snapshot().bytes_done > 0, what="progress")
    assert progress.snapshot().bytes_total == store.get(record.id).progress.bytes_total
    cancel.cancel()
    follower.join(20)
    assert told and store.get(record.id).state is JobState.CANCELLED
    assert box.can_verify_pack(pack) is None


def test_a_killed_verification_is_interrupted_and_can_be_tried_again(endless: tuple[Box, JobStore, JobRecord]) -> None:
    box, store, record = endless
    owner = store.get(record.id).owner
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    with pytest.raises(JobError, match="verify libero@v1: interrupted"):
        follow_verification(store, record, Progress(), CancelToken())
    os.truncate(only(Packs(box.settings).states()).dest / "meshes/base.stl", 5)
    found = only(follow_verification(store, box.retry(record.id), Progress(), CancelToken()))
    assert (found.state, found.problems[0].path) == (State.MODIFIED, "meshes/base.stl")


def test_without_a_state_folder_it_is_done_on_the_spot(installed: Packs, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed.settings.root / "blocked").write_bytes(b"")
    monkeypatch.setenv("NOEIRA_STATE", str(installed.settings.root / "blocked"))
    box = Box(Settings.load(root=installed.settings.root))
    found = only(box.verify_packs(Packs(box.settings).states()))
    assert (found.state, "no record" in found.detail) == (State.UNVERIFIED, True)


def test_a_result_that_cannot_be_read_says_so() -> None:
    for result in ("", "{}", '{"packs": [{"pack": "a"}]}', '{"packs": [{"manifest": 1}]}'):
        with pytest.raises(JobError, match="cannot be read"):
            verified_in(result)
