"""`dataset` on the command line: exit codes, JSON field by field, watching, detaching, removing."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noeira_tui.core.settings import Settings
from tests.recordings.mirrors import age, new_project, tree
from tests.support.commandline import CommandLine, Ran, spawn
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_process import ROOT
from tests.support.terminal import Terminal
from tests.support.waiting import until

MOVED = {
    "project", "dataset", "state", "files", "bytes_transferred", "requests", "elapsed_s", "held_back", "failed",
    "conflicts", "left", "episodes", "revision", "problems", "dry_run",
}  # fmt: skip


@pytest.fixture
def project(root: Path, connected: Settings) -> str:
    slug = new_project()
    (root / "projects" / slug).mkdir(parents=True)
    (root / "projects" / slug / "project.kv").write_text("description=tower\n")
    return slug


@pytest.fixture
def folder(root: Path, project: str) -> Path:
    """A finished recording of two episodes."""
    folder = root / "projects" / project / "datasets/trial"
    recorder = CheckpointingRecorder(folder, seed=int(project.rsplit("-", 1)[1]) + 5000)
    recorder.record()
    recorder.record()
    recorder.finish()
    age(folder)
    return folder


@pytest.fixture
def dataset(cli: CommandLine, project: str) -> Callable[..., Ran]:
    def call(verb: str, *more: object) -> Ran:
        return cli("dataset", verb, "--project", project, "--dataset", "trial", *more)

    return call


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: str) -> Callable[[], Path]:
    """From now on the commands run on another box."""

    def move() -> Path:
        monkeypatch.setenv("NOEIRA_STATE", str(tmp_path / "elsewhere/state"))
        monkeypatch.setenv("NOEIRA_PROJECTS", str(tmp_path / "elsewhere/projects"))
        return tmp_path / "elsewhere/projects" / project / "datasets/trial"

    return move


def test_push_status_list_and_push_again(dataset: Callable[..., Ran], cli: CommandLine, folder: Path) -> None:
    foretold = dataset("push", "--dry-run", "--json")
    assert (foretold.code, foretold.json["files"]["sent"], len(foretold.json["would_move"])) == (0, 11, 11)
    ran = dataset("push", "--json")
    assert (ran.code, set(ran.json)) == (0, MOVED)
    assert ran.json["files"] == {"sent": 11, "unchanged": 0, "held_back": 0, "failed": 0, "conflicts": 0}
    assert (ran.json["state"], ran.json["episodes"]) == ("current", {"recorded": 2, "on_service": 2})
    files = dataset("status", "--json").json
    assert {file["path"]: file["sha256"] for file in files} == tree(folder)
    assert {frozenset(file) for file in files} == {frozenset({"path", "state", "size_bytes", "sha256", "reason"})}
    assert {file["state"] for file in files} == {"current"}
    again = dataset("push", "--json").json
    assert (again["files"]["unchanged"], again["bytes_transferred"]) == (11, 0)
    listed = cli("dataset", "list", "--project", folder.parent.parent.name, "--json").json
    assert [(item["dataset"], item["state"], item["episodes"]) for item in listed] == [("trial", "current", 2)]


def test_held_back_is_no_failure_and_says_why(dataset: Callable[..., Ran], folder: Path) -> None:
    (folder / "videos/observation.images.front/chunk-000/file-002.mp4").write_bytes(b"\0\0\0\x0cftypisom\0\0\0\0mdat")
    ran = dataset("push", "--json")
    assert (ran.code, ran.json["files"]["held_back"]) == (0, 1)
    assert ran.json["held_back"][0]["reason"].startswith("still open")
    assert "still open" in dataset("push").out
    states = {file["path"]: file["state"] for file in dataset("status", "--json").json}
    assert states["videos/observation.images.front/chunk-000/file-002.mp4"] == "held"


def test_a_pull_asks_for_the_project_first(
    dataset: Callable[..., Ran], folder: Path, elsewhere: Callable[[], Path]
) -> None:
    dataset("push")
    there = elsewhere()
    refused = dataset("pull", "--json")
    assert (refused.code, refused.json["error"]["title"]) == (1, "No such project here")
    assert not there.exists()
    ran = dataset("pull", "--create-project", "--json")
    assert (ran.code, ran.json["files"]["received"], ran.json["state"]) == (0, 11, "current")
    assert tree(there) == tree(folder)
    (there / "meta/stats.json").write_text("{}")
    assert dataset("pull").code == 0
    assert (there / "meta/stats.json").read_text() == "{}"


@pytest.mark.parametrize(("answer", "code"), [("no", 130), ("yes", 0)])
def test_a_pull_on_a_terminal_asks_whether_to_make_the_project(
    dataset: Callable[..., Ran],
    folder: Path,
    elsewhere: Callable[[], Path],
    project: str,
    root: Path,
    answer: str,
    code: int,
) -> None:
    dataset("push")
    there = elsewhere()
    command = [sys.executable, "-m", "noeira_tui", "dataset", "pull", "--project", project, "--dataset", "trial"]
    with Terminal(command, cwd=root, env={"PYTHONPATH": str(ROOT)}) as terminal:
        terminal.expect("Type yes:")
        assert not there.exists()
        terminal.type(f"{answer}\n")
        assert terminal.wait() == code, terminal.output
    assert tree(there) == (tree(folder) if answer == "yes" else {})


def test_a_conflict_is_exit_1_and_named(
    dataset: Callable[..., Ran], folder: Path, elsewhere: Callable[[], Path]
) -> None:
    (folder / "README.md").write_text("one")
    dataset("push")
    there = elsewhere()
    there.mkdir(parents=True)
    (there.parent.parent / "project.kv").write_text("")
    (there / "README.md").write_text("another")
    ran = dataset("push", "--json")
    assert (ran.code, [conflict["path"] for conflict in ran.json["conflicts"]]) == (1, ["README.md"])
    told = dataset("pull")
    assert told.code == 1
    assert "conflict README.md" in told.out
    assert (there / "README.md").read_text() == "another"


def test_revisions_and_restore(dataset: Callable[..., Ran], folder: Path) -> None:
    dataset("push")
    (folder / "meta/stats.json").write_text("{}")
    dataset("push")
    rows = dataset("revisions", "--json").json
    assert [row["revision"] for row in rows] == [2, 1]
    restored = dataset("restore", "--revision", 1, "--json").json
    assert restored["revision"] == 3 and {"episodes": 2, "files": len(tree(folder))}.items() <= restored.items()
    assert dataset("restore", "--revision", 99).code == 1
    assert "revision" in dataset("revisions").out


def test_wrong_use(dataset: Callable[..., Ran], cli: CommandLine, project: str) -> None:
    assert dataset("push", "--watch", "--dry-run").code == 2
    assert dataset("push", "--every", "5").code == 2
    assert dataset("rm").code == 2
    assert dataset("push").code == 1, "there is no such recording"
    assert cli("dataset", "push", "--project", "typo", "--dataset", "trial").code == 1
    assert cli("dataset", "push", "--project", "../x", "--dataset", "trial").code == 2
    assert dataset("status").code == 1


def test_a_watch_prints_one_object_a_line_and_the_push_object_last(
    root: Path, folder: Path, project: str, tmp_path: Path
) -> None:
    (folder / "meta/noeira_writer_stats.json").write_text('{"finished": false}')
    arguments = ("dataset", "push", "--project", project, "--dataset", "trial", "--watch", "--json")
    process = spawn(*arguments, cwd=root)
    assert process.stdout is not None
    lines = []
    while not lines or lines[-1]["event"] != "sent":
        lines.append(json.loads(process.stdout.readline()))
    assert [line["event"] for line in lines] == ["started", "sent"]
    process.send_signal(signal.SIGINT)
    rest = [json.loads(line) for line in process.communicate(timeout=20)[0].splitlines()]
    assert process.returncode == 130
    assert rest[-2]["event"] == "stopped"
    assert set(rest[-1]) == MOVED and rest[-1]["files"]["sent"] == 11


def test_a_detached_watch_survives_and_is_cancelled(
    dataset: Callable[..., Ran], cli: CommandLine, folder: Path, project: str
) -> None:
    (folder / "meta/noeira_writer_stats.json").write_text('{"finished": false}')
    job = dataset("push", "--watch", "--detach", "--json").json["job"]

    def row() -> dict[str, object]:
        found: dict[str, object] = cli("jobs", "show", job, "--json").json
        return found

    until(lambda: row()["items_done"] == 2, what="both episodes sent")
    shown = row()
    assert (shown["kind"], shown["state"], shown["items_total"]) == ("dataset-watch", "running", 2)
    assert cli("jobs", "cancel", job).code == 0
    assert row()["state"] == "cancelled"


def test_removing_a_copy_needs_proof(dataset: Callable[..., Ran], folder: Path) -> None:
    dataset("push")
    (folder / "meta/stats.json").write_text("{}")
    assert dataset("rm", "--local", "--yes").code == 1
    assert folder.exists()
    dataset("push")
    assert dataset("rm", "--local").code == 2, "nobody can be asked"
    (folder / "images").mkdir()
    (folder / "images/kept.png").write_bytes(b"x")
    assert dataset("rm", "--local", "--yes", "--json").json["removed"] is True
    assert [path.name for path in folder.rglob("*")] == ["images", "kept.png"], "what was not proven stays"
    assert dataset("rm", "--remote", "--yes").code == 0
    assert dataset("rm", "--remote", "--yes").code == 1
