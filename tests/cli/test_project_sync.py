"""`project push` and `project pull`: fields, words and exit codes, with two roots as two boxes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.commandline import CommandLine, Ran, spawn

pytestmark = pytest.mark.usefixtures("connected")


class Box:
    """One root, driven by the command line."""

    def __init__(self, cli: CommandLine, root: Path, project: str) -> None:
        root.mkdir(exist_ok=True)
        self.cli, self.root, self.project = cli, root, project

    @property
    def folder(self) -> Path:
        return self.root / "projects" / self.project

    def write(self, path: str, data: bytes | None = None) -> str:
        """The digest of what was written; contents nobody else has unless they are given."""
        data = os.urandom(40).hex().encode() if data is None else data
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def __call__(self, verb: str, *options: str) -> Ran:
        return self.cli("project", verb, self.project, "--root", self.root, *options)


@pytest.fixture
def boxes(cli: CommandLine, tmp_path: Path) -> tuple[Box, Box]:
    project = f"p{uuid4().hex[:10]}"
    return Box(cli, tmp_path / "one", project), Box(cli, tmp_path / "two", project)


def test_push_and_pull_print_their_objects(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    one.write("project.kv", b"description=" + os.urandom(20).hex().encode())
    one.write("calibration/arm.json")
    size = sum(path.stat().st_size for path in one.folder.rglob("*") if path.is_file())
    planned = one("push", "--dry-run", "--json")
    assert (planned.code, planned.json["files"]["sent"], planned.json["bytes_transferred"]) == (0, 2, 0)
    pushed = one("push", "--json")
    assert (pushed.code, pushed.err) == (0, "")
    elapsed = pushed.json["elapsed_s"]
    assert elapsed > 0
    counts = {"sent": 2, "unchanged": 0, "conflicts": 0, "failed": 0}
    assert pushed.json == {
        "project": one.project, "files": counts, "conflicts": [], "failed": [], "bytes_transferred": size,
        "elapsed_s": elapsed,
    }  # fmt: skip
    assert two("pull", "--dry-run").code == 0 and not two.folder.exists()
    pulled = two("pull", "--json")
    assert pulled.json["files"] == {"received": 2, "unchanged": 0, "conflicts": 0, "failed": 0}
    assert (pulled.code, pulled.json["bytes_transferred"]) == (0, size)
    again = two("push", "--json").json
    assert (again["files"], again["bytes_transferred"]) == (
        {"sent": 0, "unchanged": 2, "conflicts": 0, "failed": 0}, 0,
    )  # fmt: skip
    assert next(row for row in two.cli("project", "list", "--json", "--root", two.root).json if row["here"]) == {
        "project": one.project, "here": True, "on_service": True, "recordings": 0,
        "description": (one.folder / "project.kv").read_text().removeprefix("description="),
    }  # fmt: skip


def test_conflicts_are_named_with_both_digests(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    base = one.write("project.kv")
    assert one("push").code == 0 and two("pull").code == 0
    theirs, mine = one.write("project.kv"), two.write("project.kv")
    two.write("policies/act.kv")
    assert one("push").code == 0
    words = two("push")
    assert words.code == 1
    assert "conflict project.kv" in words.out and mine in words.out and theirs in words.out
    assert "sent policies/act.kv" in words.out
    assert "--force" in words.err
    for verb in ("push", "pull"):
        ran = two(verb, "--json")
        assert ran.code == 1
        assert ran.json["conflicts"] == [{"path": "project.kv", "here": mine, "there": theirs, "base": base}]
        assert ran.json["files"]["conflicts"] == 1
    assert two("push", "--force").code == 0
    assert one("pull", "--quiet").err == ""
    assert hashlib.sha256((one.folder / "project.kv").read_bytes()).hexdigest() == mine


def test_failures_are_named_and_fail_the_call(boxes: tuple[Box, Box]) -> None:
    one, _ = boxes
    one.write("project.kv")
    one.write("calibration/my \x1b[31marm.json")
    ran = one("push")
    assert ran.code == 1
    assert "sent project.kv" in ran.out and "failed calibration/my \\x1b[31marm.json" in ran.out
    told = one("push", "--json").json
    assert [row["path"] for row in told["failed"]] == ["calibration/my \x1b[31marm.json"]
    assert told["files"] == {"sent": 0, "unchanged": 1, "conflicts": 0, "failed": 1}


def test_what_is_left_says_which_way_it_goes(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    one.write("project.kv")
    assert one("push").code == 0 and two("pull").code == 0
    one.write("project.kv")
    behind = one("pull")
    assert behind.code == 0 and "left project.kv" in behind.out and f"project push {one.project}" in behind.err
    assert one("push").code == 0
    ahead = two("push")
    assert ahead.code == 0 and "newer" in ahead.out and f"project pull {one.project}" in ahead.err


@pytest.mark.parametrize("verb", ["push", "pull"])
def test_a_typo_makes_nothing(boxes: tuple[Box, Box], verb: str) -> None:
    one, _ = boxes
    ran = one(verb, "--json")
    assert (ran.code, ran.json["error"]["title"]) == (1, "No such project")
    assert not (one.root / "projects").exists()
    assert one.project not in {row["project"] for row in one.cli("project", "list", "--json").json}


def test_a_name_with_a_way_out_is_wrong_use(boxes: tuple[Box, Box]) -> None:
    assert boxes[0].cli("project", "push", "../up").code == 2


@pytest.mark.parametrize("verb", ["push", "pull"])
def test_help_has_an_example_and_every_option(cli: CommandLine, verb: str) -> None:
    ran = cli("project", verb, "--help")
    assert ran.code == 0 and f"Example: noeira-tui project {verb}" in ran.out
    for option in ("--force", "--dry-run", "--json", "--root", "--env-file", "--quiet"):
        assert option in ran.out


def test_without_a_key_nothing_is_asked(boxes: tuple[Box, Box], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOEIRA_CLOUD_API_KEY")
    ran = boxes[0]("push")
    assert ran.code == 2 and "NOEIRA_CLOUD_API_KEY" in ran.err


def test_as_a_process_of_its_own(boxes: tuple[Box, Box]) -> None:
    one, _ = boxes
    one.write("project.kv")
    process = spawn("project", "push", one.project, cwd=one.root)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines() == ["sent project.kv", f"{one.project} (made): 1 sent, 0 unchanged"]
