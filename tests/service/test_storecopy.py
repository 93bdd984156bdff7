"""Copies inside a store, on the stores that are at hand: whole and by parts, and what they tell of them."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from noeira_tui.service import storecopy, storehttp
from noeira_tui.service.presign import Signer
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storehttp import Answer
from noeira_tui.service.storeparts import forget_unfinished
from noeira_tui.service.storerefusal import StoreError
from tests.support.plain_store import running_plain_store
from tests.support.service_minio import KEYS, Minio

SIGNER = Signer(KEYS.access_key, KEYS.secret_key)
DATA = secrets.token_bytes(11 * 2**20)


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["moto", "minio", "plain"])
def store(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    if request.param == "plain":
        with running_plain_store() as plain:
            yield ObjectStore(plain.endpoint, "copies", SIGNER)
        return
    server = request.getfixturevalue(request.param)
    store = ObjectStore(server.endpoint if isinstance(server, Minio) else server, "copies", SIGNER)
    store.make_bucket()
    yield store
    store.close()


@pytest.fixture
def by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WHOLE_UP_TO_BYTES", "_PART_BYTES"):
        monkeypatch.setattr(storecopy, name, 5 * 2**20)


@pytest.mark.parametrize("data", [b"", b"small", DATA], ids=["empty", "small", "large"])
def test_a_copy_stays_what_it_was_when_its_source_changes(store: ObjectStore, data: bytes) -> None:
    store.write("source", data)
    assert store.settle("source", "copy", len(data))
    store.write("source", b"something else")
    assert store.read("copy") == data
    store.delete("source")
    assert store.read("copy") == data


@pytest.mark.usefixtures("by_parts")
def test_a_large_copy_is_made_by_parts_where_the_store_knows_how(store: ObjectStore) -> None:
    store.write("source", DATA)
    store.settle("source", "copy", len(DATA))
    store.write("source", b"something else")
    assert store.read("copy") == DATA


def test_nothing_is_settled_where_nothing_is_stored(store: ObjectStore) -> None:
    assert not store.settle("nothing", "copy-of-nothing", 4)
    assert store.head("copy-of-nothing") is None


def test_a_copy_tells_its_digest_where_the_store_learns_it(moto: str) -> None:
    store = ObjectStore(moto, "copies", SIGNER)
    store.make_bucket()
    store.write("source", b"data")
    store.settle("source", "copy", 4)
    told = store.settled("copy", 4)
    assert told is not None and told.sha256 == hashlib.sha256(b"data").hexdigest()
    store.close()


@pytest.mark.usefixtures("by_parts")
def test_no_part_is_begun_after_one_that_failed(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storecopy, "_COPIERS", 1)
    store = ObjectStore(moto, "copies", SIGNER)
    store.make_bucket()
    store.write("source", DATA)
    call, parts = store.call, []

    def failing(method: str, key: str, **how: Any) -> Answer:
        if "partNumber" in (how.get("query") or {}):
            parts.append(key)
            return Answer(200, {}, b"<Error><Code>InternalError</Code><Message>Try again.</Message></Error>")
        return call(method, key, **how)

    monkeypatch.setattr(store, "call", failing)
    with pytest.raises(StoreError, match=r"copy of a part .* 200 \(InternalError: Try again\.\)") as raised:
        storecopy.copy_inside(store, "source", "never", 200 * 2**20)
    assert raised.value.retryable and len(parts) == 1
    assert b"<Upload>" not in call("GET", "", query={"uploads": ""}).body
    store.close()


@pytest.mark.usefixtures("by_parts")
def test_a_copy_by_parts_that_fails_leaves_no_parts(moto: str) -> None:
    import boto3

    store = ObjectStore(moto, "copies", SIGNER)
    store.make_bucket()
    with pytest.raises(StoreError):
        storecopy.copy_inside(store, "vanished", "copy-of-it", 11 * 2**20)
    client = boto3.client(
        "s3",
        endpoint_url=moto,
        region_name="us-east-1",
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )
    assert not client.list_multipart_uploads(Bucket="copies").get("Uploads")
    assert store.head("copy-of-it") is None
    store.close()


def test_parts_of_what_is_not_to_be_are_removed_and_nobody_elses(moto: str) -> None:
    """What a service that was killed in the middle of a copy leaves."""
    store = ObjectStore(moto, "unfinished", SIGNER)
    store.make_bucket()
    keys = [*(secrets.token_hex(20) for _ in range(5)), "films/a&b.mp4"]
    for key in keys:
        assert store.call("POST", key, query={"uploads": ""}).status == 200
    forget_unfinished(store, frozenset(keys[:4]))
    left = store.call("GET", "", query={"uploads": ""}).body.decode()
    assert re.findall(r"<Key>(.*?)</Key>", left) == sorted([keys[4], "films/a&amp;b.mp4"])
    forget_unfinished(store, frozenset(keys))
    assert "<Key>" not in store.call("GET", "", query={"uploads": ""}).body.decode()
    store.close()


def test_a_store_that_lists_no_parts_is_left_alone() -> None:
    with running_plain_store() as plain:
        plain.objects["copies/key"] = b"data"
        forget_unfinished(ObjectStore(plain.endpoint, "copies", SIGNER), {"key"})
        assert plain.objects == {"copies/key": b"data"} and "DELETE" not in plain.asked


def test_parts_are_listed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        "": "<IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
        "<Upload><Key>a</Key><UploadId>1</UploadId></Upload>",
        "a": "<IsTruncated>false</IsTruncated><Upload>\n<Key>b</Key><UploadId>2&amp;3</UploadId></Upload>",
    }
    removed = []

    def call(method: str, key: str, *, query: dict[str, str]) -> Answer:
        if method == "DELETE":
            removed.append((key, query["uploadId"]))
            return Answer(204, {}, b"")
        return Answer(200, {}, pages[query.get("key-marker", "")].encode())

    store = ObjectStore("http://127.0.0.1:1", "copies", SIGNER)
    monkeypatch.setattr(store, "call", call)
    forget_unfinished(store, {"a", "b"})
    assert removed == [("a", "1"), ("b", "2&3")]


def test_closing_ends_what_a_store_would_never_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(2) as pool:
        store = ObjectStore(f"http://127.0.0.1:{silent.getsockname()[1]}", "copies", SIGNER)
        asked = pool.submit(store.settle, "source", "copy", 10**9)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(10)
            store.close()
            with pytest.raises(StoreError, match="gave no answer"):
                asked.result(10)
    with pytest.raises(StoreError, match="being stopped"):
        store.check()


def test_authorities_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[ssl.SSLContext] = []
    load = ssl.create_default_context
    storehttp._trust.cache_clear()
    monkeypatch.setattr(ssl, "create_default_context", lambda: loaded.append(load()) or loaded[-1])
    for _ in range(3):
        storehttp.connect(urlsplit("https://objects.example.org"))
    assert len(loaded) == 1
