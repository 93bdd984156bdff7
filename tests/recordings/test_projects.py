"""Finding projects and reading `project.kv`."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.recordings.projects import discover_projects, parse_project
from tests.recordings.samples import make_recording, put


def test_reads_description_and_wanted_datasets() -> None:
    lines = ["# my robot", "description=Stack the cubes = fast", "robot=so101", "dataset=a-v1", "dataset=b"]
    definition = parse_project(("\ufeff" + "\r\n".join([*lines, "dataset=a-v1", ""])).encode())
    assert definition.description == "Stack the cubes = fast"
    assert definition.wanted == ("a-v1", "b")
    assert definition.problems == ()


def test_a_line_that_is_none_is_named_and_stops_nothing() -> None:
    definition = parse_project(b"description=x\nwhat\n=y\ndataset=\ndataset=a\n")
    assert definition.wanted == ("a",)
    assert [problem.split(":")[0] for problem in definition.problems] == ["project.kv, line 2", "project.kv, line 3"]


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(data: bytes) -> None:
    assert len(parse_project(data).wanted) <= data.count(b"dataset")


def test_projects_and_their_recordings_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        put(tmp_path / name / "project.kv", b"description=" + name.encode())
        make_recording(tmp_path, name, "two")
        make_recording(tmp_path, name, "one")
    (tmp_path / "a/datasets/empty").mkdir()
    (tmp_path / "a/datasets/.hidden/meta").mkdir(parents=True)
    (tmp_path / "stray").mkdir()
    put(tmp_path / "file", b"")
    projects = discover_projects(tmp_path)
    assert [(project.slug, project.description) for project in projects] == [("a", "a"), ("b", "b")]
    assert [folder.name for folder in projects[0].recordings] == ["one", "two"]


def test_recordings_without_a_definition_are_not_hidden(tmp_path: Path) -> None:
    make_recording(tmp_path, "lost")
    (project,) = discover_projects(tmp_path)
    assert (project.slug, project.has_definition) == ("lost", False)
    assert project.problems


def test_no_projects_folder(tmp_path: Path) -> None:
    assert discover_projects(tmp_path / "gone") == ()


def test_weird_names_survive(tmp_path: Path) -> None:
    raw = b"\xff[bold"
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw))
    put(folder / "project.kv", b"")
    (project,) = discover_projects(tmp_path)
    assert os.fsencode(project.slug) == raw
