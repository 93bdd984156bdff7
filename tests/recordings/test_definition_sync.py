"""Two boxes and one real service: what a push and a pull of a project's definition files move, and what they keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.errors import ConfigError, DatasetError, RefusedError
from noeira_tui.recordings.definition_outcome import DefinitionConflict, foretold
from noeira_tui.recordings.definition_plan import Direction
from tests.recordings.definition_boxes import Box, digest, unique
from tests.support.service_fixture import RunningService

ALL = ("calibration/robots/so101/left.json", "policies/act.kv", "project.kv")


@pytest.fixture
def boxes(service: RunningService, tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    project = f"p{uuid4().hex[:10]}"
    with CatalogClient(service.url, service.key) as client:
        yield Box(tmp_path / "one", client, project), Box(tmp_path / "two", client, project)


@pytest.fixture
def shared(boxes: tuple[Box, Box]) -> tuple[Box, Box]:
    """Both boxes have the three files, and so has the service."""
    one, two = boxes
    for path in ALL:
        one.write(path, unique("description=two arms"))
    assert one.push().is_clean and two.pull().is_clean
    return one, two


def test_first_push_makes_the_project_there(boxes: tuple[Box, Box]) -> None:
    one, _ = boxes
    contents = {path: one.write(path, unique("description=two arms")) for path in ALL}
    one.write("datasets/trial/meta/info.json", b"{}")
    done = one.push()
    assert (done.moved, done.made, done.is_clean, done.warnings) == (ALL, True, True, ())
    assert done.bytes_transferred == sum(len(data) for data in contents.values())
    assert one.bases() == {path: digest(data) for path, data in contents.items()}
    row = next(row for row in one.client.list_projects() if row.slug == one.project)
    assert row.description == "two arms"


def test_a_pull_makes_the_project_here(shared: tuple[Box, Box]) -> None:
    one, two = shared
    assert {path: two.read(path) for path in ALL} == {path: one.read(path) for path in ALL}
    assert two.bases() == one.bases()
    assert two.files() == {*ALL, ".sync.kv"}


def test_nothing_changed_moves_nothing(shared: tuple[Box, Box]) -> None:
    for box in shared:
        before = box.stamps()
        for done in (box.push(), box.pull()):
            assert (done.moved, done.unchanged, done.bytes_transferred, done.made) == ((), ALL, 0, False)
        assert box.stamps() == before


def test_an_edit_travels(shared: tuple[Box, Box]) -> None:
    one, two = shared
    edited = one.write("policies/act.kv", unique())
    assert two.pull().moved == ()
    assert (one.pull().left, one.read("policies/act.kv")) == (("policies/act.kv",), edited)
    assert one.push().moved == ("policies/act.kv",)
    late = two.push()
    assert (late.moved, late.left, late.is_clean) == ((), ("policies/act.kv",), True)
    assert two.pull().moved == ("policies/act.kv",)
    assert two.read("policies/act.kv") == edited
    assert two.bases() == one.bases()


def test_a_new_file_travels_and_none_is_deleted(shared: tuple[Box, Box]) -> None:
    one, two = shared
    added = one.write("calibration/empty.json", b"")
    mine = two.write("policies/mine.kv", unique())
    assert one.push().moved == ("calibration/empty.json",)
    (one.folder / "policies/act.kv").unlink()
    assert one.push().moved == ()
    pulled = two.pull()
    assert pulled.moved == ("calibration/empty.json",)
    assert (two.read("calibration/empty.json"), two.read("policies/mine.kv")) == (added, mine)
    assert one.pull().moved == ("policies/act.kv",)


def test_both_sides_edited_is_a_conflict_both_ways(shared: tuple[Box, Box]) -> None:
    one, two = shared
    base = digest(one.read("project.kv"))
    theirs, mine = one.write("project.kv", unique()), two.write("project.kv", unique())
    fresh = two.write("policies/new.kv", unique())
    assert one.push().is_clean
    expected = (DefinitionConflict("project.kv", digest(mine), digest(theirs), base),)
    pushed = two.push()
    assert (pushed.conflicts, pushed.moved, pushed.is_clean) == (expected, ("policies/new.kv",), False)
    pulled = two.pull()
    assert (pulled.conflicts, pulled.moved, two.read("project.kv")) == (expected, (), mine)
    assert one.pull().moved == ("policies/new.kv",)
    assert (one.read("project.kv"), one.read("policies/new.kv")) == (theirs, fresh)
    assert two.bases()["project.kv"] == base


def test_force_takes_ours(shared: tuple[Box, Box]) -> None:
    one, two = shared
    one.write("project.kv", unique())
    mine = two.write("project.kv", unique())
    assert one.push().is_clean
    done = two.push(force=True)
    assert (done.moved, done.is_clean, two.read("project.kv")) == (("project.kv",), True, mine)
    assert one.pull().moved == ("project.kv",)
    assert one.read("project.kv") == mine


def test_force_takes_theirs(shared: tuple[Box, Box]) -> None:
    one, two = shared
    theirs = one.write("project.kv", unique())
    two.write("project.kv", unique())
    ahead = two.write("policies/act.kv", unique())
    assert one.push().is_clean
    done = two.pull(force=True)
    assert (done.moved, done.left, two.read("project.kv")) == (("project.kv",), ("policies/act.kv",), theirs)
    assert two.read("policies/act.kv") == ahead
    assert two.push().moved == ("policies/act.kv",)


def test_the_same_edit_on_both_sides_is_no_conflict(shared: tuple[Box, Box]) -> None:
    one, two = shared
    same = unique()
    for box in shared:
        box.write("project.kv", same)
    assert one.push().moved == ("project.kv",)
    assert two.push().unchanged == ALL
    assert two.bases()["project.kv"] == digest(same)


def test_damaged_bases_warn_and_make_differences_conflicts(shared: tuple[Box, Box]) -> None:
    one, two = shared
    one.write("project.kv", unique())
    assert one.push().is_clean
    (two.folder / ".sync.kv").write_bytes(b"project.kv=\xff\n")
    done = two.pull()
    assert [conflict.path for conflict in done.conflicts] == ["project.kv"]
    assert done.conflicts[0].base is None
    assert [".sync.kv" in warning for warning in done.warnings] == [True]
    assert set(two.bases()) == set(ALL) - {"project.kv"}


def test_a_dry_run_moves_nothing(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    one.write("project.kv", unique())
    planned = foretold(one.plan(Direction.PUSH))
    assert (planned.moved, planned.made, planned.bytes_transferred) == (("project.kv",), True, 0)
    assert one.files() == {"project.kv"}
    assert one.project not in {row.slug for row in one.client.list_projects()}
    assert one.push().moved == planned.moved
    assert foretold(two.plan(Direction.PULL)).moved == ("project.kv",)
    assert not two.projects.exists()


def test_a_push_of_what_is_not_here_makes_nothing(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    with pytest.raises(DatasetError, match=r"project\.kv"):
        one.push()
    one.write("calibration/arm.json", unique())
    with pytest.raises(DatasetError, match=one.project):
        one.push()
    assert one.project not in {row.slug for row in one.client.list_projects()}
    assert not two.projects.exists() and one.files() == {"calibration/arm.json"}


def test_a_pull_of_what_is_nowhere_makes_nothing(boxes: tuple[Box, Box]) -> None:
    one, _ = boxes
    with pytest.raises(DatasetError, match="here or on the service"):
        one.pull()
    assert not one.projects.exists()
    one.write("project.kv", unique())
    with pytest.raises(RefusedError, match="only here") as caught:
        one.pull()
    assert f"project push {one.project}" in caught.value.hint


def test_a_project_without_definition_gets_a_minimal_one(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    one.client.put_project(one.project, "two arms\nproject=evil")
    done = two.pull()
    assert (done.made_definition, done.made, done.moved) == (True, True, ())
    assert two.read("project.kv").decode().splitlines()[-1] == "description=two arms project=evil"
    assert two.pull().left == () and two.push().moved == ("project.kv",)


def test_a_minimal_one_gives_way_to_a_real_one(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    one.client.put_project(one.project, "two arms")
    two.pull()
    one.write("project.kv", unique("description=two arms"))
    assert one.push().is_clean
    assert two.pull().moved == ("project.kv",)
    assert two.read("project.kv") == one.read("project.kv")


def test_a_new_description_is_told(shared: tuple[Box, Box]) -> None:
    one, two = shared
    one.write("project.kv", unique("description=one arm, caf\xe9").decode().encode("latin-1"))
    assert one.push().is_clean
    row = next(row for row in two.client.list_projects() if row.slug == one.project)
    assert row.description == "one arm, caf"


def test_a_name_that_no_project_can_have(boxes: tuple[Box, Box]) -> None:
    with pytest.raises(ConfigError, match="cannot be a project's name"):
        Box(boxes[0].projects, boxes[0].client, "../up").push()
