"""Definition files of a project: compare-and-swap by digest, by plain HTTP."""

from __future__ import annotations

import secrets
from typing import Any

import httpx

from tests.support.service_client import Caller, facts, fetch, put


def presign(call: Caller, project: str, path: str, data: bytes, base: bytes | None) -> httpx.Response:
    return call.post(f"/projects/{project}/files/presign", json=body(path, data, base))


def complete(call: Caller, project: str, path: str, data: bytes, base: bytes | None) -> httpx.Response:
    return call.post(f"/projects/{project}/files/complete", json=body(path, data, base))


def body(path: str, data: bytes, base: bytes | None) -> dict[str, Any]:
    return {"path": path, **facts(data), "base_sha256": facts(base)["sha256"] if base is not None else None}


def send(call: Caller, project: str, path: str, data: bytes, base: bytes | None) -> None:
    offered = presign(call, project, path, data, base)
    assert offered.status_code == 201, offered.text
    put(offered.json()["upload_url"], data)
    done = complete(call, project, path, data, base)
    assert done.status_code == 200, done.text


def unique() -> bytes:
    return f"robot=so101 {secrets.token_hex(20)}\n".encode()


def test_files_are_sent_listed_and_read(call: Caller, project: str) -> None:
    first, second = unique(), unique()
    send(call, project, "project.kv", first, None)
    send(call, project, "calibration/arm.json", unique(), None)
    answer = call.get(f"/projects/{project}/files").json()
    assert (answer["project"], answer["description"]) == (project, "made by a test")
    assert answer["max_file_bytes"] > 0
    assert [row["path"] for row in answer["files"]] == ["calibration/arm.json", "project.kv"]
    row = answer["files"][1]
    assert (row["sha256"], row["sizeBytes"]) == (facts(first)["sha256"], len(first))
    assert fetch(row["download_url"]) == first
    send(call, project, "project.kv", second, first)
    assert fetch(call.get(f"/projects/{project}/files").json()["files"][1]["download_url"]) == second


def test_what_is_there_already_is_unchanged(call: Caller, project: str) -> None:
    data = unique()
    send(call, project, "project.kv", data, None)
    for base in (None, data, b"whatever"):
        answer = presign(call, project, "project.kv", data, base)
        assert (answer.status_code, answer.json()) == (200, {"path": "project.kv", "unchanged": True})
        assert complete(call, project, "project.kv", data, base).status_code == 200


def test_a_change_of_someone_else_is_a_conflict(call: Caller, project: str) -> None:
    old, theirs, mine = unique(), unique(), unique()
    send(call, project, "project.kv", old, None)
    offered = presign(call, project, "project.kv", mine, old).json()
    put(offered["upload_url"], mine)
    send(call, project, "project.kv", theirs, old)
    for answer in (
        complete(call, project, "project.kv", mine, old),
        presign(call, project, "project.kv", mine, old),
        presign(call, project, "project.kv", mine, None),
    ):
        assert answer.status_code == 409
        assert answer.json()["current_sha256"] == facts(theirs)["sha256"] and answer.json()["error"]
    assert fetch(call.get(f"/projects/{project}/files").json()["files"][0]["download_url"]) == theirs
    assert complete(call, project, "project.kv", mine, theirs).status_code == 200


def test_a_base_where_nothing_is_conflicts_with_nothing(call: Caller, project: str) -> None:
    answer = presign(call, project, "project.kv", unique(), b"something")
    assert answer.status_code == 409 and answer.json()["current_sha256"] is None


def test_what_cannot_be_completed(call: Caller, project: str) -> None:
    data = unique()
    assert complete(call, project, "project.kv", data, None).status_code == 404
    offered = presign(call, project, "project.kv", data, None).json()
    assert complete(call, project, "project.kv", data, None).status_code == 422
    put(offered["upload_url"], data + b"x")
    assert complete(call, project, "project.kv", data, None).status_code == 422
    assert call.get(f"/projects/{project}/files").json()["files"] == []


def test_bounds(call: Caller, project: str) -> None:
    cap = call.get(f"/projects/{project}/files").json()["max_file_bytes"]
    over = {"path": "project.kv", "sha256": "0" * 64, "size_bytes": cap + 1, "base_sha256": None}
    assert call.post(f"/projects/{project}/files/presign", json=over).status_code == 413
    assert presign(call, project, "../project.kv", b"x", None).status_code == 400
    empty_base = {**body("project.kv", unique(), None), "base_sha256": ""}
    assert call.post(f"/projects/{project}/files/presign", json=empty_base).status_code == 201


def test_stored_contents_need_no_upload(call: Caller, project: str) -> None:
    data = unique()
    send(call, project, "project.kv", data, None)
    assert presign(call, project, "policies/a.kv", data, None).json() == {"path": "policies/a.kv", "unchanged": True}
    assert len(call.get(f"/projects/{project}/files").json()["files"]) == 2
