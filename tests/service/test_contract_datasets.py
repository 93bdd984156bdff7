"""Catalog datasets as the protocol page says, by plain HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import httpx
import pytest

from tests.support.service_fixture import RunningService, running_service


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def client(catalog: RunningService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=catalog.url, headers=catalog.headers) as client:
        yield client


def test_a_round_trip(client: httpx.Client) -> None:
    data = b"hello" * 1000
    registered = client.post("/datasets", json={"name": "walker", "version": "v1", "seed": 7, "filename": "w.h5"})
    assert registered.status_code == 201, registered.text
    answer = registered.json()
    assert answer["id"] == "walker-v1" and answer["object_key"].endswith(".h5") and answer["expires_at"].endswith("Z")

    pending = client.get("/datasets/walker-v1")
    assert pending.status_code == 409 and "never completed" in pending.json()["error"]
    assert [row["status"] for row in client.get("/datasets").json()] == ["pending"]

    assert httpx.put(answer["upload_url"], content=data).status_code == 200
    digest = hashlib.sha256(data).hexdigest()
    body = {"size_bytes": len(data), "sha256": digest}
    for _ in range(2):
        done = client.post("/datasets/walker-v1/complete", json=body)
        assert (done.status_code, done.json()) == (200, {"id": "walker-v1", "status": "ready"})
    row = client.get("/datasets/walker-v1").json()
    assert (row["sha256"], row["sizeBytes"], row["seed"], row["status"]) == (digest, len(data), 7, "ready")
    assert httpx.get(row["download_url"]).content == data
