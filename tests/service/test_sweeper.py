"""What no row names is removed in the end; what a row names, or an upload in flight will name, never."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.storerefusal import StoreError
from noeira_tui.service.sweeper import Sweeper, Swept
from tests.support.service_client import Caller, anyone, facts, fetch, put
from tests.support.service_fixture import RunningService, running_service
from tests.support.service_process import until

NOTHING = Swept(0, 0, 0)
REC = "/projects/p/datasets/d"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with running_service(tmp_path) as service:
        yield service


@pytest.fixture
def call(service: RunningService) -> Iterator[Caller]:
    with Caller(service.url, service.key) as caller:
        caller.put("/projects/p")
        caller.put(REC, json={})
        yield caller


@pytest.fixture
def sweeper(service: RunningService) -> Sweeper:
    return Sweeper(service.config, service.database, service.store)


def days(number: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=number)


def objects(service: RunningService) -> set[str]:
    folder = service.data_dir / "objects" / service.bucket
    return {path.name for path in folder.iterdir() if path.is_file()}


def sweep_for_weeks(sweeper: Sweeper) -> None:
    for number in range(0, 40, 3):
        sweeper.sweep(days(number))


def test_what_rows_name_stays_for_ever(call: Caller, service: RunningService, sweeper: Sweeper) -> None:
    call.push("walker", b"one")
    call.send_file(REC, "data/a", b"two")
    call.send_file(REC, "meta/info.json", b"three")
    call.send_file(REC, "data/a", b"two, changed: only a revision names the old one")
    kv = {"path": "project.kv", **facts(b"four"), "base_sha256": None}
    put(call.post("/projects/p/files/presign", json=kv).json()["upload_url"], b"four")
    assert call.post("/projects/p/files/complete", json=kv).status_code == 200
    until(lambda: len(objects(service)) == 5, "the uploads are removed")
    before = objects(service)
    sweep_for_weeks(sweeper)
    assert objects(service) == before
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"one"
    assert fetch(call.files(REC)["data/a"]["download_url"]) == b"two"
    assert fetch(call.get("/projects/p/files").json()["files"][0]["download_url"]) == b"four"


def test_replaced_and_removed_contents_go_after_their_urls_expired(
    call: Caller, service: RunningService, sweeper: Sweeper
) -> None:
    call.push("walker", b"old")
    call.push("other", b"removed")
    url = call.get("/datasets/walker-v1").json()["download_url"]
    call.push("walker", b"new")
    assert call.delete("/datasets/other-v1").status_code == 204
    assert sweeper.sweep() == NOTHING
    assert sweeper.sweep(days(1.5)) == NOTHING
    assert fetch(url) == b"old"
    assert sweeper.sweep(days(2.5)).blobs == 2
    assert anyone().get(url).status_code == 404
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"new"
    assert len(objects(service)) == 1


def test_contents_named_again_meanwhile_stay(call: Caller, sweeper: Sweeper) -> None:
    call.push("walker", b"data")
    call.delete("/datasets/walker-v1")
    assert sweeper.sweep() == NOTHING
    assert call.offer(REC, "data/a", b"data").json()["unchanged"]
    assert sweeper.sweep(days(5)).blobs == 0
    assert fetch(call.files(REC)["data/a"]["download_url"]) == b"data"


def test_an_upload_in_flight_is_waited_for(call: Caller, service: RunningService, sweeper: Sweeper) -> None:
    registered = call.register("walker")
    offered = call.offer(REC, "data/a", b"file").json()
    put(registered["upload_url"], b"data")
    put(offered["upload_url"], b"file")
    assert sweeper.sweep(days(7)) == NOTHING
    assert call.complete("walker-v1", b"data").status_code == 200
    assert sweeper.sweep(days(8)).uploads == 2
    assert call.finish(REC, "data/a", b"file").status_code == 404
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"
    assert len(objects(service)) == 1


def test_strays_of_a_kill_between_two_steps_go(call: Caller, service: RunningService, sweeper: Sweeper) -> None:
    call.push("walker", b"data")
    folder = service.data_dir / "objects" / service.bucket
    (kept,) = objects(service)
    os.link(folder / kept, folder / f"{'0123456789' * 4}.stray")
    os.link(folder / kept, folder / "my-own-notes.txt")
    assert sweeper.sweep(days(7)) == NOTHING
    assert sweeper.sweep(days(8)).strays == 1
    assert objects(service) == {kept, "my-own-notes.txt"}


def test_what_the_store_refuses_to_remove_goes_at_a_later_sweep(
    call: Caller, service: RunningService, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row goes first: killed or refused in between, the object is still known as one to remove."""
    call.push("walker", b"data")
    call.delete("/datasets/walker-v1")
    sweeper.sweep()

    def refuse(_: object, key: str) -> None:
        raise StoreError(f"{key} stays")

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "delete", refuse)
        with pytest.raises(StoreError):
            sweeper.sweep(days(3))
    assert len(objects(service)) == 1
    assert sweeper.sweep(days(3)) == NOTHING
    assert objects(service) == set()


def test_old_events_are_forgotten(call: Caller, service: RunningService, sweeper: Sweeper) -> None:
    call.push("walker", b"data")
    assert len(call.get("/audit").json()) == 5
    sweeper.sweep(days(364))
    assert len(call.get("/audit").json()) == 5
    sweeper.sweep(days(366))
    assert call.get("/audit").json() == []
