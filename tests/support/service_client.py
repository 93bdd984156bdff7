"""The catalog protocol spoken by plain HTTP, as someone would from the protocol page alone."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import httpx


def facts(data: bytes) -> dict[str, Any]:
    """What a request says of bytes: `size_bytes` and `sha256`."""
    return {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


class Caller(httpx.Client):
    """An HTTP client with a key, and the three steps of a push."""

    def __init__(self, url: str, key: str) -> None:
        # Loading the certificates of the whole world takes longer than most tests, and loopback needs none.
        super().__init__(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30, verify=False)

    def register(self, name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
        answer = self.post("/datasets", json={"name": name, "version": version, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def complete(self, dataset_id: str, data: bytes, **more: Any) -> httpx.Response:
        return self.post(f"/datasets/{dataset_id}/complete", json={**facts(data), **more})

    def push(self, name: str, data: bytes, version: str = "v1", **more: Any) -> dict[str, Any]:
        registered = self.register(name, version, **more)
        put(registered["upload_url"], data)
        answer = self.complete(registered["id"], data, object_key=registered["object_key"])
        assert answer.status_code == 200, answer.text
        return registered

    def offer(self, recording: str, path: str, data: bytes) -> httpx.Response:
        return self.post(f"{recording}/files", json={"path": path, **facts(data)})

    def finish(self, recording: str, path: str, data: bytes) -> httpx.Response:
        return self.post(f"{recording}/files/complete", json={"path": path, **facts(data)})

    def send_file(self, recording: str, path: str, data: bytes) -> None:
        """Offer, PUT and complete one file of a recording; nothing moves when it is unchanged."""
        offered = self.offer(recording, path, data)
        if offered.status_code == 200:
            assert offered.json() == {"path": path, "unchanged": True}
            return
        assert offered.status_code == 201, offered.text
        put(offered.json()["upload_url"], data)
        finished = self.finish(recording, path, data)
        assert finished.status_code == 200, finished.text

    def files(self, recording: str, **query: Any) -> dict[str, dict[str, Any]]:
        """The listed files of a recording by path."""
        answer = self.get(f"{recording}/files", params=query)
        assert answer.status_code == 200, answer.text
        return {row["path"]: row for row in answer.json()["files"]}


@cache
def anyone() -> httpx.Client:
    """An HTTP client without any credential; one for all, as making one takes longer than a request."""
    return httpx.Client(timeout=30, verify=False)


def put(url: str, data: bytes) -> None:
    """PUT bytes to a presigned URL, without any credential."""
    answer = anyone().put(url, content=data)
    assert answer.status_code == 200, answer.text


def fetch(url: str) -> bytes:
    """GET a presigned URL, without any credential."""
    answer = anyone().get(url)
    assert answer.status_code == 200, answer.text
    return answer.content
