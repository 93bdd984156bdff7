"""What the box allows the app to do with recordings and packs, and why not; on a real state folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.assets.packs import Packs
from noeira_tui.core.errors import JobError, PackError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs.dataset_kinds import DatasetPush, DatasetWatch
from noeira_tui.jobs.kinds import AssetsPull, CatalogPull
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.box import Box
from tests.support import pack_archives
from tests.support.waiting import until
from tests.tui.fake_box import recording


@pytest.fixture(autouse=True)
def lab(root: Path) -> None:
    """The project that the recordings are of."""
    folder = root / "projects" / "lab"
    folder.mkdir(parents=True)
    (folder / "project.kv").write_text("description=a lab\n")


@pytest.mark.parametrize(
    ("state", "pull", "push"),
    [
        (State.CURRENT, "nothing to pull", "the same contents already"),
        (State.AHEAD, "Only this box has newer files", None),
        (State.RECORDING, "being recorded right now", None),
        (State.STALE, None, "newer contents"),
        (State.DIVERGED, None, None),
        (State.MODIFIED, None, None),
        (State.UNKNOWN, None, None),
        (State.MISSING, None, "not on this box"),
        (State.REMOTE, None, "not on this box"),
        (State.PENDING, "None of its files was uploaded completely", None),
        (State.LOCAL, "The service does not have it", None),
    ],
)
def test_a_recording_is_moved_only_where_that_makes_sense(
    connected: Settings, state: State, pull: str | None, push: str | None
) -> None:
    box, view = Box(connected), recording("lab", "arm", state, 3)
    for refusal, expected in ((box.can_pull_recording(view), pull), (box.can_push_recording(view), push)):
        assert refusal is None if expected is None else expected in (refusal or "")
    assert (box.can_watch(view) is None) is view.here


def test_a_recording_without_a_project_definition_says_what_to_write(connected: Settings) -> None:
    box, view = Box(connected), recording("other", "arm", State.LOCAL, 3)
    for told in (box.can_push_recording(view), box.can_watch(view)):
        assert "project.kv" in (told or "")
        assert "description=" in (told or "")


def test_without_a_service_nothing_is_sent(root: Path) -> None:
    box, view = Box(Settings.load(root=root)), recording("lab", "arm", State.LOCAL, 3)
    told = "No service is configured."
    assert [box.can_pull_recording(view), box.can_push_recording(view), box.can_watch(view)] == [told] * 3


def test_what_a_job_works_on_is_left_to_it(connected: Settings) -> None:
    box, view = Box(connected), recording("lab", "arm", State.AHEAD, 3, behind=1)
    store = JobStore(StateDb(connected.state_dir))
    push = store.create(DatasetPush("lab", "arm").spec(connected))
    for refusal in (box.can_pull_recording(view), box.can_push_recording(view), box.can_watch(view)):
        assert f"Job {push.id} (push lab/arm) is queued." == refusal
    elsewhere = recording("lab", "leg", State.AHEAD, 3, behind=1)
    assert box.can_push_recording(elsewhere) is None


def test_a_watch_is_found_again_and_ended(connected: Settings) -> None:
    box, view = Box(connected), recording("lab", "arm", State.RECORDING, 3)
    store = JobStore(StateDb(connected.state_dir))
    assert box.unwatch(view) is None
    spec = DatasetWatch("lab", "arm").spec(connected)
    foreign = store.create(replace(spec, root=connected.root / "elsewhere"))
    watch = store.create(spec)
    assert box.watch(view).id == watch.id, "one watch a recording"
    assert box.can_watch(view) is None
    assert "watch lab/arm" in (box.can_push_recording(view) or "")
    ended = box.unwatch(view)
    assert ended is not None
    assert ended.id == watch.id
    assert [job.id for job in box.jobs() if job.is_live] == [foreign.id], "another root's is not ours to end"


def test_packs_say_what_can_be_done_with_them(connected: Settings) -> None:
    data = pack_archives.zst(pack_archives.tar_of())
    project = connected.root / "projects/lab"
    pack_archives.declare(project, pack_archives.stanza("https://example.org/a.tar.zst", data, dest="a"))
    box, store = Box(connected), JobStore(StateDb(connected.state_dir))
    (status,) = Packs(connected).states()
    assert box.can_pull_pack(status) is None
    assert "nothing to verify" in (box.can_verify_pack(status) or "")
    assert "nothing to pull" in (box.can_pull_pack(replace(status, state=State.CURRENT)) or "")
    broken = replace(status, state=State.INVALID, detail="line 3: sha256 is not one")
    assert "line 3: sha256 is not one" in (box.can_pull_pack(broken) or "")
    job = store.create(AssetsPull.of([status]).spec(connected))
    assert f"Job {job.id}" in (box.can_pull_pack(status) or "")
    assert box.can_pull_pack(replace(status, manifest=project / "other/assets.kv")) is None


def test_all_missing_packs_of_a_whole_box_are_none(connected: Settings) -> None:
    with pytest.raises(PackError, match="Every declared pack is here"):
        Box(connected).pull_packs()


def test_details_name_the_credential_and_never_show_it(connected: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", "hush-hush-hush")
    data = pack_archives.zst(pack_archives.tar_of())
    pack_archives.declare(
        connected.root / "projects/lab",
        pack_archives.stanza("https://example.org/a.tar.zst", data, dest="a", token_env="LAB_TOKEN"),
    )
    (status,) = Packs(connected).states()
    facts = Box(connected).pack_details(status)
    assert (facts.credential, facts.credential_source, facts.token_sent) == ("LAB_TOKEN", "environment", True)
    assert "hush" not in repr(facts)
    monkeypatch.setenv("LAB_TOKEN", "not a token\n!")
    assert "has characters that no token has" in Box(connected).pack_details(status).note


def test_details_count_linked_files_and_name_who_shares_them(connected: Settings) -> None:
    data = pack_archives.zst(pack_archives.tar_of())
    with pack_archives.serving() as server:
        url = server.put("/a.tar.zst", data)
        for name in ("one", "two"):
            pack_archives.declare(connected.root / name, pack_archives.stanza(url, data))
        packs = Packs(connected)
        packs.pull()
    box = Box(connected)
    first, second = packs.states()
    facts = box.pack_details(first)
    assert facts.shared_with == (second.dest,)
    assert facts.linked + facts.copied == len(pack_archives.MESHES)
    assert [path.name for path in facts.cached_in] == [pack_archives.sha256(data)]
    (first.dest / "readme.txt").chmod(0o644)
    target = first.dest / "readme.txt"
    target.unlink()
    target.write_bytes(b"ho\n")
    certain = {status.dest: status for status in box.verify_packs([first, second])}
    assert certain[first.dest].state is State.MODIFIED
    assert [problem.path for problem in certain[first.dest].problems] == ["readme.txt"]
    assert certain[second.dest].state is State.CURRENT


def test_a_job_that_cannot_start_leaves_no_row(connected: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noeira_tui.jobs.process.sys.executable", "/nowhere/python")
    box = Box(connected)
    with pytest.raises(JobError, match="cannot be started"):
        box.pull("walker-v1")
    assert box.jobs() == ()


def test_a_change_of_any_row_changes_the_version(connected: Settings) -> None:
    box, store = Box(connected), JobStore(StateDb(connected.state_dir))
    seen = [box.jobs_version()]
    me = ProcessOwner.me()
    record = store.create(CatalogPull("x").spec(connected), owner=me)
    seen.append(box.jobs_version())
    for done in range(3):
        store.beat(record.id, me, ProgressSnapshot(bytes_done=done))
        # Two writes may fall into one tick of the file's clock: a second at most, then it is read again.
        until(lambda: box.jobs_version() != seen[-1], deadline_s=5)
        seen.append(box.jobs_version())
    assert len(set(map(str, seen))) == 5
    assert box.jobs_version() == seen[-1]
