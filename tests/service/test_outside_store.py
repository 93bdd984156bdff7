"""An outside object store that misbehaves now and then: what the service makes of it, and what it never does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from noeira_tui import RemoteCatalog
from noeira_tui.core.errors import RefusedError
from noeira_tui.core.settings import Settings
from noeira_tui.recordings.push import push
from noeira_tui.service import comparing
from noeira_tui.service.comparing import Comparisons
from noeira_tui.service.config import StoreKeys
from noeira_tui.service.contents import Contents
from noeira_tui.service.reserving import ReservedKeys
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storerefusal import StoreError
from noeira_tui.service.sweeper import Sweeper
from noeira_tui.service.tables import Blob, DoomedObject
from tests.recordings.mirrors import new_box, new_project, on_service, tree
from tests.support.plain_store import PlainStore, running_plain_store
from tests.support.service_client import Caller, facts, fetch, put
from tests.support.service_fixture import OutsideStore, RunningService, running_service
from tests.support.service_process import until


@pytest.fixture
def plain() -> Iterator[PlainStore]:
    with running_plain_store() as store:
        yield store


@pytest.fixture
def service(tmp_path: Path, plain: PlainStore) -> Iterator[RunningService]:
    outside = OutsideStore(plain.endpoint, StoreKeys("key", "secret"))
    with running_service(tmp_path, outside=outside) as service:
        yield service


@pytest.fixture
def call(service: RunningService) -> Iterator[Caller]:
    with Caller(service.url, service.key) as caller:
        yield caller


@pytest.mark.parametrize("size_bytes", [200_000, 3_000_000])
def test_a_store_that_ends_while_it_is_read_is_no_answer(call: Caller, plain: PlainStore, size_bytes: int) -> None:
    """Its answer breaks off where the connection does: that is no shorter object."""
    data = b"d" * size_bytes
    registered = call.register("walker")
    put(registered["upload_url"], data)
    plain.cut_answers = 9
    answer = call.complete("walker-v1", data)
    assert answer.status_code == 503 and answer.headers["Retry-After"]
    plain.cut_answers = 0
    assert call.complete("walker-v1", data).status_code == 200
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == data


def days(number: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=number)


def test_a_push_sends_again_what_the_store_took_and_has_not(
    tmp_path: Path, service: RunningService, plain: PlainStore
) -> None:
    source = tmp_path / "walker.h5"
    source.write_bytes(b"w" * 300_000)
    plain.short_puts = 1
    with RemoteCatalog(
        Settings.load(root=tmp_path, environ={**service.environ, "NOEIRA_STATE": str(tmp_path)})
    ) as catalog:
        pushed = catalog.push(source, name="walker")
        assert (pushed.size_bytes, pushed.bytes_transferred) == (300_000, 600_000)
        assert catalog.describe("walker-v1").size_bytes == 300_000
    assert plain.asked.count("PUT") == 2


def test_a_mirror_sends_again_what_the_store_took_and_has_not(
    tmp_path: Path, service: RunningService, plain: PlainStore
) -> None:
    box = new_box(service, tmp_path / "box", new_project())
    box.record()
    plain.short_puts = 2
    done = push(box.mirror())
    assert not done.failed and plain.short_puts == 0
    assert on_service(box) == tree(box.folder)


def test_a_mirror_gives_up_on_a_store_that_keeps_half_of_everything(
    tmp_path: Path, service: RunningService, plain: PlainStore
) -> None:
    box = new_box(service, tmp_path / "box", new_project())
    box.record()
    plain.short_puts = 10_000
    done = push(box.mirror())
    assert done.failed and "bytes, not" in done.failed[0].error
    assert all(digest is None for digest in on_service(box, "working").values())


def test_what_has_the_wrong_size_is_not_copied(call: Caller, plain: PlainStore) -> None:
    put(call.register("walker")["upload_url"], b"other")
    assert call.complete("walker-v1", b"announced").status_code == 422
    assert "COPY" not in plain.asked


def test_a_store_that_refuses_to_digest_copies_is_asked_once(call: Caller, plain: PlainStore) -> None:
    plain.refuses_wishes = True
    call.push("walker", b"one")
    call.push("runner", b"two")
    assert plain.asked.count("COPY") == 3
    assert fetch(call.get("/datasets/runner-v1").json()["download_url"]) == b"two"


def test_a_store_that_tells_no_digest_of_a_copy_is_asked_once(call: Caller, plain: PlainStore) -> None:
    before = len(plain.asked)
    call.push("walker", b"one")
    call.push("runner", b"two")
    asked = [one for one in plain.asked[before:] if one != "DELETE"]
    assert asked == ["PUT", "HEAD", "COPY", "HEAD", "GET", "PUT", "HEAD", "COPY", "GET"]


def test_a_copy_that_failed_below_a_success_is_no_copy(call: Caller, plain: PlainStore) -> None:
    """S3 begins to answer a copy before it is done, and may end with an error."""
    put(call.register("walker")["upload_url"], b"data")
    plain.copy_answers = [(200, b"\n <Error><Code>InternalError</Code><Message>Again.</Message></Error>")]
    answer = call.complete("walker-v1", b"data")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert call.complete("walker-v1", b"data").status_code == 200
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"


def test_a_copy_that_the_store_says_it_made_and_has_not_is_no_answer(call: Caller, plain: PlainStore) -> None:
    put(call.register("walker")["upload_url"], b"data")
    plain.copy_answers = [(200, b"<CopyObjectResult/>")]
    assert call.complete("walker-v1", b"data").headers["Retry-After"] == "1"
    assert call.complete("walker-v1", b"data").status_code == 200


def test_a_store_that_forbids_copies_is_told_of_in_words(
    tmp_path: Path, service: RunningService, plain: PlainStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever pushes is not kept waiting for what stays so, and whoever runs the service reads what the store said."""
    denied = (403, b"<Error><Code>AccessDenied</Code><Message>Copies are denied.</Message></Error>")
    plain.copy_answers = [denied] * 100
    source = tmp_path / "walker.h5"
    source.write_bytes(b"walks")
    settings = Settings.load(root=tmp_path, environ={**service.environ, "NOEIRA_STATE": str(tmp_path)})
    with RemoteCatalog(settings) as catalog, pytest.raises(RefusedError, match="object store refuses"):
        catalog.push(source, name="walker")
    assert 0 < 100 - len(plain.copy_answers) < 10
    assert "was answered 403 (AccessDenied: Copies are denied.)" in caplog.text
    assert "a rule of the bucket forbids it" in caplog.text


def test_a_request_whose_upload_another_one_published_is_answered_alike(
    service: RunningService, call: Caller, plain: PlainStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the upload and its copy, the upload was tidied up."""
    settle = ObjectStore.settle

    def meanwhile(path: str, body: dict[str, Any]) -> None:
        def first(self: ObjectStore, key: str, target: str, size_bytes: int) -> bool:
            monkeypatch.setattr(ObjectStore, "settle", settle)
            with Caller(service.url, service.key) as other:
                assert other.post(path, json=body).status_code == 200
            until(lambda: f"{service.bucket}/{key}" not in plain.objects, "the first one tidied up")
            return settle(self, key, target, size_bytes)

        monkeypatch.setattr(ObjectStore, "settle", first)
        assert call.post(path, json=body).status_code == 200

    put(call.register("walker")["upload_url"], b"walks")
    meanwhile("/datasets/walker-v1/complete", facts(b"walks"))
    recording = "/projects/p/datasets/d"
    call.put("/projects/p")
    call.put(recording, json={})
    put(call.offer(recording, "data/a", b"data").json()["upload_url"], b"data")
    meanwhile(f"{recording}/files/complete", {"path": "data/a", **facts(b"data")})


def test_a_copy_that_is_refused_for_a_missing_source_which_is_there_is_no_answer(
    call: Caller, plain: PlainStore
) -> None:
    put(call.register("walker")["upload_url"], b"data")
    plain.copy_answers = [(404, b"<Error><Code>NoSuchKey</Code></Error>")]
    assert call.complete("walker-v1", b"data").headers["Retry-After"] == "1"
    assert call.complete("walker-v1", b"data").status_code == 200


def test_a_store_that_refuses_is_told_from_one_that_is_gone(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call.get("/readyz").status_code == 200
    for retryable, told in ((True, "no answer"), (False, "refuses the service")):
        err = StoreError("HEAD bucket was answered 403.", retryable=retryable)

        def refuse(_: ObjectStore, err: StoreError = err) -> None:
            raise err

        monkeypatch.setattr(ObjectStore, "check", refuse)
        answer = call.get("/readyz")
        assert (answer.status_code, answer.json()["object_store"]) == (503, told)


def test_a_store_that_hangs_leaves_threads_for_what_needs_no_store(
    service: RunningService, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "_SLOW_S", 0.0)
    go_on, settle = threading.Event(), ObjectStore.settle
    hanging: list[str] = []

    def hangs(store: ObjectStore, key: str, target: str, size_bytes: int) -> bool:
        hanging.append(key)
        assert go_on.wait(30)
        return settle(store, key, target, size_bytes)

    monkeypatch.setattr(ObjectStore, "settle", hangs)
    names = [f"walker{number}" for number in range(60)]
    for name in names:
        put(call.register(name)["upload_url"], name.encode())

    def complete(name: str) -> int:
        with Caller(service.url, service.key) as other:
            return other.complete(f"{name}-v1", name.encode()).status_code

    with ThreadPoolExecutor(60) as pool:
        first = [pool.submit(complete, name) for name in names[:30]]
        until(lambda: len(hanging) == 16, "the store hangs")
        later = [pool.submit(complete, name) for name in names[30:]]
        assert {one.result(10) for one in later} == {503}
        assert len(call.get("/datasets").json()) == 60
        go_on.set()
        assert [one.result(30) for one in first].count(200) == 16
    assert {complete(name) for name in names} == {200}


def test_a_kill_before_publishing_leaves_no_copy_for_ever(
    service: RunningService, call: Caller, plain: PlainStore
) -> None:
    """An outside store is not listed, so that a copy which nothing told of would stay."""
    registered = call.register("walker")
    put(registered["upload_url"], b"data")
    keys = ReservedKeys(service.database, timedelta(days=7))
    looked = Comparisons(service.store, keys.take).look_at_upload(
        [registered["object_key"]], Contents(str(facts(b"data")["sha256"]), 4), None
    )
    copy = f"{service.bucket}/{looked.settled_key}"
    assert plain.objects[copy] == b"data"
    call.push("runner", b"runs")
    sweeper = Sweeper(service.config, service.database, service.store)
    sweeper.sweep(days(6))
    assert copy in plain.objects
    sweeper.sweep(days(8))
    assert list(plain.objects.values()) == [b"runs"]
    sweeper.sweep(days(99))
    assert fetch(call.get("/datasets/runner-v1").json()["download_url"]) == b"runs"


def test_what_a_removed_dataset_or_recording_had_uploaded_goes(
    service: RunningService, call: Caller, plain: PlainStore
) -> None:
    put(call.register("walker")["upload_url"], b"pending")
    recording = "/projects/p/datasets/d"
    call.put("/projects/p")
    call.put(recording, json={})
    put(call.offer(recording, "data/a", b"pending too").json()["upload_url"], b"pending too")
    call.push("runner", b"runs")
    until(lambda: len(plain.objects) == 3, "the spare upload is removed")
    for path in ("/datasets/walker-v1", recording):
        assert call.delete(path).status_code == 204
    sweeper = Sweeper(service.config, service.database, service.store)
    sweeper.sweep(days(6))
    assert len(plain.objects) == 3
    sweeper.sweep(days(8))
    assert list(plain.objects.values()) == [b"runs"]


def test_an_object_that_a_rule_of_the_bucket_keeps_does_not_keep_the_others(
    service: RunningService, call: Caller, plain: PlainStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        put(call.register(name)["upload_url"], name.encode())
        call.delete(f"/datasets/{name}-v1")
    kept = min(plain.objects)
    delete = ObjectStore.delete

    def refusing(store: ObjectStore, key: str) -> None:
        if kept.endswith(key):
            raise StoreError("A rule keeps it.", retryable=False)
        delete(store, key)

    monkeypatch.setattr(ObjectStore, "delete", refusing)
    sweeper = Sweeper(service.config, service.database, service.store)
    with pytest.raises(StoreError, match="A rule keeps it"):
        sweeper.sweep(days(8))
    assert list(plain.objects) == [kept]
    monkeypatch.setattr(ObjectStore, "delete", delete)
    sweeper.sweep(days(8))
    assert not plain.objects


def test_keys_are_noted_in_growing_lots(service: RunningService) -> None:
    keys = ReservedKeys(service.database, timedelta(days=7))
    taken = [keys.take("a.mp4") for _ in range(20)]
    assert len(set(taken)) == 20 and all(key.endswith(".mp4") for key in taken)
    with service.database.read() as session:
        noted = set(session.scalars(select(DoomedObject.object_key)))
    assert set(taken) < noted and len(noted) == 1 + 2 + 4 + 8 + 16


def test_what_a_former_version_published_where_it_was_uploaded_goes_too(
    service: RunningService, call: Caller, plain: PlainStore
) -> None:
    registered = call.push("walker", b"data")
    until(lambda: len(plain.objects) == 1, "the spare upload is removed")
    with service.database.write() as session:
        blob = session.scalars(select(Blob)).one()
        plain.objects[f"{service.bucket}/{registered['object_key']}"] = plain.objects.pop(
            f"{service.bucket}/{blob.object_key}"
        )
        blob.object_key = registered["object_key"]
    sweeper = Sweeper(service.config, service.database, service.store)
    sweeper.sweep(days(3))
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"
    call.push("runner", b"data")
    for dataset_id in ("walker-v1", "runner-v1"):
        assert call.delete(f"/datasets/{dataset_id}").status_code == 204
    for number in (0, 9, 18):
        sweeper.sweep(days(number))
    assert not plain.objects
