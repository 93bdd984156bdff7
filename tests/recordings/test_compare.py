"""Here against there, file by file and as one state."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RecordingRow, RowStatus
from noeira_tui.core.states import State
from noeira_tui.recordings.compare import FileState, RecordingState, compare
from noeira_tui.recordings.read import read_recording
from tests.recordings.samples import EPISODES, FRONT, MP4, PARQUET, TABLE, make_recording, put

NOW = 1_000_000.0 + 3600
OTHER = "ee" * 32


def digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def row(path: str, sha256: str, size_bytes: int) -> FileRow:
    return FileRow(path, RowStatus.READY, sha256, size_bytes)


class Box:
    """A recording here, the service's files and the remembered sync, all equal to begin with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = read_recording(folder, NOW).files
        self.there = {f.path: row(f.path, digest(folder / f.path) or "", f.size_bytes) for f in files}
        self.synced = {path: file.sha256 or "" for path, file in self.there.items()}
        self.known = True

    def state(self, *, wanted: bool = False, here: bool = True) -> RecordingState:
        return compare(
            read_recording(self.folder, NOW) if here else None,
            RecordingAnswer(RecordingRow("trial"), tuple(self.there.values())),
            digest if self.known else lambda path: None,
            self.synced,
            wanted=wanted,
        )


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(make_recording(tmp_path))


def test_equal_contents_are_current_with_and_without_a_remembered_sync(box: Box) -> None:
    assert box.state() == RecordingState(State.CURRENT, files=box.state().files)
    box.synced = {}
    assert box.state().state is State.CURRENT


def test_only_here_is_local(box: Box) -> None:
    told = compare(read_recording(box.folder, NOW), None, digest, {})
    assert (told.state, told.ahead, told.behind) == (State.LOCAL, 6, 0)
    assert told.unsent_bytes == sum(file.size_bytes or 0 for file in box.there.values())


def test_only_there(box: Box) -> None:
    box.synced = {}
    told = box.state(here=False)
    assert (told.state, told.behind, told.ahead) == (State.REMOTE, 6, 0)
    assert told.bytes_to_fetch == sum(file.size_bytes or 0 for file in box.there.values())
    assert box.state(here=False, wanted=True).state is State.MISSING
    box.synced = {FRONT: OTHER}
    assert box.state(here=False).state is State.MISSING


def test_nowhere_is_missing_and_an_upload_that_never_completed_is_pending(box: Box) -> None:
    assert compare(None, None, digest, {}, wanted=True).state is State.MISSING
    box.there = {FRONT: FileRow(FRONT, RowStatus.PENDING)}
    assert box.state(here=False).state is State.PENDING


def test_a_file_the_service_lacks_is_ahead(box: Box) -> None:
    del box.there[FRONT]
    told = box.state()
    assert (told.state, told.ahead, told.unsent_bytes) == (State.AHEAD, 1, len(MP4))
    box.there[FRONT] = FileRow(FRONT, RowStatus.PENDING)
    assert box.state().state is State.AHEAD


def test_changed_here_since_the_sync_is_modified(box: Box) -> None:
    put(box.folder / "meta/stats.json", b'{"a": 1}')
    told = box.state()
    assert (told.state, told.ahead, told.unsent_bytes) == (State.MODIFIED, 1, 8)


def test_changed_there_since_the_sync_is_stale(box: Box) -> None:
    box.there[TABLE] = row(TABLE, OTHER, 77)
    told = box.state()
    assert (told.state, told.behind, told.bytes_to_fetch, told.unsent_bytes) == (State.STALE, 1, 77, 0)
    box.there["data/chunk-000/file-001.parquet"] = row("data/chunk-000/file-001.parquet", OTHER, 3)
    assert (box.state().state, box.state().bytes_to_fetch) == (State.STALE, 80)


@pytest.mark.parametrize("case", ["both changed one file", "different files", "no sync remembered"])
def test_both_changed_is_diverged(box: Box, case: str) -> None:
    box.there[TABLE] = row(TABLE, OTHER, 77)
    if case == "both changed one file":
        put(box.folder / TABLE, PARQUET[:4] + b"x" + PARQUET[4:])
    elif case == "different files":
        put(box.folder / "meta/stats.json", b'{"a": 1}')
    else:
        box.synced = {}
    told = box.state()
    assert told.state is State.DIVERGED
    assert told.reason


def test_some_files_gone_is_partial(box: Box) -> None:
    (box.folder / FRONT).unlink()
    told = box.state()
    assert (told.state, told.behind, told.bytes_to_fetch) == (State.PARTIAL, 1, len(MP4))


def test_unknown_digest_of_the_same_size_is_unverified(box: Box) -> None:
    box.known = False
    told = box.state()
    assert (told.state, told.ahead, told.behind) == (State.UNVERIFIED, 0, 0)
    assert {file.state for file in told.files} == {FileState.UNVERIFIED}


def test_a_size_alone_tells_a_change_here(box: Box) -> None:
    box.known = False
    put(box.folder / "meta/stats.json", b'{"a": 1}')
    assert {file.path for file in box.state().files if file.state is FileState.AHEAD} == {"meta/stats.json"}


def test_recording_beats_ahead(box: Box) -> None:
    del box.there[TABLE]
    put(box.folder / "meta/noeira_writer_stats.json", b'{"finished": false}')
    told = box.state()
    assert (told.state, told.ahead) == (State.RECORDING, 2)


def test_an_open_file_is_held_back_and_counts_as_unsent(box: Box) -> None:
    new = "videos/observation.images.front/chunk-000/file-001.mp4"
    put(box.folder / new, MP4[:-1], NOW)
    told = box.state()
    assert (told.state, told.held_back, told.ahead, told.unsent_bytes) == (State.RECORDING, 1, 0, len(MP4) - 1)
    put(box.folder / new, MP4[:-1], NOW - 500)
    told = box.state()
    assert (told.state, told.held_back) == (State.PARTIAL, 1)
    assert told.reason == f"{new}: ends inside a box; recorder died?"


def test_remote_paths_that_escape_are_left_out(box: Box) -> None:
    box.there["../x"] = row("../x", OTHER, 5)
    assert box.state().state is State.CURRENT


def test_files_are_told_in_the_order_in_which_they_travel(box: Box) -> None:
    paths = [file.path for file in box.state().files]
    assert paths[:3] == [FRONT, TABLE, EPISODES]
    assert paths[-1] == "meta/info.json"
