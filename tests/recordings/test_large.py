"""Files that one PUT cannot carry: held back before they are read, or sent in parts with the box's own credentials."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noeira_tui.catalog.wire import ServiceFacts
from noeira_tui.core.states import State
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.push import foretold, push
from noeira_tui.recordings.push_plan import plan_push
from noeira_tui.transfer.facts import TransferContext
from tests.recordings.mirrors import MirrorBox, age, new_box, new_project, on_service, tree
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_fixture import RunningService

LIMIT_BYTES = 75_000
FRONT = "videos/observation.images.front/chunk-000/file-000.mp4"


@pytest.fixture
def box(service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MirrorBox:
    """A recording of one episode whose two videos are over the limit, on a box without credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    box = new_box(service, tmp_path / "a", new_project())
    box.context = TransferContext(single_put_limit_bytes=LIMIT_BYTES)
    recorder = CheckpointingRecorder(box.folder, seed=int(box.project.rsplit("-", 1)[1]) + 9000)
    recorder.record(2000)
    recorder.finish()
    age(box.folder)
    return box


def test_without_credentials_they_are_held_unread_and_say_what_to_do(box: MirrorBox) -> None:
    mirror = box.mirror()
    planned = {held.path: held.reason for held in foretold(mirror, plan_push(mirror)).held}
    assert "set AWS_ACCESS_KEY_ID" in planned[FRONT]
    outcome = push(mirror)
    assert {held.path: held.reason for held in outcome.held} == planned
    assert INFO in planned and planned[INFO].startswith(f"it names {FRONT}")
    assert mirror.hashed_bytes < LIMIT_BYTES, "what cannot be sent is not read"
    assert (outcome.state, outcome.failed) == (State.AHEAD, ())
    assert not {FRONT, INFO} & on_service(box, "working").keys()


def test_a_service_that_takes_no_parts_is_named(box: MirrorBox) -> None:
    box.client._facts = ServiceFacts(extensions=("batch", "revisions"))
    assert "takes nothing in parts" in {held.path: held.reason for held in push(box.mirror()).held}[FRONT]


def test_with_credentials_they_go_up_in_parts(
    box: MirrorBox, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", service.store_access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", service.store_secret_key)
    outcome = push(box.mirror())
    assert (outcome.held, outcome.failed, outcome.state) == ((), (), State.CURRENT)
    assert on_service(box) == tree(box.folder)
    # Stored by now, it needs no way up any more: neither here nor under another name.
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert push(box.mirror()).held == ()


def test_credentials_that_the_store_refuses_are_a_failure_of_that_file(
    box: MirrorBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    outcome = push(box.mirror())
    assert {failure.path for failure in outcome.failed} == {path for path in tree(box.folder) if path.endswith(".mp4")}
    assert INFO in {held.path for held in outcome.held}
    assert INFO not in on_service(box, "working")
