"""The service while its store, its disk or its own code fails: an answer in the protocol's shape, and nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from noeira_tui.service import revisions
from noeira_tui.service.database import Database
from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.storerefusal import StoreError
from tests.support.service_client import Caller, put
from tests.support.service_fixture import RunningService, running_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("failing")) as service:
        yield service


@pytest.fixture
def call(service: RunningService) -> Iterator[Caller]:
    with Caller(service.url, service.key) as caller:
        yield caller


def test_a_store_without_an_answer_is_503_and_completing_again_works(
    call: Caller, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    registered = call.register(name)
    put(registered["upload_url"], b"data")

    def gone(*_: object, **__: object) -> None:
        raise StoreError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "head", gone)
        answer = call.complete(f"{name}-v1", b"data")
        assert (answer.status_code, set(answer.json())) == (503, {"error"})
        assert float(answer.headers["Retry-After"]) > 0
        assert call.get(f"/datasets/{name}-v1").status_code == 409
    assert call.complete(f"{name}-v1", b"data").status_code == 200


def test_a_spare_object_that_cannot_be_removed_fails_nothing(
    call: Caller, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(_: FolderStore, key: str) -> None:
        raise StoreError(f"{key} stays")

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "delete", refuse)
        call.push(name, b"data")
    assert call.get(f"/datasets/{name}-v1").status_code == 200


def test_a_database_without_an_answer_is_503(call: Caller, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(_: Database) -> None:
        raise OperationalError("INSERT", None, Exception("database or disk is full"))

    assert call.get("/datasets").status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(Database, "write", full)
        answer = call.post("/datasets", json={"name": name, "version": "v1"})
        assert (answer.status_code, set(answer.json())) == (503, {"error"})
        assert "Retry-After" in answer.headers
        # Reading goes on.
        assert call.get("/datasets").status_code == 200
    assert call.register(name)["id"] == f"{name}-v1"


def test_the_last_use_of_a_key_is_not_worth_a_failure(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Database) -> None:
        raise OperationalError("UPDATE", None, Exception("database or disk is full"))

    with Caller(service.url, service.new_key("read")) as reader:
        monkeypatch.setattr(Database, "write", full)
        assert reader.get("/datasets").status_code == 200


def test_a_defect_is_500_without_its_details(call: Caller, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    call.put(f"/projects/{name}")
    call.put(f"/projects/{name}/datasets/d", json={})
    monkeypatch.setattr(revisions, "newest", broken)
    answer = call.get(f"/projects/{name}/datasets/d/files")
    assert answer.status_code == 500 and set(answer.json()) == {"error"}
    assert "secret" not in answer.text


def test_a_file_that_lost_bytes_on_disk_is_not_published(service: RunningService, call: Caller, name: str) -> None:
    """The store's own notes still tell the old size: the file itself is believed."""
    registered = call.register(name)
    put(registered["upload_url"], b"all of the data")
    path: Path = service.data_dir / "objects" / service.bucket / registered["object_key"]
    path.write_bytes(b"all of")
    answer = call.complete(f"{name}-v1", b"all of the data")
    assert answer.status_code == 422 and "6 bytes" in answer.json()["error"]
    assert call.get(f"/datasets/{name}-v1").status_code == 409
