"""Pushing recordings that are whole, being made, dead, replaced meanwhile, or pushed by somebody else too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from noeira_tui.catalog.wire import ServiceFacts
from noeira_tui.core.errors import DatasetError
from noeira_tui.core.states import State
from noeira_tui.recordings import send
from noeira_tui.recordings.compare import FileState
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.push import foretold, push, run_push
from noeira_tui.recordings.push_plan import plan_push
from tests.recordings.mirrors import MirrorBox, age, everything, new_box, new_project, on_service, tree
from tests.recordings.samples import REAL_DATA
from tests.support.recorders import LeRobotRecorder
from tests.support.service_fixture import RunningService

TABLE = "meta/episodes/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.front/chunk-000/file-{:03d}.mp4"


@pytest.fixture
def box(service: RunningService, tmp_path: Path) -> MirrorBox:
    return new_box(service, tmp_path / "a", new_project())


@pytest.fixture
def other(service: RunningService, tmp_path: Path, box: MirrorBox) -> MirrorBox:
    """A second box with the same project."""
    return new_box(service, tmp_path / "b", box.project)


def reasons(box: MirrorBox) -> dict[str, str]:
    return {held.path: held.reason for held in push(box.mirror()).held}


def test_a_whole_recording_is_sent_and_makes_its_project_there(box: MirrorBox) -> None:
    box.record()
    before = everything(box.folder)
    outcome = push(box.mirror())
    assert (outcome.state, outcome.held, outcome.failed, outcome.made_project) == (State.CURRENT, (), (), True)
    assert outcome.moved[-1] == INFO
    assert on_service(box) == tree(box.folder)
    assert (outcome.episodes, outcome.episodes_sent) == (2, 2)
    assert everything(box.folder) == before, "a push writes nothing into the recording's folder"


def test_again_it_moves_nothing_and_asks_almost_nothing(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box.record()
    monkeypatch.setattr("noeira_tui.recordings.mirror.YOUNG_NS", 0)
    push(box.mirror())
    monkeypatch.setattr("noeira_tui.recordings.mirror.hash_file", None)
    fresh = new_box_again(box)
    outcome = push(fresh.mirror())
    assert (outcome.moved, outcome.unchanged, outcome.bytes_transferred) == ((), 11, 0)
    assert outcome.requests <= 3


def new_box_again(box: MirrorBox) -> MirrorBox:
    """The same box with a new connection, as another run of the tool has it."""
    from noeira_tui.catalog.client import CatalogClient

    key = box.client._http.headers["Authorization"].removeprefix("Bearer ")
    return MirrorBox(CatalogClient(box.client.url, key), box.place, box.project, box.dataset)


def test_a_dry_run_tells_the_same_and_changes_nothing(box: MirrorBox) -> None:
    box.record()
    mirror = box.mirror()
    told = foretold(mirror, plan_push(mirror))
    assert on_service(box) == {}
    assert box.project not in {row.slug for row in box.client.list_projects()}
    assert told.dry_run and told.moved == push(box.mirror()).moved


def test_a_project_that_is_not_here_is_refused_and_made_nowhere(box: MirrorBox) -> None:
    box.record()
    (box.place / "projects" / box.project / "project.kv").unlink()
    with pytest.raises(DatasetError, match="Nothing was made anywhere"):
        push(box.mirror())
    box.make_project()
    with pytest.raises(DatasetError, match="no recording"):
        push(MirrorBox(box.client, box.place, box.project, "typo").mirror())
    assert box.project not in {row.slug for row in box.client.list_projects()}


def test_what_does_not_belong_stays(box: MirrorBox) -> None:
    box.record()
    for path in ("images/x.png", "tmpab/x.mp4", "meta/.hidden.json", "data/x.parquet.part", "videos/x.lock"):
        (box.folder / path).parent.mkdir(exist_ok=True)
        (box.folder / path).write_bytes(b"x")
    push(box.mirror())
    assert on_service(box) == tree(box.folder)


@pytest.mark.parametrize(
    "path",
    ["data/with space.parquet", "data/-dash.bin", "data/é.bin", "videos/[red]/x.bin", "meta/a/b/c/d/e/f/g/h.bin"],
)
def test_a_name_that_cannot_travel_is_held_and_named(box: MirrorBox, path: str) -> None:
    box.record()
    (box.folder / path).parent.mkdir(parents=True, exist_ok=True)
    (box.folder / path).write_bytes(b"x")
    assert "its name cannot travel" in reasons(box)[path]
    assert path not in on_service(box)


def test_an_open_video_and_a_table_without_footer_are_never_sent(box: MirrorBox) -> None:
    box.record(finish=False)
    (box.folder / VIDEO.format(2)).write_bytes(b"\0\0\0\x0cftypisom\0\0\0\0mdatframes")
    (box.folder / "data/chunk-000/file-002.parquet").write_bytes(b"PAR1rows")
    found = reasons(box)
    assert found[VIDEO.format(2)].startswith("still open")
    assert found["data/chunk-000/file-002.parquet"].startswith("still open")
    assert on_service(box) == {p: d for p, d in tree(box.folder).items() if "002" not in p}


def test_a_whole_video_that_no_row_names_yet_waits(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    recorder._video(box.folder / VIDEO.format(2), 5)
    assert "no episode names it yet" in reasons(box)[VIDEO.format(2)]
    recorder.finish()
    age(box.folder)
    assert push(box.mirror()).held == ()
    assert on_service(box) == tree(box.folder)


def test_info_that_counts_more_than_the_tables_hold_waits(box: MirrorBox) -> None:
    box.record(3)
    info = json.loads((box.folder / INFO).read_bytes())
    (box.folder / INFO).write_text(json.dumps(info | {"total_episodes": 5}))
    age(box.folder)
    outcome = push(box.mirror())
    assert {held.path for held in outcome.held} == {INFO, "meta/stats.json", "meta/tasks.parquet"}
    assert "5 episodes recorded, 3 readable" in outcome.held[0].reason
    assert "meta/info.json counts 5 episodes, the tables hold 3" in outcome.problems
    assert (outcome.episodes, outcome.episodes_sent) == (5, 0)
    assert INFO not in on_service(box) and TABLE in on_service(box)
    assert box.client.get_recording(box.project, box.dataset).recording.n_episodes == 3  # type: ignore[union-attr]


def test_the_counts_there_are_those_of_the_info_there(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    push(box.mirror())
    recorder.record()
    (box.folder / VIDEO.format(2)).unlink()
    outcome = push(box.mirror())
    assert outcome.moved and (outcome.episodes, outcome.episodes_sent) == (3, 2)
    assert box.client.get_recording(box.project, box.dataset, "working").recording.n_episodes == 2  # type: ignore[union-attr]


def test_counts_that_somebody_else_told_are_put_right(box: MirrorBox) -> None:
    box.record()
    push(box.mirror())
    box.client.put_recording(box.project, box.dataset, n_episodes=7, n_frames=1, fps=1.0)
    push(box.mirror())
    row = box.mirror().files.row()
    assert row is not None and (row.n_episodes, row.n_frames, row.fps) == (2, 40, 15.0)


@pytest.mark.parametrize("gone", ["meta/tasks.parquet", VIDEO.format(1), "data/chunk-000/file-000.parquet", TABLE])
def test_info_never_stands_above_a_missing_file(box: MirrorBox, gone: str) -> None:
    box.record()
    (box.folder / gone).unlink()
    assert INFO in reasons(box)
    assert INFO not in on_service(box)


def test_info_alone_and_no_info(box: MirrorBox) -> None:
    box.record()
    info = (box.folder / INFO).read_bytes()
    (box.folder / INFO).unlink()
    assert reasons(box)["meta/stats.json"] == "there is no meta/info.json yet"
    shutil.rmtree(box.folder)
    (box.folder / "meta").mkdir(parents=True)
    (box.folder / INFO).write_bytes(info)
    alone = MirrorBox(box.client, box.place, box.project, "alone")
    shutil.copytree(box.folder, alone.folder)
    assert list(reasons(alone)) == [INFO]


def test_a_file_that_vanished_here_does_not_vanish_there(box: MirrorBox) -> None:
    box.record()
    push(box.mirror())
    (box.folder / VIDEO.format(0)).unlink()
    outcome = push(box.mirror())
    assert [left.path for left in outcome.left] == [VIDEO.format(0)]
    assert VIDEO.format(0) in on_service(box)
    shutil.rmtree(box.folder)
    with pytest.raises(DatasetError):
        push(box.mirror())
    assert VIDEO.format(0) in on_service(box)


@pytest.mark.parametrize("moment", ["before upload", "replaced during upload", "vanishes"])
def test_a_file_that_changes_on_its_way_is_not_completed(
    box: MirrorBox, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    box.record()
    victim = box.folder / VIDEO.format(1)
    original = send.upload

    def upload(path: Path, *args: object, **kwargs: object) -> object:
        if path == victim and moment == "vanishes":
            victim.unlink()
        elif path == victim and moment == "before upload":
            victim.write_bytes(victim.read_bytes()[::-1])
        done = original(path, *args, **kwargs)  # type: ignore[arg-type]
        if path == victim and moment == "replaced during upload":
            from noeira_tui.core.errors import SourceChangedError

            raise SourceChangedError("changed while it was sent")
        return done

    monkeypatch.setattr(send, "upload", upload)
    outcome = push(box.mirror())
    assert VIDEO.format(1) in {held.path for held in outcome.held}
    assert INFO in {held.path for held in outcome.held}
    assert on_service(box, "working").get(VIDEO.format(1)) is None
    assert INFO not in on_service(box, "working")


def test_info_that_changes_during_the_pass_makes_another_pass(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = box.record(finish=False)
    mirror = box.mirror()
    plan = plan_push(mirror)
    recorder.record()
    outcome = run_push(mirror, plan)
    assert outcome.repeat and INFO not in on_service(box)
    outcome = push(box.mirror())
    assert not outcome.repeat
    assert on_service(box) == tree(box.folder)


def test_a_killed_push_goes_on_without_a_conflict_with_itself(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Completed on the service, not yet noted here, and changed here meanwhile: still our own version there."""
    recorder = box.record(finish=False)
    push(box.mirror())
    recorder.record()
    age(box.folder)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("noeira_tui.catalog.synced.SyncedFiles.synced", killed)
        with pytest.raises(Killed):
            push(box.mirror())
    recorder.record()
    recorder.finish()
    age(box.folder)
    outcome = push(box.mirror())
    assert outcome.conflicts == ()
    assert on_service(box) == tree(box.folder)


def test_what_another_box_sends_during_a_pass_is_not_replaced(box: MirrorBox, other: MirrorBox) -> None:
    box.record(seed=77)
    push(box.mirror())
    other.record(seed=77)
    for one, text in ((box, "ours"), (other, "theirs")):
        (one.folder / "README.md").write_text(text)
        age(one.folder)
    mirror = box.mirror()
    plan = plan_push(mirror)
    assert [file.path for file in plan.sends] == ["README.md"]
    assert push(other.mirror()).moved == ("README.md",)
    outcome = run_push(mirror, plan)
    assert [failure.path for failure in outcome.failed] == ["README.md"]
    assert on_service(box)["README.md"] == tree(other.folder)["README.md"]
    assert [conflict.path for conflict in push(box.mirror()).conflicts] == ["README.md"]
    assert push(box.mirror(), force=True).moved == ("README.md",)
    assert on_service(other) == tree(box.folder)


def test_what_another_process_of_this_box_sent_is_no_conflict(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    watching = box.mirror()
    push(watching)
    recorder.record()
    push(box.mirror())
    recorder.record()
    assert push(watching).conflicts == ()
    assert on_service(box) == tree(box.folder)


def test_two_boxes_never_overwrite_each_other_silently(box: MirrorBox, other: MirrorBox) -> None:
    box.record(seed=1)
    push(box.mirror())
    other.record(3, seed=2)
    before = on_service(box)
    outcome = push(other.mirror())
    assert {conflict.path for conflict in outcome.conflicts} >= {INFO, TABLE, VIDEO.format(0)}
    assert on_service(box) == before
    forced = push(other.mirror(), force=True)
    assert forced.is_clean
    assert {p: d for p, d in on_service(box).items() if p in tree(other.folder)} == tree(other.folder)
    again = push(box.mirror())
    assert again.moved == () and again.left, "the first box sees newer files and sends nothing over them"


def test_a_conflict_stops_only_what_depends_on_it(box: MirrorBox, other: MirrorBox) -> None:
    box.record(seed=1)
    (box.folder / "README.md").write_text("ours")
    push(box.mirror())
    shutil.copytree(box.folder, other.folder)
    push(other.mirror())
    (other.folder / "README.md").write_text("theirs")
    push(other.mirror())
    (box.folder / "README.md").write_text("ours again")
    (box.folder / "meta/stats.json").write_text('{"a": 1}')
    outcome = push(box.mirror())
    assert [conflict.path for conflict in outcome.conflicts] == ["README.md"]
    assert outcome.moved == ("meta/stats.json",)


def test_content_that_is_stored_is_not_sent_again(box: MirrorBox) -> None:
    box.record()
    push(box.mirror())
    copy = MirrorBox(box.client, box.place, box.project, "copy")
    shutil.copytree(box.folder, copy.folder)
    outcome = push(copy.mirror())
    assert (len(outcome.moved), outcome.bytes_transferred) == (11, 0)
    assert on_service(copy) == tree(copy.folder)


def test_readers_get_the_last_whole_revision_during_a_push(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    push(box.mirror())
    whole = on_service(box)
    recorder.record()
    (box.folder / VIDEO.format(3)).write_bytes(b"\0\0\0\x0cftypisom\0\0\0\0mdatframes")
    info = (box.folder / INFO).read_bytes()
    (box.folder / INFO).write_bytes(info[:40])
    age(box.folder, 10)
    push(box.mirror())
    assert on_service(box) == whole
    assert on_service(box, "working") != whole
    (box.folder / INFO).write_bytes(info)
    (box.folder / VIDEO.format(3)).unlink()
    push(box.mirror())
    assert on_service(box) == tree(box.folder)


def test_revisions_are_listed_and_restored(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    push(box.mirror())
    first = on_service(box)
    recorder.record()
    age(box.folder)
    push(box.mirror())
    files = box.mirror().files
    assert [(row.revision, row.n_episodes) for row in files.revisions()] == [(2, 3), (1, 2)]
    assert files.restore(1).revision == 3
    assert on_service(box) == first
    again = push(box.mirror())
    assert INFO in {left.path for left in again.left}
    assert on_service(box) == first, "an unchanged box does not undo a restore"


def test_a_plain_service_gets_info_last(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without extensions: one file at a time, nothing committed, the order alone keeps readers safe."""
    monkeypatch.setattr(box.client, "_facts", ServiceFacts())
    calls: list[tuple[str, str]] = []
    exchange = box.client.exchange

    def noted(method: str, path: str, body: object = None, **more: object) -> object:
        calls.append((path.rsplit("/", 1)[-1], str(body.get("path")) if isinstance(body, dict) else ""))
        return exchange(method, path, body, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(box.client, "exchange", noted)
    box.record()
    outcome = push(box.mirror())
    assert outcome.is_clean and outcome.state is State.CURRENT
    assert calls[-1][1] == INFO
    assert not {"batch", "complete-batch", "revisions"} & {route for route, _ in calls}
    ready = [path for route, path in calls if route == "complete"]
    assert [path.split("/")[0] for path in ready[:6]] == ["videos"] * 4 + ["data"] * 2
    assert on_service(box) == tree(box.folder)


def test_a_batch_route_that_is_gone_is_done_without(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box.client, "_facts", ServiceFacts("other", "1", frozenset({"batch"})))
    monkeypatch.setattr(
        "noeira_tui.catalog.recordingfiles.recording_route", lambda project, dataset: f"/nowhere/{project}/{dataset}"
    )
    box.record()
    assert push(box.mirror()).is_clean
    assert on_service(box) == tree(box.folder)


def test_an_expired_url_is_renewed(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box.record()
    original = send._OfferedUrl.current

    def expired(self: object) -> object:
        from dataclasses import replace

        presigned = original(self)  # type: ignore[arg-type]
        return replace(presigned, url=presigned.url.replace("X-Amz-Signature=", "X-Amz-Signature=00"))

    monkeypatch.setattr(send._OfferedUrl, "current", expired)
    assert push(box.mirror()).is_clean
    assert on_service(box) == tree(box.folder)


def test_a_dead_lerobot_recorder_says_what_is_lost_and_what_is_left(box: MirrorBox) -> None:
    recorder = LeRobotRecorder(box.folder, metadata_buffer=2, video_file_bytes=1500, data_file_bytes=1500)
    for _ in range(5):
        recorder.record()
    recorder.abandon()
    alive = push(box.mirror())
    assert alive.state is State.RECORDING
    assert any("visible when the recorder closes" in held.reason for held in alive.held)
    assert VIDEO.format(0) in on_service(box), "closed videos are sent ahead"
    age(box.folder)
    outcome = push(box.mirror())
    assert outcome.state is State.PARTIAL
    assert any(
        problem.startswith("lost with the recorder: the rows of 5 of 5 episodes") for problem in outcome.problems
    )
    assert any("recorder died?" in held.reason for held in outcome.held)
    assert INFO not in on_service(box)
    assert {path for path in on_service(box) if path.startswith("videos/")} == {
        path for path in tree(box.folder) if path.startswith("videos/")
    }


def test_lerobots_recorder_becomes_visible_when_it_closes(box: MirrorBox) -> None:
    recorder = LeRobotRecorder(box.folder)
    recorder.record()
    recorder.record()
    found = reasons(box)
    assert found[INFO] == "2 episodes recorded, 0 readable: visible when the recorder closes"
    assert "no episode names it yet" in found[VIDEO.format(0)]
    recorder.finalize()
    assert push(box.mirror()).held == ()
    assert on_service(box) == tree(box.folder)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("dataset_from_index", 7, "begins at frame 7"),
        ("length", 99, "has 99 frames, but spans"),
        (f"videos/{'observation.images.front'}/to_timestamp", 9.0, "s of observation.images.front"),
        ("data/file_index", 5, "which is not here"),
    ],
)
def test_tables_that_contradict_themselves_are_shown(box: MirrorBox, column: str, value: float, problem: str) -> None:
    recorder = box.record()
    recorder.rows[1][column] = value
    from tests.support.recorders import _replace

    _replace(box.folder / TABLE, recorder.rows)
    assert any(problem in told for told in push(box.mirror()).problems)


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real datasets are not beside the repository")
@pytest.mark.parametrize("name", ["so101_rosbag_v30", "lerobot_written/two_cam", "kalanos_tiny/lerobot_v2_1_tiny"])
def test_real_recordings_travel_whole(box: MirrorBox, name: str) -> None:
    shutil.copytree(REAL_DATA / name, box.folder, copy_function=shutil.copyfile)
    age(box.folder)
    outcome = push(box.mirror())
    assert outcome.is_clean and outcome.held == (), outcome
    assert on_service(box) == tree(box.folder)


def test_status_is_one_diff_with_the_push(box: MirrorBox) -> None:
    box.record()
    mirror = box.mirror()
    plan = plan_push(mirror)
    assert {file.state for file in plan.compared.files} == {FileState.AHEAD}
    push(box.mirror())
    again = plan_push(box.mirror())
    assert {file.state for file in again.compared.files} == {FileState.CURRENT}
