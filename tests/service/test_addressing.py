"""Where an outside store is: buckets in the path or before the host, and another address for clients than for us."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from noeira_tui.core.errors import ConfigError
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.presign import object_url
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storeprobe import try_out
from noeira_tui.service.storerefusal import StoreError
from tests.support.service_client import Caller
from tests.support.service_fixture import OutsideStore, RunningService, running_service
from tests.support.service_minio import DOMAIN, KEYS, Minio
from tests.support.service_process import until


@pytest.fixture
def localhost_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name below localhost is this machine, as it is for browsers and curl."""
    real = socket.getaddrinfo

    def lookup(host: Any, *arguments: Any, **more: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith(f".{DOMAIN}") else host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


def test_addresses_of_both_styles() -> None:
    assert object_url("https://s3.example.org/", "b", "k e/y") == "https://s3.example.org/b/k%20e/y"
    assert object_url("https://s3.example.org", "b", "key", style="host") == "https://b.s3.example.org/key"
    assert object_url("https://s3.example.org", "b", style="host") == "https://b.s3.example.org/"


def test_host_style_round_trip(tmp_path: Path, minio: Minio, localhost_names: None) -> None:
    outside = OutsideStore(minio.host_style_endpoint, KEYS, bucket="hosted", style="host")
    with running_service(tmp_path, outside=outside) as service, Caller(service.url, service.key) as call:
        data = b"walker" * 1000
        registered = call.register("walker")
        assert urlsplit(registered["upload_url"]).netloc == f"hosted.{DOMAIN}:{minio.port}"
        with httpx.Client(verify=False) as anyone:
            assert anyone.put(registered["upload_url"], content=data).status_code == 200
            assert call.complete("walker-v1", data[::-1]).status_code == 422
            assert call.complete("walker-v1", data).status_code == 200
            url = call.get("/datasets/walker-v1").json()["download_url"]
            assert anyone.get(url).content == data
            part = anyone.get(url, headers={"Range": "bytes=10-19"})
            assert (part.status_code, part.content) == (206, data[10:20])
            assert anyone.head(url).status_code == 403, "a URL is for one method"
            assert anyone.get(url.replace("hosted.", "other.")).status_code == 403, "and for one host"


def test_clients_get_the_public_address(tmp_path: Path, minio: Minio) -> None:
    """Behind a proxy the signature must name the host that the client sees."""
    public = f"http://localhost:{minio.port}"
    config = ServiceConfig(Path(), port=0, public_endpoint=public)
    outside = OutsideStore(minio.endpoint, KEYS, bucket="public")
    with running_service(tmp_path, config, outside=outside) as service, Caller(service.url, service.key) as call:
        registered = call.register("walker")
        assert registered["upload_url"].startswith(f"{public}/public/")
        with httpx.Client(verify=False) as anyone:
            assert anyone.put(registered["upload_url"], content=b"data").status_code == 200
            assert anyone.get(registered["upload_url"].replace("localhost", "127.0.0.1")).status_code == 403
        assert call.complete("walker-v1", b"data").status_code == 200


def test_only_so_large_objects_are_read_to_learn_their_digest(tmp_path: Path, minio: Minio) -> None:
    """MinIO keeps no digest of a plain PUT; above the bound only the size is compared, as the settings page says."""
    config = ServiceConfig(Path(), port=0, hash_up_to_bytes=1000)
    with running_service(tmp_path, config, outside=OutsideStore(minio.endpoint, KEYS, bucket="hashed")) as service:
        with Caller(service.url, service.key) as call, httpx.Client(verify=False) as anyone:
            for size, status in ((1000, 422), (1001, 200)):
                data = b"x" * size
                registered = call.register(f"walker-{size}")
                anyone.put(registered["upload_url"], content=b"y" * size)
                assert call.complete(registered["id"], data).status_code == status


def test_a_store_whose_upload_urls_copy_objects_is_told_from_one_whose_do_not(
    tmp_path: Path, minio: Minio, catalog: RunningService, caplog: pytest.LogCaptureFixture
) -> None:
    outside = OutsideStore(minio.endpoint, KEYS, bucket="probed")
    with running_service(tmp_path, outside=outside) as service:
        assert try_out(service.store)
        assert "copy any object" in caplog.text
        until(lambda: service.stored() == {}, "the probe leaves nothing")
    caplog.clear()
    assert not try_out(catalog.store)
    assert caplog.text == ""


def test_a_store_that_fails_while_it_is_tried_is_not_judged(
    catalog: RunningService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise StoreError("gone")

    monkeypatch.setattr(ObjectStore, "write", gone)
    assert not try_out(catalog.store)
    assert "does not do what pushes need: Object store: gone" in caplog.text


def test_the_embedded_store_has_one_style() -> None:
    with pytest.raises(ConfigError, match="path-style"):
        replace(ServiceConfig(Path()), s3_style="host")
