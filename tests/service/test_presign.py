"""Our signatures against botocore's, and against a real store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.auth
import httpx
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.service.config import MAX_EXPIRY_S
from noeira_tui.service.presign import Signer, object_url
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storecopy import copy_inside
from noeira_tui.service.storerefusal import StoreError
from tests.support.service_client import anyone
from tests.support.service_fixture import RunningService

NOW = datetime(2026, 2, 28, 23, 59, 58, tzinfo=UTC)
SIGNER = Signer("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-central-1")
KEYS = ["plain", "with space/ü~.txt", "a+b&c=d?e#f/100%/'q'/(x)*!", "a//b", "日本/é→"]


def at_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: NOW.replace(tzinfo=None), raising=False)


def botocore_query(method: str, url: str, expires_s: int) -> dict[str, str]:
    credentials = Credentials(SIGNER.access_key, SIGNER.secret_key)
    request = AWSRequest(method=method, url=url)
    botocore.auth.S3SigV4QueryAuth(credentials, "s3", SIGNER.region, expires=expires_s).add_auth(request)
    return dict(httpx.URL(request.url).params)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("endpoint", ["https://s3.example.org", "http://127.0.0.1:9000", "http://[::1]:9000/"])
def test_presigned_urls_are_botocores(monkeypatch: pytest.MonkeyPatch, endpoint: str, method: str, key: str) -> None:
    at_that_time(monkeypatch)
    url = object_url(endpoint, "bucket", key)
    signed = SIGNER.presign(method, url, 3600, NOW)
    assert dict(httpx.URL(signed.url).params) == botocore_query(method, url, 3600)
    assert signed.expires_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize("extra", [{}, {"x-amz-copy-source": "/bucket/a%20b"}])
def test_signed_headers_are_botocores(monkeypatch: pytest.MonkeyPatch, extra: dict[str, str]) -> None:
    at_that_time(monkeypatch)
    url = object_url("https://s3.example.org", "bucket", KEYS[1])
    request = AWSRequest(method="PUT", url=url, headers=extra, data=b"body")
    botocore.auth.S3SigV4Auth(Credentials(SIGNER.access_key, SIGNER.secret_key), "s3", SIGNER.region).add_auth(request)
    digest = request.headers["X-Amz-Content-SHA256"]
    ours = SIGNER.headers("PUT", url, extra=extra, payload_sha256=digest, now=NOW)
    assert ours["authorization"] == request.headers["Authorization"]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_a_key_survives_its_url(key: str) -> None:
    path = httpx.URL(object_url("http://h", "b", key)).raw_path.decode("ascii")
    assert set(path) <= set("/%-_.~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    from urllib.parse import unquote

    assert unquote(object_url("http://h", "b", key)) == f"http://h/b/{key}"


@pytest.mark.parametrize("expires_s", [0, -1, MAX_EXPIRY_S + 1])
def test_an_expiry_that_stores_refuse_is_refused(expires_s: int) -> None:
    with pytest.raises(ValueError, match="lives from 1 to"):
        SIGNER.presign("GET", "http://h/b/k", expires_s)


def test_secrets_are_not_shown() -> None:
    assert SIGNER.secret_key not in repr(SIGNER)
    assert "Signature" not in repr(SIGNER.presign("GET", "http://h/b/k", 60))


@pytest.mark.parametrize("key", ["plain", "with space/ü~.txt", "a+b&c=d/100%/'q'/(x)*!", "日本/é→"])
def test_a_real_store_accepts_every_kind_of_key(catalog: RunningService, key: str) -> None:
    store = catalog.store
    assert anyone().put(store.presign_put(key, 60).url, content=b"some bytes").status_code == 200
    assert anyone().get(store.presign_get(key, 60).url).content == b"some bytes"
    told = store.head(key)
    assert told is not None and told.size_bytes == 10
    assert store.read(key) == b"some bytes"
    copy_inside(store, key, "copied", 10)
    assert store.read("copied") == b"some bytes"
    store.delete(key)
    store.delete(key)
    assert store.head(key) is None


def test_a_real_store_refuses_what_was_not_signed(catalog: RunningService) -> None:
    store = catalog.store
    store.write("mine", b"mine")
    url = store.presign_get("mine", 60).url
    assert anyone().get(url).status_code == 200
    for forged in (
        url.replace("/mine?", "/other?"),
        url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
        url.split("?")[0],
    ):
        assert anyone().get(forged).status_code in {401, 403}
    assert anyone().put(url, content=b"x").status_code == 403


def test_an_expired_url_is_403(catalog: RunningService) -> None:
    signer = Signer(catalog.store_access_key, catalog.store_secret_key)
    url = object_url(catalog.store_endpoint, catalog.bucket, "mine")
    late = signer.presign("GET", url, 60, datetime.now(UTC) - timedelta(minutes=2))
    assert anyone().get(late.url).status_code == 403


def test_boto_finds_the_store_it_expects(catalog: RunningService) -> None:
    """`aws`, rclone and boto work against the embedded store with its key pair."""
    import boto3

    session: Any = boto3.session.Session()
    client = session.client(
        "s3",
        endpoint_url=catalog.store_endpoint,
        aws_access_key_id=catalog.store_access_key,
        aws_secret_access_key=catalog.store_secret_key,
        region_name="us-east-1",
    )
    catalog.store.write("seen-by-boto", b"abc")
    assert client.get_object(Bucket=catalog.bucket, Key="seen-by-boto")["Body"].read() == b"abc"
    listed = client.list_objects_v2(Bucket=catalog.bucket, Prefix="seen-by-")
    assert [one["Key"] for one in listed["Contents"]] == ["seen-by-boto"]


def test_a_store_that_is_not_there_or_refuses_us(catalog: RunningService) -> None:
    gone = ObjectStore("http://127.0.0.1:1", "bucket", SIGNER)
    with pytest.raises(StoreError, match="gave no answer") as caught:
        gone.head("k")
    assert caught.value.retryable
    stranger = ObjectStore(catalog.store_endpoint, catalog.bucket, SIGNER)
    with pytest.raises(StoreError, match="403") as refused:
        stranger.make_bucket()
    assert not refused.value.retryable
