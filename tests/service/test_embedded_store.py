"""The embedded store as anybody with a presigned URL meets it: what it refuses, and how it writes."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError
from nanio.errors import BadDigest

from noeira_tui.service.shelf import NoRoomError, Shelf
from tests.support.service_client import Caller, anyone, fetch, put
from tests.support.service_fixture import RunningService
from tests.support.service_process import until


def test_an_upload_url_copies_nothing(catalog: RunningService, call: Caller, name: str) -> None:
    """Whoever saw the key of an object once cannot read it through an upload of their own."""
    secret = call.push(f"{name}-secret", b"of somebody else")["object_key"]
    upload = call.register(name)["upload_url"]
    for header in ("x-amz-copy-source", "X-Amz-Copy-Source", "x-amz-meta-odd", "x-amz-acl"):
        answer = anyone().put(upload, headers={header: f"/{catalog.bucket}/{secret}"})
        assert answer.status_code == 403 and "not signed" in answer.text
    assert call.complete(f"{name}-v1", b"of somebody else").status_code == 422
    put(upload, b"plain")
    assert call.complete(f"{name}-v1", b"plain").status_code == 200


@pytest.mark.parametrize("size_bytes", [0, 5000, 2_000_000])
def test_without_hard_links_what_is_published_is_a_copy(
    catalog: RunningService, call: Caller, name: str, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    data = (name.encode() * size_bytes)[:size_bytes]
    registered = call.push(name, data)
    put(registered["upload_url"], b"something else")
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == data
    folder = catalog.data_dir / "objects" / catalog.bucket
    assert not list(folder.glob(".tmp.*"))


def test_a_disk_without_room_for_the_copy_is_no_answer(
    catalog: RunningService, call: Caller, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    registered = call.register(name)
    put(registered["upload_url"], name.encode())
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refuse)
        patched.setattr(os, "fsync", full)
        assert call.complete(registered["id"], name.encode()).status_code == 503
    assert not list((catalog.data_dir / "objects" / catalog.bucket).glob(".tmp.*"))
    assert call.complete(registered["id"], name.encode()).status_code == 200


@pytest.mark.parametrize("parameter", ["uploads", "uploadId=", "acl", "x=1"])
def test_a_url_takes_no_further_parameters(call: Caller, name: str, parameter: str) -> None:
    upload = call.push(name, b"data")["upload_url"]
    download = call.get(f"/datasets/{name}-v1").json()["download_url"]
    assert anyone().get(f"{download}&{parameter}").status_code == 403
    assert anyone().put(f"{upload}&{parameter}", content=b"other").status_code == 403


@pytest.mark.parametrize(
    ("asked", "status", "body", "told"),
    [
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=3-", 206, b"3456789", "bytes 3-9/10"),
        ("bytes=5-100", 206, b"56789", "bytes 5-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=5-3", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_ranges(call: Caller, asked: str, status: int, body: bytes | None, told: str | None) -> None:
    if call.get("/datasets/ranges-v1").status_code == 404:
        call.push("ranges", b"0123456789")
    url = call.get("/datasets/ranges-v1").json()["download_url"]
    answer = anyone().get(url, headers={"Range": asked})
    assert (answer.status_code, answer.headers.get("Content-Range")) == (status, told)
    assert body is None or (answer.content, answer.headers["Content-Length"]) == (body, str(len(body)))
    # Without a signature nobody learns a size.
    assert anyone().get(url.partition("?")[0], headers={"Range": "bytes=10-"}).status_code == 403


def test_a_range_of_nothing(call: Caller, name: str) -> None:
    call.push(name, b"")
    url = call.get(f"/datasets/{name}-v1").json()["download_url"]
    assert anyone().get(url).content == b""
    assert anyone().get(url, headers={"Range": "bytes=0-"}).status_code == 416


def test_a_browser_runs_nothing_of_what_was_uploaded(call: Caller, name: str) -> None:
    upload = call.register(name, filename="page.html")["upload_url"]
    page = b"<script>alert(1)</script>"
    assert anyone().put(upload, content=page, headers={"Content-Type": "text/html"}).status_code == 200
    assert call.complete(f"{name}-v1", page).status_code == 200
    answer = anyone().get(call.get(f"/datasets/{name}-v1").json()["download_url"])
    assert answer.content == page
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_a_listing_that_would_never_end_is_refused(catalog: RunningService, call: Caller, name: str) -> None:
    """nanio knows no marker: it gives the first page again."""
    for number in range(3):
        call.push(f"{name}-{number}", f"{name}{number}".encode())
    client = boto3.client(
        "s3",
        endpoint_url=catalog.store_endpoint,
        region_name=catalog.config.region,
        aws_access_key_id=catalog.store_access_key,
        aws_secret_access_key=catalog.store_secret_key,
    )
    old = client.get_paginator("list_objects").paginate(Bucket=catalog.bucket, PaginationConfig={"PageSize": 1})
    with pytest.raises(ClientError, match="ListObjectsV2"):
        list(old)
    new = client.get_paginator("list_objects_v2").paginate(Bucket=catalog.bucket, PaginationConfig={"PageSize": 1})
    keys = [one["Key"] for page in new for one in page.get("Contents", [])]
    assert len(keys) == len(set(keys)) >= 3


def test_one_put_carries_at_most_five_gib(call: Caller, name: str) -> None:
    where = urlsplit(call.register(name)["upload_url"])
    head = f"PUT {where.path}?{where.query} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {5 * 1024**3 + 1}"
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=20) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_an_upload_that_is_cut_off_leaves_nothing(catalog: RunningService, call: Caller, name: str) -> None:
    registered = call.register(name)
    where = urlsplit(registered["upload_url"])
    folder = catalog.data_dir / "objects" / catalog.bucket
    head = f"PUT {where.path}?{where.query} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: 3000000\r\n\r\n"
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=20) as connection:
        connection.sendall(head.encode() + b"x" * 2_000_000)
        until(lambda: any(folder.glob(".tmp.*")), "the first bytes are on disk")
    until(lambda: not any(folder.glob(".tmp.*")), "what was staged is gone")
    assert not (folder / registered["object_key"]).exists()


def test_uploads_of_one_url_at_once_leave_one_whole_object(call: Caller, name: str) -> None:
    registered = call.register(name)
    contents = [bytes([number]) * 200_000 for number in range(6)]
    threads = [threading.Thread(target=put, args=(registered["upload_url"], data)) for data in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    answers = [call.complete(registered["id"], data).status_code for data in contents]
    assert answers.count(200) == 1
    stored = fetch(call.get(f"/datasets/{registered['id']}").json()["download_url"])
    assert stored == contents[answers.index(200)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path)
    shelf.create_bucket("bucket")
    yield shelf


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


def test_a_disk_that_takes_a_part_is_asked_to_take_the_rest(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:1000]))
    data = os.urandom(2_500_000)
    info = asyncio.run(shelf.put_object("bucket", "key", pieces(data[:1_200_000], data[1_200_000:])))
    assert (tmp_path / "bucket" / "key").read_bytes() == data
    assert (info.size, info.etag) == (len(data), f'"{hashlib.md5(data).hexdigest()}"')


def test_a_full_disk_leaves_nothing(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(NoRoomError):
            asyncio.run(shelf.put_object("bucket", "key", pieces(b"data")))
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == [".nanio-meta"]
    asyncio.run(shelf.put_object("bucket", "key", pieces()))
    assert (tmp_path / "bucket" / "key").read_bytes() == b""


@pytest.mark.parametrize("header", ["no base64", "YWJj", "XrY7u+Ae7tCTyyK7j1rNww=="])
def test_another_md5_is_refused(shelf: Shelf, tmp_path: Path, header: str) -> None:
    with pytest.raises(BadDigest):
        asyncio.run(shelf.put_object("bucket", "key", pieces(b"data"), expected_md5=header))
    assert not (tmp_path / "bucket" / "key").exists() and not any((tmp_path / "bucket").glob(".tmp.*"))


def test_objects_have_etags_of_their_own_and_notes_only_where_there_is_something_to_note(
    shelf: Shelf, tmp_path: Path
) -> None:
    notes = tmp_path / "bucket" / ".nanio-meta"
    for key in ("one", "two"):
        asyncio.run(shelf.put_object("bucket", key, pieces(b"same")))
    assert shelf.head_object("bucket", "one").etag != shelf.head_object("bucket", "two").etag
    assert shelf.head_object("bucket", "one").etag == shelf.head_object("bucket", "one").etag
    assert list(notes.iterdir()) == []
    asyncio.run(shelf.put_object("bucket", "one", pieces(b"page"), content_type="text/html"))
    assert shelf.head_object("bucket", "one").content_type == "text/html" and len(list(notes.iterdir())) == 1
    asyncio.run(shelf.put_object("bucket", "one", pieces(b"plain again")))
    assert shelf.head_object("bucket", "one").size == 11 and list(notes.iterdir()) == []
