"""Nothing is published before it was compared, however long that takes, and no request waits for ever for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from noeira_tui.service.comparing import Comparisons, StillComparingError
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.contents import Contents, Upload
from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.presign import Signer
from noeira_tui.service.store import StoredObject
from noeira_tui.service.storerefusal import StoreError
from tests.support.service_client import Caller, facts, fetch, put
from tests.support.service_fixture import RunningService, running_service
from tests.support.service_process import until

LARGE = b"large" * 300_000


@pytest.fixture
def large(name: str) -> bytes:
    """Contents of more than a megabyte that no other test has stored."""
    return name.encode() * 150_000


@dataclass
class Slow:
    """Readings of objects over a megabyte that wait until they may go on."""

    go_on: threading.Event = field(default_factory=threading.Event)
    begun: list[str] = field(default_factory=list)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow, read_through = Slow(), FolderStore.read_through

    def waiting(store: FolderStore, key: str) -> StoredObject | None:
        stored = store.head(key)
        if stored is not None and stored.size_bytes > 2**20:
            slow.begun.append(key)
            assert slow.go_on.wait(30)
        return read_through(store, key)

    monkeypatch.setattr(FolderStore, "read_through", waiting)
    monkeypatch.setattr(Comparisons, "deadline", lambda _: time.monotonic() + 0.1)
    yield slow
    slow.go_on.set()


def test_a_large_dataset_is_published_when_it_was_compared(call: Caller, name: str, large: bytes, slow: Slow) -> None:
    registered = call.register(name)
    put(registered["upload_url"], large)
    for _ in range(2):
        answer = call.complete(f"{name}-v1", large)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert call.get(f"/datasets/{name}-v1").status_code == 409
    assert len(slow.begun) == 1, "asking again does not begin again"
    slow.go_on.set()
    until(lambda: call.complete(f"{name}-v1", large).status_code == 200, "the bytes are compared")
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == large


def test_other_bytes_of_the_same_size_are_refused_in_the_end(call: Caller, name: str, large: bytes, slow: Slow) -> None:
    registered = call.register(name)
    put(registered["upload_url"], large[::-1])
    assert call.complete(f"{name}-v1", large).status_code == 503
    slow.go_on.set()
    until(lambda: call.complete(f"{name}-v1", large).status_code == 422, "the bytes are compared")
    # Sent again, right this time, they are compared again.
    put(registered["upload_url"], large)
    until(lambda: call.complete(f"{name}-v1", large).status_code == 200, "the right bytes are compared")


def test_what_of_a_batch_was_compared_in_time_is_published(
    call: Caller, recording: str, large: bytes, slow: Slow
) -> None:
    contents = {"data/small": b"small", "data/large": large}
    files = [{"path": path, **facts(data)} for path, data in contents.items()]
    for row in call.post(f"{recording}/files/batch", json={"files": files}).json()["files"]:
        put(row["upload_url"], contents[row["path"]])
    answer = call.post(f"{recording}/files/complete-batch", json={"files": files})
    assert answer.status_code == 503 and answer.json()["error"].startswith("1 of 2 files")
    assert {path: row["status"] for path, row in call.files(recording).items()} == {
        "data/small": "ready",
        "data/large": "pending",
    }
    slow.go_on.set()

    def completed() -> bool:
        return call.post(f"{recording}/files/complete-batch", json={"files": files}).status_code == 200

    until(completed, "the large one is compared")
    assert fetch(call.files(recording)["data/large"]["download_url"]) == large


def test_requests_at_once_for_one_upload_publish_it_once_and_keep_its_bytes(
    catalog: RunningService, call: Caller, name: str, large: bytes, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparisons, "deadline", lambda _: time.monotonic() + 20)
    registered = call.register(name)
    put(registered["upload_url"], large)

    def complete(_: int) -> int:
        with Caller(catalog.url, catalog.key) as other:
            return other.complete(registered["id"], large, object_key=registered["object_key"]).status_code

    with ThreadPoolExecutor(6) as pool:
        asked = pool.map(complete, range(6))
        until(lambda: bool(slow.begun), "the reading began")
        slow.go_on.set()
        answers = list(asked)
    assert 200 in answers and set(answers) <= {200, 503}
    assert complete(0) == 200
    url = call.get(f"/datasets/{registered['id']}").json()["download_url"]
    assert fetch(url) == large


def test_a_request_that_is_repeated_while_the_first_one_works_is_answered_alike(
    catalog: RunningService, call: Caller, recording: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that waited too long asks again; whichever comes later finds the upload published and tidied up."""
    look, project = Comparisons.look_at_upload, recording.split("/datasets")[0]

    def meanwhile(path: str, body: dict[str, Any]) -> None:
        def first(self: Comparisons, *arguments: Any) -> Upload:
            monkeypatch.setattr(Comparisons, "look_at_upload", look)
            with Caller(catalog.url, catalog.key) as other:
                assert other.post(path, json=body).status_code == 200
            folder = catalog.data_dir / "objects" / catalog.bucket
            until(lambda: not (folder / arguments[0][0]).exists(), "the first one tidied up")
            return look(self, *arguments)

        monkeypatch.setattr(Comparisons, "look_at_upload", first)
        answer = call.post(path, json=body)
        assert answer.status_code == 200, answer.text

    data = [f"{name} {number}".encode() for number in range(3)]
    registered = call.register(name)
    put(registered["upload_url"], data[0])
    meanwhile(f"/datasets/{registered['id']}/complete", {**facts(data[0]), "object_key": registered["object_key"]})
    put(call.offer(recording, "data/a", data[1]).json()["upload_url"], data[1])
    meanwhile(f"{recording}/files/complete", {"path": "data/a", **facts(data[1])})
    body = {"path": "project.kv", **facts(data[2]), "base_sha256": None}
    put(call.post(f"{project}/files/presign", json=body).json()["upload_url"], data[2])
    meanwhile(f"{project}/files/complete", body)


def test_a_key_cannot_pass_its_bytes_off_for_contents_that_nobody_compared(tmp_path: Path) -> None:
    """Above the bound the service has only a client's word for a digest: it is good for that client's own path."""
    with running_service(tmp_path, ServiceConfig(Path(), port=0, hash_up_to_bytes=1000)) as service:
        with Caller(service.url, service.key) as call, Caller(service.url, service.new_key()) as other:
            call.put("/projects/p")
            call.put("/projects/p/datasets/d", json={})
            recording = "/projects/p/datasets/d"
            false = b"f" * 1001
            url = call.offer(recording, "a", b"t" * 1001).json()["upload_url"]
            put(url, false)
            assert call.finish(recording, "a", b"t" * 1001).status_code == 200
            assert call.offer(recording, "a", b"t" * 1001).json()["unchanged"], "the path says so already"
            # Somebody else has the true bytes: they are taken, and served.
            assert other.offer(recording, "b", b"t" * 1001).status_code == 201
            digest = facts(b"t" * 1001)["sha256"]
            assert other.post(f"{recording}/revisions", json={"files": {"c": digest}}).status_code == 409
            other.send_file(recording, "b", b"t" * 1001)
            assert fetch(call.files(recording)["b"]["download_url"]) == b"t" * 1001


class Broken(FolderStore):
    """A store whose objects cannot be read for a while."""

    def __init__(self, folder: Path) -> None:
        super().__init__("http://127.0.0.1:1", "bucket", Signer("a", "s"), folder, 2**30)
        (folder / "bucket").mkdir()
        self.is_broken = True

    def read_through(self, key: str) -> StoredObject | None:
        if self.is_broken:
            raise StoreError("gone")
        return super().read_through(key)


def test_a_store_that_fails_while_it_is_read_is_asked_again(tmp_path: Path) -> None:
    store = Broken(tmp_path)
    (tmp_path / "bucket" / "key").write_bytes(LARGE)
    comparisons = Comparisons(store)
    contents = Contents(facts(LARGE)["sha256"], len(LARGE))
    with pytest.raises(StoreError, match="gone"):
        comparisons.look_at_upload(["key"], contents, None)
    store.is_broken = False
    assert comparisons.look_at_upload(["key"], contents, None).contents == contents
    comparisons.close()


def test_only_so_many_requests_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Broken(tmp_path)
    go_on = threading.Event()
    monkeypatch.setattr(Broken, "read_through", lambda *_: go_on.wait(30) and None)
    comparisons = Comparisons(store, patience_s=30)
    (tmp_path / "bucket" / "key").write_bytes(LARGE)
    contents = Contents(facts(LARGE)["sha256"], len(LARGE))
    for _ in range(16):
        assert comparisons._waiting.acquire(blocking=False)
    with pytest.raises(StillComparingError):
        comparisons.look_at_upload(["key"], contents, None)
    go_on.set()
    comparisons.close()
