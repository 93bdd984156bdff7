"""Space is had back only of what the service was just proven to hold; jobs and logs of what is over and done with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.catalog.remote import RemoteCatalog
from noeira_tui.core.errors import DestinationError, RefusedError, VerificationError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs.kinds import CatalogPull
from noeira_tui.jobs.records import JobFailure, JobState
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.box import Box
from noeira_tui.overview.freeing import ProvenFile
from noeira_tui.overview.picture import DatasetView
from noeira_tui.tui.app import make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.lazy_box import LazyBox
from tests.tui.driving import Driver
from tests.tui.fake_box import FakeBox

CONTENTS = b"walker" * 5000


@pytest.fixture
def walker(connected: Settings, request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A dataset that is here and on the service: its id and its file."""
    name = f"space-{abs(hash(request.node.name)) % 10**8}"
    path = connected.data_dir / f"{name}-v1.h5"
    path.parent.mkdir()
    path.write_bytes(CONTENTS)
    with RemoteCatalog(connected) as catalog:
        catalog.push(path, name=name, version="v1")
    return f"{name}-v1", path


def view_of(box: Box, dataset_id: str) -> DatasetView:
    return next(view for view in box.look().datasets if view.id == dataset_id)


def test_a_proven_copy_is_freed_and_then_not_missed(connected: Settings, walker: tuple[str, Path]) -> None:
    box, (dataset_id, path) = Box(connected), walker
    view = view_of(box, dataset_id)
    assert box.space.can_free(view) is None
    proven = box.space.prove(view)
    assert (proven.path, proven.size_bytes, proven.files) == (path, len(CONTENTS), 1)
    box.space.free(proven)
    assert not path.exists()
    gone = view_of(box, dataset_id)
    assert gone.state is State.REMOTE
    assert box.space.can_free(gone) == "There is no copy of it here."


def test_what_changed_is_kept(connected: Settings, walker: tuple[str, Path]) -> None:
    box, (dataset_id, path) = Box(connected), walker
    proven = box.space.prove(view_of(box, dataset_id))
    path.write_bytes(CONTENTS[::-1])
    with pytest.raises(DestinationError, match="changed meanwhile"):
        box.space.free(proven)
    with pytest.raises(VerificationError):
        box.space.prove(view_of(box, dataset_id))
    assert path.read_bytes() == CONTENTS[::-1]
    changed = view_of(box, dataset_id)
    assert "does not hold these bytes" in (box.space.can_free(changed) or "")


def test_what_the_service_replaced_or_lost_since_the_proof_is_kept(
    connected: Settings, walker: tuple[str, Path]
) -> None:
    box, (dataset_id, path) = Box(connected), walker
    proven = box.space.prove(view_of(box, dataset_id))
    assert isinstance(proven, ProvenFile)
    # As if the yes came hours later, and somebody had pushed other contents meanwhile.
    with pytest.raises(DestinationError, match="other contents"):
        box.space.free(replace(proven, sha256="0" * 64))
    with RemoteCatalog(connected) as catalog:
        catalog.client.delete_dataset(dataset_id)
    with pytest.raises(RefusedError):
        box.space.free(proven)
    assert path.read_bytes() == CONTENTS


def test_doubts_are_reasons(connected: Settings, walker: tuple[str, Path]) -> None:
    box, (dataset_id, _) = Box(connected), walker
    view = view_of(box, dataset_id)
    for state in (State.STALE, State.UNKNOWN, State.PENDING, State.LOCAL, State.DIVERGED):
        assert box.space.can_free(replace(view, state=state)), state
    store = JobStore(StateDb(connected.state_dir))
    store.create(CatalogPull(dataset_id).spec(connected), owner=ProcessOwner.me())
    assert "is running" in (box.space.can_free(view) or "")


def test_old_jobs_go_and_failed_or_live_ones_stay(connected: Settings) -> None:
    store = JobStore(StateDb(connected.state_dir))
    me = ProcessOwner.me()
    ids = {}
    for state in (JobState.DONE, JobState.CANCELLED, JobState.FAILED, JobState.RUNNING):
        job = store.create(CatalogPull(state.value).spec(connected), owner=me)
        ids[state] = job.id
        store.folder.mkdir(exist_ok=True)
        store.log_path(job.id).write_text("x" * 100, "utf-8")
        if state is not JobState.RUNNING:
            failure = JobFailure("Disk full", "no room") if state is JobState.FAILED else None
            store.finish(job.id, state, ProgressSnapshot(), owner=me, failure=failure)
    space = Box(connected).space
    old = space.old_jobs()
    assert (set(old.ids), old.size_bytes) == ({ids[JobState.DONE], ids[JobState.CANCELLED]}, 200)
    # One that was started again meanwhile is not old any more.
    assert space.forget_jobs(replace(old, ids=(*old.ids, ids[JobState.RUNNING]))) == 2
    assert {job.id for job in store.list()} == {ids[JobState.FAILED], ids[JobState.RUNNING]}
    assert {path.name for path in store.folder.glob("*.log")} == {
        f"{ids[JobState.FAILED]}.log", f"{ids[JobState.RUNNING]}.log",
    }  # fmt: skip


async def test_the_app_frees_a_copy_by_keys(connected: Settings, walker: tuple[str, Path]) -> None:
    dataset_id, path = walker
    app = make_app(LazyBox(connected), glyphs=SYMBOLS)
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        driver = Driver(app, pilot, FakeBox())
        await driver.until(lambda: driver.status(f"dataset:{dataset_id}") == "current", deadline_s=60)
        await driver.highlight(f"dataset:{dataset_id}")
        await driver.press("x")
        await driver.until(lambda: "Type free and press enter" in driver.screen_text(), deadline_s=60)
        assert path.exists()
        await driver.press(*"free", "enter")
        await driver.until(lambda: driver.status(f"dataset:{dataset_id}") == "remote", deadline_s=60)
    assert not path.exists()
