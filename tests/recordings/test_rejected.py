"""Rejecting episodes writes the list whole, keeps what others put there, can be undone, and travels with the mirror."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.core.states import State
from noeira_tui.recordings.push import push
from noeira_tui.recordings.rejected import REJECTED, edit_rejected, read_rejected, undo_rejected
from tests.recordings.mirrors import new_box, new_project, on_service
from tests.recordings.samples import make_recording
from tests.support.service_fixture import RunningService


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_recording(tmp_path)


def written(folder: Path) -> object:
    return json.loads((folder / REJECTED).read_text("utf-8"))


def test_a_recording_without_the_file_has_none_rejected(folder: Path) -> None:
    assert read_rejected(folder) == frozenset()


def test_the_file_is_as_its_readers_expect_it(folder: Path) -> None:
    edit = edit_rejected(folder, reject=(4, 1, 4))
    assert (folder / REJECTED).read_text() == '{"rejected_episodes":[1,4]}\n'
    assert (edit.rejected, edit.kept, edit.total) == ((1, 4), (), 2)
    assert edit_rejected(folder, reject=(7,), keep=(1, 9)).kept == (1,)
    assert read_rejected(folder) == {4, 7}


def test_what_others_wrote_is_kept(folder: Path) -> None:
    told = {"by": "né", "rejected_episodes": [9, "all of tuesday", True, 2], "version": {"of": 3}}
    (folder / REJECTED).write_text(json.dumps(told))
    (folder / REJECTED).chmod(0o640)
    edit_rejected(folder, reject=(5,), keep=(9,))
    assert written(folder) == told | {"rejected_episodes": [2, 5, "all of tuesday", True]}
    assert (folder / REJECTED).stat().st_mode & 0o777 == 0o640
    assert not list((folder / "meta").glob(".*.tmp")), "nothing lies beside it"


def test_nothing_new_writes_nothing(folder: Path) -> None:
    edit_rejected(folder, reject=(1,))
    before = (folder / REJECTED).stat().st_mtime_ns
    edit = edit_rejected(folder, reject=(1,), keep=(3,))
    assert (edit.rejected, edit.kept) == ((), ())
    assert (folder / REJECTED).stat().st_mtime_ns == before


def test_undo_brings_back_every_byte(folder: Path) -> None:
    old = b'{ "rejected_episodes": [3],\n  "note": 1 }'
    (folder / REJECTED).write_bytes(old)
    edit = edit_rejected(folder, reject=(1,))
    assert read_rejected(folder) == {1, 3}
    assert undo_rejected(edit) == {3}
    assert (folder / REJECTED).read_bytes() == old


def test_undo_where_there_was_no_file_leaves_an_empty_list_that_can_travel(folder: Path) -> None:
    edit = edit_rejected(folder, reject=(1,))
    assert undo_rejected(edit) == frozenset()
    assert written(folder) == {"rejected_episodes": []}


def test_undo_leaves_alone_what_somebody_changed_since(folder: Path) -> None:
    edit = edit_rejected(folder, reject=(1,))
    edit_rejected(folder, reject=(2,))
    with pytest.raises(DatasetFileError, match="changed by somebody else"):
        undo_rejected(edit)
    assert read_rejected(folder) == {1, 2}


@pytest.mark.parametrize("damage", ["[1, 2]", '{"rejected_episodes": "all"}', '{"rejected_episodes": [1', "\xff"])
def test_a_damaged_list_is_told_and_not_touched(folder: Path, damage: str) -> None:
    (folder / REJECTED).write_bytes(damage.encode("latin-1"))
    for work in (lambda: read_rejected(folder), lambda: edit_rejected(folder, reject=(1,))):
        with pytest.raises(DatasetFileError, match="rejected_episodes"):
            work()
    assert (folder / REJECTED).read_bytes() == damage.encode("latin-1")


def test_only_a_recording_gets_a_list(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DatasetFileError, match="it is no recording"):
        edit_rejected(tmp_path, reject=(1,))
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    (folder / REJECTED).symlink_to(elsewhere)
    with pytest.raises(DatasetFileError, match="is a link"):
        edit_rejected(folder, reject=(1,))
    assert elsewhere.read_text() == "{}"


def test_a_pipe_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / REJECTED)
    with pytest.raises(DatasetFileError, match="is no list of episodes"):
        read_rejected(folder)


def test_a_push_carries_it_there_and_the_undone_list_too(service: RunningService, tmp_path: Path) -> None:
    box = new_box(service, tmp_path, new_project())
    box.record()
    assert push(box.mirror()).state is State.CURRENT
    edit = edit_rejected(box.folder, reject=(1,))
    outcome = push(box.mirror())
    assert (outcome.moved, outcome.state) == ((REJECTED,), State.CURRENT)
    sent = on_service(box)[REJECTED]
    undo_rejected(edit)
    assert push(box.mirror()).moved == (REJECTED,)
    assert on_service(box)[REJECTED] != sent
