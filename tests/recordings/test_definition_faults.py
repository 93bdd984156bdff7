"""Definition files when something is wrong: a service that lies or is old, files that change meanwhile, a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from noeira_tui.catalog.client import Answer, CatalogClient
from noeira_tui.catalog.retry import Patience
from noeira_tui.core.errors import CancelledError, RefusedError, UnreachableError
from noeira_tui.core.progress import CancelToken
from noeira_tui.recordings.definition_outcome import DefinitionOutcome
from noeira_tui.recordings.definition_plan import Direction
from tests.recordings.definition_boxes import Box, Meddling, digest, unique
from tests.support.service_fixture import RunningService

FILES = ("calibration/a.json", "policies/b.kv", "project.kv")


@pytest.fixture
def client(service: RunningService) -> Iterator[Meddling]:
    with Meddling(service.url, service.key) as client:
        yield client


@pytest.fixture
def box(client: Meddling, tmp_path: Path) -> Box:
    """A box with three files that were never sent."""
    box = Box(tmp_path / "here", client, f"p{uuid4().hex[:10]}")
    for path in FILES:
        box.write(path, unique())
    return box


@pytest.fixture
def other(service: RunningService, box: Box, tmp_path: Path) -> Iterator[Box]:
    """A second box, whose client nobody meddles with."""
    with CatalogClient(service.url, service.key) as client:
        yield Box(tmp_path / "there", client, box.project)


def errors(done: DefinitionOutcome) -> dict[str, str]:
    return {failure.path: failure.error for failure in done.failed}


def relisted(change: Callable[[dict[str, Any]], None]) -> Callable[[str, Answer], Answer]:
    """Change the list of definition files, as `json`, on its way to the client."""

    def meddle(call: str, answer: Answer) -> Answer:
        if not call.startswith("GET ") or not call.endswith("/files"):
            return answer
        listing = json.loads(json.dumps(answer.data))
        change(listing)
        return replace(answer, data=listing)

    return meddle


def test_files_over_the_bound_are_named_and_the_rest_goes_on(box: Box, client: Meddling) -> None:
    box.write("policies/b.kv", b"b" * (1024**2 + 1))
    done = box.push()
    assert done.moved == ("calibration/a.json", "project.kv")
    assert "1,048,577 bytes" in errors(done)["policies/b.kv"]
    assert set(box.bases()) == set(done.moved)
    client.change = relisted(lambda listing: listing.update(max_file_bytes=5))
    assert "at most 5" in errors(box.pull())["project.kv"]
    (box.folder / "project.kv").unlink()
    assert "at most 5" in errors(box.pull())["project.kv"]


def test_a_bound_that_only_the_service_knows(box: Box, client: Meddling) -> None:
    box.write("policies/b.kv", b"b" * (1024**2 + 1))
    client.change = relisted(lambda listing: listing.pop("max_file_bytes", None))
    done = box.push()
    assert done.moved == ("calibration/a.json", "project.kv")
    assert "413" in errors(done)["policies/b.kv"]


@pytest.mark.parametrize(
    "path", ["../project.kv", "/etc/passwd", "calibration/../../x", ".sync.kv", "datasets/d/meta/info.json", "a\x00b"]
)
def test_bad_paths_of_a_service_are_refused_by_name(box: Box, client: Meddling, other: Box, path: str) -> None:
    assert box.push().is_clean
    other.client = client
    client.change = relisted(lambda listing: listing["files"][0].update(path=path))
    done = other.pull()
    assert list(errors(done)) == [path] and "definition files are" in errors(done)[path]
    assert done.moved == ("policies/b.kv", "project.kv")
    assert other.files() == {*done.moved, ".sync.kv"}
    assert {file.name for file in other.projects.parent.iterdir()} == {"here", "there"}


def test_rows_that_cannot_be_believed(box: Box, client: Meddling, other: Box) -> None:
    assert box.push().is_clean
    other.client = client

    def spoil(listing: dict[str, Any]) -> None:
        first, second, third = listing["files"]
        first["sha256"] = "nonsense\n../x=1"
        second["sizeBytes"] = None
        listing["files"] = [first, second, third, third]

    client.change = relisted(spoil)
    found = errors(other.pull())
    assert "digest" in found["calibration/a.json"]
    assert "size" in found["policies/b.kv"]
    assert "more than once" in found["project.kv"]
    assert other.files() == set()


def test_wrong_bytes_are_never_published(box: Box, client: Meddling, other: Box) -> None:
    assert box.push().is_clean
    other.client = client
    old = other.write("policies/b.kv", unique())

    def swap(listing: dict[str, Any]) -> None:
        rows = {row["path"]: row for row in listing["files"]}
        rows["policies/b.kv"]["download_url"] = rows["calibration/a.json"]["download_url"]

    client.change = relisted(swap)
    done = other.pull(force=True)
    assert "sha256" in errors(done)["policies/b.kv"]
    assert other.read("policies/b.kv") == old
    assert done.moved == ("calibration/a.json", "project.kv")


def test_a_pull_never_writes_through_a_link(box: Box, other: Box, tmp_path: Path) -> None:
    assert box.push().is_clean
    outside = tmp_path / "outside"
    outside.mkdir()
    other.folder.mkdir(parents=True)
    (other.folder / "calibration").symlink_to(outside)
    plan = other.plan(Direction.PULL)
    (other.folder / "policies").symlink_to(outside)
    done = other.sync().run(plan)
    assert set(errors(done)) == {"calibration/a.json", "policies/b.kv"}
    assert all("link" in error for error in errors(done).values())
    assert list(outside.iterdir()) == []
    assert done.moved == ("project.kv",)


@pytest.mark.parametrize("status", [404, 405])
def test_an_older_service_is_explained(box: Box, client: Meddling, status: int) -> None:
    client.put_project(box.project)
    client.change = lambda call, answer: Answer(status, None) if call.endswith("/files") else answer
    for act in (box.push, box.pull):
        with pytest.raises(RefusedError, match="does not keep the definition files") as caught:
            act()
        assert caught.value.status == status and "older service" in caught.value.hint


def test_a_file_that_changes_while_it_is_sent_is_not_completed(box: Box, client: Meddling) -> None:
    edited = unique()

    def edit(call: str) -> None:
        if call.endswith("/presign") and box.read("calibration/a.json") != edited:
            box.write("calibration/a.json", edited)

    client.before = edit
    done = box.push()
    assert "changed" in errors(done)["calibration/a.json"]
    assert done.moved == ("policies/b.kv", "project.kv")
    assert box.push().moved == ("calibration/a.json",)
    assert box.bases()["calibration/a.json"] == digest(edited)


def test_a_file_that_is_edited_during_a_pull_is_left(box: Box, other: Box) -> None:
    assert box.push().is_clean and other.pull().is_clean
    box.write("project.kv", unique())
    assert box.push().is_clean
    plan = other.plan(Direction.PULL)
    edited = other.write("project.kv", unique())
    done = other.sync().run(plan)
    assert "changed here" in errors(done)["project.kv"]
    assert other.read("project.kv") == edited
    assert [conflict.path for conflict in other.pull().conflicts] == ["project.kv"]


def test_a_file_that_appears_during_a_pull_is_left(box: Box, other: Box) -> None:
    assert box.push().is_clean
    plan = other.plan(Direction.PULL)
    mine = other.write("project.kv", unique())
    done = other.sync().run(plan)
    assert set(errors(done)) == {"project.kv"} and other.read("project.kv") == mine


@pytest.mark.parametrize("step", ["presign", "complete"])
def test_a_change_between_plan_and_offer_is_a_conflict(box: Box, client: Meddling, other: Box, step: str) -> None:
    assert box.push().is_clean and other.pull().is_clean
    base, mine, theirs = digest(box.read("project.kv")), box.write("project.kv", unique()), unique()

    def meanwhile(call: str) -> None:
        if call.endswith(f"/{step}") and other.read("project.kv") != theirs:
            other.write("project.kv", theirs)
            assert other.push().is_clean

    client.before = meanwhile
    box.write("policies/z.kv", unique())
    done = box.push(force=True)
    assert [(item.path, item.here, item.there, item.base) for item in done.conflicts] == [
        ("project.kv", digest(mine), digest(theirs), base)
    ]
    assert (done.moved, done.failed) == (("policies/z.kv",), ())
    assert other.pull().moved == ("policies/z.kv",) and other.read("project.kv") == theirs
    assert box.push(force=True).moved == ("project.kv",)


def test_a_service_that_goes_away_is_not_waited_for_once_a_file(box: Box, client: Meddling) -> None:
    def gone(call: str) -> None:
        if call.endswith("/presign") and sum(former.endswith("/presign") for former in client.calls) > 1:
            raise UnreachableError(f"{call}: nobody answers.")

    client.before = gone
    done = box.push()
    assert done.moved == FILES[:1]
    assert set(errors(done)) == set(FILES[1:]) and all("nobody answers" in error for error in errors(done).values())
    assert sum(call.endswith("/presign") for call in client.calls) == 2
    assert set(box.bases()) == set(FILES[:1])


def test_stopping_between_two_files_keeps_what_moved(box: Box, client: Meddling, other: Box) -> None:
    cancel = CancelToken()
    client.before = lambda call: cancel.cancel() if call.endswith("/complete") else None
    sync = box.sync(cancel=cancel)
    with pytest.raises(CancelledError):
        sync.run(sync.plan(Direction.PUSH))
    assert set(box.bases()) == set(FILES[:1])
    client.before = lambda call: None
    again = box.push()
    assert (again.moved, again.unchanged) == (FILES[1:], FILES[:1])
    assert other.pull().moved == FILES and other.bases() == box.bases()


def test_bases_that_cannot_be_written_are_a_warning(box: Box) -> None:
    (box.folder / ".sync.kv").mkdir()
    done = box.push()
    assert (done.moved, done.is_clean) == (FILES, True)
    assert any("cannot be written" in warning for warning in done.warnings)


KILLED = """
import os, signal, sys
from pathlib import Path
from noeira_tui.catalog.client import CatalogClient
from noeira_tui.recordings import definition_moves
from noeira_tui.recordings.definition_plan import Direction
from noeira_tui.recordings.definition_sync import DefinitionSync

url, key, projects, project, direction, spared = sys.argv[1:]
left = int(spared)
remember = definition_moves.Mover.remember

def killed(self, equal):
    global left
    if equal and not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= bool(equal)
    remember(self, equal)

definition_moves.Mover.remember = killed
sync = DefinitionSync(CatalogClient(url, key), Path(projects), project)
sync.run(sync.plan(Direction(direction)))
"""


def killed_after(service: RunningService, box: Box, direction: Direction, spared: int) -> None:
    """Sync in a process that is killed after a file was moved, before that is remembered; `spared` files before."""
    arguments = [service.url, service.key, str(box.projects), box.project, direction, str(spared)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], timeout=60)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("spared", [0, 1])
def test_a_killed_sync_goes_on_where_it_was(service: RunningService, box: Box, other: Box, spared: int) -> None:
    killed_after(service, box, Direction.PUSH, spared)
    assert (box.folder / ".sync.kv").exists() == bool(spared)
    again = box.push()
    assert (again.unchanged, again.moved, again.is_clean) == (FILES[: spared + 1], FILES[spared + 1 :], True)
    killed_after(service, other, Direction.PULL, spared)
    assert (other.folder / ".sync.kv").exists() == bool(spared)
    again = other.pull()
    assert (again.unchanged, again.moved, again.is_clean) == (FILES[: spared + 1], FILES[spared + 1 :], True)
    assert other.bases() == box.bases() == {path: digest(box.read(path)) for path in FILES}


def test_no_service_is_an_error_before_anything_is_made(tmp_path: Path) -> None:
    with CatalogClient("http://127.0.0.1:9", "k", patience=Patience(attempts=1)) as client:
        box = Box(tmp_path / "here", client, "tower")
        with pytest.raises(UnreachableError):
            box.pull()
        assert not box.projects.exists()
