"""Pulling recordings: compared by three digests, `info.json` last, nothing of the user's lost, no path believed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from noeira_tui.catalog.synced import SyncedFile, SyncedFiles
from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RowStatus
from noeira_tui.core.errors import DatasetError, NoeiraError, RefusedError
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.recordings import pull as pull_module
from noeira_tui.recordings.atglance import compare_at_glance
from noeira_tui.recordings.fetch import pull_into_project
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.pull import foretold, plan_pull, pull
from noeira_tui.recordings.push import push
from tests.recordings.mirrors import MirrorBox, age, new_box, new_project, on_service, tree
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_fixture import RunningService

TABLE = "meta/episodes/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.front/chunk-000/file-000.mp4"
STATS = "meta/stats.json"


@pytest.fixture
def box(service: RunningService, tmp_path: Path) -> MirrorBox:
    """A box whose recording is on the service."""
    box = new_box(service, tmp_path / "a", new_project())
    box.record()
    push(box.mirror())
    return box


@pytest.fixture
def reader(service: RunningService, tmp_path: Path, box: MirrorBox) -> MirrorBox:
    return new_box(service, tmp_path / "b", box.project)


def test_another_box_gets_the_same_bytes_and_can_read_them(box: MirrorBox, reader: MirrorBox) -> None:
    outcome = pull(reader.mirror())
    assert (outcome.state, outcome.failed, outcome.conflicts) == (State.CURRENT, (), ())
    assert outcome.moved[-1] == INFO
    assert tree(reader.folder) == tree(box.folder)
    assert not [path for path in reader.folder.rglob("*") if path.name.endswith((".part", ".journal"))]
    assert pq.read_table(reader.folder / "data/chunk-000/file-001.parquet").num_rows == 20
    assert pq.read_table(reader.folder / TABLE)["length"].to_pylist() == [20, 20]
    again = pull(reader.mirror())
    assert (again.moved, again.unchanged, again.bytes_transferred) == ((), 11, 0)


def test_only_what_differs_is_fetched(box: MirrorBox, reader: MirrorBox) -> None:
    pull(reader.mirror())
    (box.folder / STATS).write_text('{"newer": 1}')
    push(box.mirror())
    (reader.folder / VIDEO).unlink()
    mirror = reader.mirror()
    told = foretold(mirror, plan_pull(mirror))
    assert not (reader.folder / VIDEO).exists()
    assert set(told.moved) == set(pull(reader.mirror()).moved) == {STATS, VIDEO}
    assert tree(reader.folder) == tree(box.folder)


def test_what_was_changed_here_stays_unless_forced(box: MirrorBox, reader: MirrorBox) -> None:
    pull(reader.mirror())
    (reader.folder / STATS).write_text('{"mine": 1}')
    (reader.folder / "meta/notes.json").write_text("{}")
    kept = pull(reader.mirror())
    assert ([left.path for left in kept.left], kept.conflicts, kept.moved) == ([STATS], (), ())
    (box.folder / STATS).write_text('{"theirs": 1}')
    push(box.mirror())
    both = pull(reader.mirror())
    assert [conflict.path for conflict in both.conflicts] == [STATS]
    assert (reader.folder / STATS).read_text() == '{"mine": 1}'
    forced = pull(reader.mirror(), force=True)
    assert forced.moved == (STATS,) and forced.is_clean
    assert (reader.folder / STATS).read_text() == '{"theirs": 1}'
    assert (reader.folder / "meta/notes.json").exists(), "what the mirror lacks is never deleted"


def test_a_file_of_somebody_elses_in_the_way_is_a_conflict(box: MirrorBox, reader: MirrorBox) -> None:
    (reader.folder / VIDEO).parent.mkdir(parents=True)
    (reader.folder / VIDEO).write_bytes(b"not this")
    outcome = pull(reader.mirror())
    assert [conflict.path for conflict in outcome.conflicts] == [VIDEO]
    assert (reader.folder / VIDEO).read_bytes() == b"not this"
    assert not (reader.folder / INFO).exists()
    assert INFO in {held.path for held in outcome.held}


def test_the_same_bytes_without_a_remembered_sync_move_nothing(box: MirrorBox, reader: MirrorBox) -> None:
    import shutil

    shutil.copytree(box.folder, reader.folder)
    outcome = pull(reader.mirror())
    assert (outcome.moved, outcome.conflicts, outcome.state) == ((), (), State.CURRENT)


BAD = [
    "../x",
    "/etc/x",
    "data/../../x",
    "data\\x",
    "data/a\0b",
    "data/.hidden",
    "a/b/c/d/e/f/g/h/i",
    "data//x",
    "data/x ",
]


@pytest.mark.parametrize("path", [*BAD, "images/x.png", "data/x.part"])
def test_paths_that_must_not_be_written_are_refused_by_name(
    box: MirrorBox, reader: MirrorBox, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    original = reader.client.get_recording

    def answer(*arguments: object) -> RecordingAnswer | None:
        found = original(*arguments)  # type: ignore[arg-type]
        assert found is not None
        evil = next(row for row in found.files if row.path == VIDEO)
        return replace(found, files=(*found.files, replace(evil, path=path)))

    monkeypatch.setattr(reader.client, "get_recording", answer)
    before = {str(p) for p in reader.place.parent.rglob("*")}
    outcome = pull(reader.mirror())
    assert [failure.path for failure in outcome.failed] == [path]
    assert "refused" in outcome.failed[0].error
    assert tree(reader.folder) == tree(box.folder)
    made = {p for p in map(str, reader.place.parent.rglob("*")) if p not in before}
    made -= {str(parent) for parent in reader.folder.parents}
    assert all(p.startswith((str(reader.folder), str(reader.place / "state"))) for p in made)


@pytest.mark.parametrize("link", ["videos", "videos/observation.images.front", VIDEO])
def test_nothing_is_written_through_a_link(box: MirrorBox, reader: MirrorBox, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (reader.folder / link).parent.mkdir(parents=True)
    (reader.folder / link).symlink_to(outside)
    outcome = pull(reader.mirror())
    assert VIDEO in {failure.path for failure in outcome.failed}
    assert list(outside.iterdir()) == []
    assert not (reader.folder / INFO).exists()


def test_a_failed_file_keeps_info_away(box: MirrorBox, reader: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    original = reader.client.get_recording

    def answer(*arguments: object) -> RecordingAnswer | None:
        found = original(*arguments)  # type: ignore[arg-type]
        assert found is not None
        rows = [replace(row, sha256="ee" * 32) if row.path == VIDEO else row for row in found.files]
        return replace(found, files=tuple(rows))

    monkeypatch.setattr(reader.client, "get_recording", answer)
    outcome = pull(reader.mirror())
    assert [failure.path for failure in outcome.failed] == [VIDEO]
    assert "should have sha256" in outcome.failed[0].error
    assert not (reader.folder / INFO).exists() and not (reader.folder / VIDEO).exists()
    monkeypatch.undo()
    assert pull(reader.mirror()).is_clean
    assert tree(reader.folder) == tree(box.folder)


def test_expired_urls_are_renewed_once_for_all(
    box: MirrorBox, reader: MirrorBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    original: Callable[..., RecordingAnswer | None] = reader.client.get_recording
    asked: list[object] = []

    def answer(*arguments: object) -> RecordingAnswer | None:
        found = original(*arguments)
        assert found is not None
        asked.append(arguments)
        if len(asked) > 1:
            return found
        return replace(found, files=tuple(_expired(row) for row in found.files))

    monkeypatch.setattr(reader.client, "get_recording", answer)
    assert pull(reader.mirror()).is_clean
    assert tree(reader.folder) == tree(box.folder)
    assert len(asked) == 2


def _expired(row: FileRow) -> FileRow:
    assert row.download is not None
    return replace(row, download=replace(row.download, url=row.download.url.replace("Signature=", "Signature=00")))


def test_a_reader_of_an_older_revision_gets_all_of_it(box: MirrorBox, reader: MirrorBox) -> None:
    first = tree(box.folder)
    recorder = CheckpointingRecorder(box.folder, seed=99)
    recorder.record(30)
    age(box.folder)
    push(box.mirror(), force=True)
    outcome = pull(reader.mirror(), revision=1)
    assert outcome.revision == 1
    assert tree(reader.folder) == first
    assert pull(reader.mirror()).is_clean
    assert tree(reader.folder) == on_service(box)
    with pytest.raises(RefusedError, match="no revision 77"):
        pull(reader.mirror(), revision=77)


def test_nothing_on_the_service_makes_nothing_here(reader: MirrorBox) -> None:
    lost = MirrorBox(reader.client, reader.place, reader.project, "typo")
    with pytest.raises(RefusedError, match="no recording"):
        pull(lost.mirror())
    assert not lost.folder.exists()


def test_a_project_that_this_box_lacks_is_made_only_when_asked(box: MirrorBox, reader: MirrorBox) -> None:
    kv = reader.place / "projects" / reader.project / "project.kv"
    kv.unlink()
    with pytest.raises(DatasetError, match="no project"):
        pull_into_project(reader.mirror())
    assert not reader.folder.exists()
    outcome = pull_into_project(reader.mirror(), create_project=True)
    assert outcome.made_project and outcome.is_clean
    assert kv.is_file()
    assert tree(reader.folder) == tree(box.folder)


def test_a_recording_that_is_not_there_makes_no_project(reader: MirrorBox) -> None:
    lost = MirrorBox(reader.client, reader.place, new_project(), "typo")
    with pytest.raises(NoeiraError):
        pull_into_project(lost.mirror(), create_project=True)
    assert not (lost.place / "projects" / lost.project).exists()


def test_a_pending_file_is_not_fetched(box: MirrorBox, reader: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    original = reader.client.get_recording

    def answer(*arguments: object) -> RecordingAnswer | None:
        found = original(*arguments)  # type: ignore[arg-type]
        assert found is not None
        return replace(found, files=(*found.files, FileRow("data/chunk-000/file-009.parquet", RowStatus.PENDING)))

    monkeypatch.setattr(reader.client, "get_recording", answer)
    assert pull(reader.mirror()).is_clean
    assert tree(reader.folder) == tree(box.folder)


def test_lerobots_own_loader_opens_what_was_pulled(box: MirrorBox, reader: MirrorBox) -> None:
    module = pytest.importorskip("lerobot.datasets.lerobot_dataset", reason="LeRobot is not installed")
    pull(reader.mirror())
    assert module.LeRobotDatasetMetadata("local/trial", root=reader.folder).total_episodes == 2


def test_a_copy_of_what_another_box_records_is_not_recorded_here(service: RunningService, tmp_path: Path) -> None:
    project = new_project()
    box, reader = new_box(service, tmp_path / "a", project), new_box(service, tmp_path / "b", project)
    recorder = box.record(finish=False)
    push(box.mirror())
    assert pull(reader.mirror()).state is State.CURRENT
    assert box.mirror().look().is_recording and not reader.mirror().look().is_recording
    recorder.record()
    push(box.mirror())
    db, there = StateDb(reader.place / "state"), reader.client.get_recording(project, reader.dataset)
    local, compared = compare_at_glance(db, reader.client.url, reader.folder, there, lambda path: None, time.time())
    assert (local.is_recording, compared.state) == (False, State.STALE)
    # Somebody goes on with it here.
    CheckpointingRecorder(reader.folder, seed=4712).record()
    assert reader.mirror().look().is_recording


def test_the_episodes_of_another_recording_of_that_name_are_not_counted_as_sent(
    box: MirrorBox, reader: MirrorBox
) -> None:
    reader.record(seed=4713)
    outcome = push(reader.mirror())
    assert (outcome.state, outcome.episodes, outcome.episodes_sent) == (State.DIVERGED, 2, 0)


def test_many_files_are_noted_together_also_when_a_pull_ends_early(
    box: MirrorBox, reader: MirrorBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[int] = []
    synced = SyncedFiles.synced

    def counting(self: SyncedFiles, files: Iterable[SyncedFile]) -> None:
        several = list(files)
        noted.append(len(several))
        synced(self, several)

    def failing(*_: object) -> None:
        raise DatasetError("it ends here")

    monkeypatch.setattr(SyncedFiles, "synced", counting)
    monkeypatch.setattr(pull_module, "_NOTED_AFTER_S", 60.0)
    with monkeypatch.context() as early:
        early.setattr(pull_module, "_info_must_wait", failing)
        with pytest.raises(DatasetError, match="ends here"):
            pull(reader.mirror())
    assert [count for count in noted if count] == [10]
    again = pull(reader.mirror())
    assert (again.moved, again.unchanged) == ((INFO,), 10)
