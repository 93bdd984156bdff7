"""Which files define a project, where they may be written, and what three digests decide."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noeira_tui.core.errors import DatasetError, DestinationError, StateError
from noeira_tui.recordings.definition_bases import SYNC_FILE, BaseDigests, parse_bases
from noeira_tui.recordings.definition_files import destination, is_definition_path, scan_definitions
from noeira_tui.recordings.definition_plan import Direction, Move, decide

A, B, C = "a" * 64, "b" * 64, "c" * 64
CAP = 1 << 20


def fill(folder: Path, *paths: str, data: bytes = b"x") -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


@pytest.mark.parametrize(
    ("here", "there", "base", "push", "pull"),
    [
        (A, A, None, Move.UNCHANGED, Move.UNCHANGED),
        (A, A, B, Move.UNCHANGED, Move.UNCHANGED),
        (A, None, None, Move.TRANSFER, Move.LEFT),
        (A, None, A, Move.TRANSFER, Move.LEFT),
        (None, B, None, Move.LEFT, Move.TRANSFER),
        (None, B, A, Move.LEFT, Move.TRANSFER),
        (B, A, A, Move.TRANSFER, Move.LEFT),
        (A, B, A, Move.LEFT, Move.TRANSFER),
        (B, C, A, Move.CONFLICT, Move.CONFLICT),
        (A, B, None, Move.CONFLICT, Move.CONFLICT),
    ],
)
def test_three_digests_decide(here: str | None, there: str | None, base: str | None, push: Move, pull: Move) -> None:
    assert decide(Direction.PUSH, here, there, base) is push
    assert decide(Direction.PULL, here, there, base) is pull
    for direction, move in ((Direction.PUSH, push), (Direction.PULL, pull)):
        forced = decide(direction, here, there, base, force=True)
        assert forced is (Move.TRANSFER if move is Move.CONFLICT else move)


@pytest.mark.parametrize(
    "path", ["project.kv", "calibration/arm.json", "calibration/robots/so101/left.json", "policies/act.kv"]
)
def test_definition_places(path: str) -> None:
    assert is_definition_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "", "/project.kv", "../project.kv", "calibration", "calibration/", "calibration/../project.kv", "a/project.kv",
        "calibration/.hidden", "calibration/a\\b", "calibration/a\0", "calibration/a\n", "policies/a.py",
        "policies/deep/a.kv", "policies/.kv", ".sync.kv", "datasets/d/meta/info.json", "project.kv.part",
        "project.kv/x", "calibration/arm.json.part", "calibration/arm.json.part.journal", "Project.kv",
        "calibration/" + "a/" * 7 + "a",
    ],
)  # fmt: skip
def test_everything_else_is_no_definition_file(path: str) -> None:
    assert not is_definition_path(path)


def test_scan_finds_the_definition_and_nothing_else(tmp_path: Path) -> None:
    wanted = ["calibration/arm.json", "calibration/robots/so101/left.json", "policies/act.kv", "project.kv"]
    fill(tmp_path, *wanted)
    fill(
        tmp_path,
        "notes.txt", "policies/train.py", "policies/deep/a.kv", "calibration/.DS_Store", "calibration/arm.json~",
        "calibration/arm.json.part", "calibration/arm.json.part.journal", "datasets/d/meta/info.json", SYNC_FILE,
    )  # fmt: skip
    found = scan_definitions(tmp_path, CAP)
    assert [file.path for file in found] == wanted
    assert all(file.problem is None and file.size_bytes == 1 and file.sha256 and file.stamp for file in found)
    assert scan_definitions(tmp_path / "nowhere", CAP) == ()


def test_scan_names_what_cannot_travel(tmp_path: Path) -> None:
    fill(tmp_path, "calibration/my arm.json", "calibration/" + "d/" * 8 + "deep.json")
    fill(tmp_path, "project.kv", data=b"x" * 101)
    os.mkfifo(tmp_path / "calibration" / "pipe")
    (tmp_path / "calibration" / "dangling").symlink_to("nowhere")
    problems = {file.path: file.problem or "" for file in scan_definitions(tmp_path, 100)}
    assert "name" in problems["calibration/my arm.json"]
    assert "regular" in problems["calibration/pipe"]
    assert "read" in problems["calibration/dangling"]
    assert "101 bytes" in problems["project.kv"] and "100" in problems["project.kv"]
    assert any(path.startswith("calibration/d/d/") and "name" in problem for path, problem in problems.items())
    assert len(problems) == 5


def test_scan_reads_through_links_and_ends_in_loops(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "p", tmp_path / "lerobot"
    fill(project, "project.kv")
    fill(elsewhere, "arm.json")
    (elsewhere / "again").symlink_to(elsewhere)
    (project / "calibration").symlink_to(elsewhere)
    assert [file.path for file in scan_definitions(project, CAP)] == ["calibration/arm.json", "project.kv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    fill(tmp_path, "calibration/arm.json")
    (tmp_path / "calibration").chmod(0)
    with pytest.raises(DatasetError, match="calibration"):
        scan_definitions(tmp_path, CAP)
    (tmp_path / "calibration").chmod(0o755)


def test_nothing_is_written_through_or_over_a_link(tmp_path: Path) -> None:
    project, outside = tmp_path / "p", tmp_path / "outside"
    fill(project, "policies/act.kv", "file")
    outside.mkdir()
    (project / "calibration").symlink_to(outside)
    (project / "project.kv").symlink_to(outside / "other.kv")
    (project / "policies" / "sub").mkdir()
    for path, why in (
        ("calibration/arm.json", "link"), ("project.kv", "link"), ("file/below.json", "no folder"),
        ("policies/sub", "a folder"),
    ):  # fmt: skip
        with pytest.raises(DestinationError, match=why):
            destination(project, path)
    assert destination(project, "policies/act.kv") == project / "policies" / "act.kv"
    assert destination(project, "policies/new/deep.kv") == project / "policies" / "new" / "deep.kv"
    assert not (project / "policies" / "new").exists()


def test_bases_are_remembered_and_merged(tmp_path: Path) -> None:
    mine, theirs = BaseDigests(tmp_path), BaseDigests(tmp_path)
    assert mine.get("project.kv") is None and mine.warning is None
    mine.remember({"project.kv": A})
    theirs.remember({"policies/act.kv": B})
    assert (tmp_path / SYNC_FILE).read_text() == f"policies/act.kv={B}\nproject.kv={A}\n"
    assert BaseDigests(tmp_path).get("project.kv") == A
    assert [path.name for path in tmp_path.iterdir()] == [SYNC_FILE]


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    BaseDigests(tmp_path).remember({})
    assert not (tmp_path / SYNC_FILE).exists()
    BaseDigests(tmp_path).remember({"project.kv": A})
    before = (tmp_path / SYNC_FILE).stat().st_ino
    BaseDigests(tmp_path).remember({"project.kv": A})
    assert (tmp_path / SYNC_FILE).stat().st_ino == before


@pytest.mark.parametrize(
    "data",
    [
        b"project.kv",
        b"project.kv=abc",
        f"../x={A}".encode(),
        f"project.kv={A.upper()}".encode(),
        b"\xff\xfe",
        b"\0" * 64,
    ],
)
def test_damaged_bases_are_no_bases_and_a_warning(tmp_path: Path, data: bytes) -> None:
    (tmp_path / SYNC_FILE).write_bytes(f"policies/a.kv={B}\n".encode() + data)
    bases = BaseDigests(tmp_path)
    assert bases.get("policies/a.kv") is None
    assert bases.warning is not None and SYNC_FILE in bases.warning
    bases.remember({"project.kv": A})
    assert (tmp_path / SYNC_FILE).read_text() == f"project.kv={A}\n"


def test_bases_as_an_editor_leaves_them() -> None:
    assert parse_bases(f"\ufeff# by hand\r\n\r\nproject.kv={A}\r\n".encode()) == {"project.kv": A}


def test_bases_that_cannot_be_written_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=SYNC_FILE):
        BaseDigests(tmp_path / "gone").remember({"project.kv": A})
