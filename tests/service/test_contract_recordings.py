"""Projects, recordings and their files as the protocol page says, by plain HTTP."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
import pytest

from tests.support.service_client import Caller, facts, fetch, put
from tests.support.service_fixture import RunningService

INFO = "meta/info.json"


def unique(size: int = 200) -> bytes:
    return secrets.token_bytes(size)


def test_projects_are_made_listed_and_described(call: Caller, name: str) -> None:
    assert call.put(f"/projects/{name}").status_code == 200
    assert call.put(f"/projects/{name}", json={"description": "towers"}).status_code == 200
    assert call.put(f"/projects/{name}", json={}).status_code == 200
    rows = {row["slug"]: row for row in call.get("/projects").json()}
    assert rows[name] == {"slug": name, "description": "towers", "runCount": 0, "datasetCount": 0}
    assert call.put(f"/projects/{name}/datasets/cubes", json={}).status_code == 200
    assert {row["slug"]: row for row in call.get("/projects").json()}[name]["datasetCount"] == 1
    assert call.put("/projects/.hidden", json={}).status_code == 400


def test_recordings_are_made_and_listed(call: Caller, recording: str, project: str) -> None:
    call.send_file(recording, "data/a.parquet", unique(100))
    call.offer(recording, "data/b.parquet", unique(50))
    (row,) = call.get(f"/projects/{project}/datasets").json()
    assert row.pop("updatedAt").endswith("Z")
    assert row == {
        "name": "cubes", "nEpisodes": 3, "nFrames": 300, "fps": 30.0, "fileCount": 2, "readyCount": 1, "sizeBytes": 100,
    }  # fmt: skip
    assert call.put(recording, json={"n_episodes": 4}).json()["nFrames"] == 300


def test_what_does_not_exist_is_404(call: Caller, project: str, name: str) -> None:
    for answer in (
        call.get(f"/projects/{name}x/datasets"),
        call.put(f"/projects/{name}x/datasets/cubes", json={"n_episodes": 1, "n_frames": 1, "fps": 1}),
        call.get(f"/projects/{project}/datasets/none/files"),
        call.offer(f"/projects/{project}/datasets/none", "a", b""),
        call.finish(f"/projects/{project}/datasets/none", "a", b""),
        call.delete(f"/projects/{project}/datasets/none"),
        call.get(f"/projects/{name}x/files"),
    ):
        assert answer.status_code == 404 and set(answer.json()) == {"error"}


def test_a_file_is_offered_put_and_completed(call: Caller, recording: str) -> None:
    data = unique()
    offered = call.offer(recording, "data/a.parquet", data)
    assert offered.status_code == 201 and set(offered.json()) == {"path", "upload_url", "expires_at"}
    pending = call.files(recording)["data/a.parquet"]
    assert pending["status"] == "pending"
    assert [pending[key] for key in ("sha256", "sizeBytes", "download_url", "expires_at")] == [None] * 4
    put(offered.json()["upload_url"], data)
    for _ in range(2):
        assert call.finish(recording, "data/a.parquet", data).status_code == 200
    answer = call.get(f"{recording}/files").json()
    assert answer["dataset"] == {"name": "cubes", "nEpisodes": 3, "nFrames": 300, "fps": 30.0}
    (row,) = answer["files"]
    assert (row["path"], row["status"]) == ("data/a.parquet", "ready")
    assert {"size_bytes": row["sizeBytes"], "sha256": row["sha256"]} == facts(data)
    assert fetch(row["download_url"]) == data
    again = call.offer(recording, "data/a.parquet", data)
    assert (again.status_code, again.json()) == (200, {"path": "data/a.parquet", "unchanged": True})


def test_completing_what_is_wrong(call: Caller, recording: str) -> None:
    data = unique()
    assert call.finish(recording, "data/a.parquet", data).status_code == 404
    offered = call.offer(recording, "data/a.parquet", data).json()
    assert call.finish(recording, "data/a.parquet", data).status_code == 422
    put(offered["upload_url"], data[:-1])
    assert call.finish(recording, "data/a.parquet", data).status_code == 422
    put(offered["upload_url"], data[::-1])
    assert call.finish(recording, "data/a.parquet", data).status_code == 422
    assert call.files(recording)["data/a.parquet"]["status"] == "pending"
    assert call.finish(recording, "data/a.parquet", unique()).status_code == 404


def test_the_old_file_is_served_until_the_new_one_is_complete(call: Caller, recording: str) -> None:
    old, new = unique(), unique(300)
    call.send_file(recording, "data/a.parquet", old)
    offered = call.offer(recording, "data/a.parquet", new).json()
    for _ in range(2):
        row = call.files(recording)["data/a.parquet"]
        assert row["status"] == "ready" and fetch(row["download_url"]) == old
        put(offered["upload_url"], new)
    assert call.finish(recording, "data/a.parquet", new).status_code == 200
    assert fetch(call.files(recording)["data/a.parquet"]["download_url"]) == new
    assert fetch(row["download_url"]) == old


def test_two_pushers_with_one_key_do_not_disturb_each_other(call: Caller, recording: str) -> None:
    data = unique()
    first = call.offer(recording, "data/a.parquet", data).json()
    call.offer(recording, "data/a.parquet", data)
    put(first["upload_url"], data)
    assert call.finish(recording, "data/a.parquet", data).status_code == 200


def test_another_key_cannot_complete_a_registration(catalog: RunningService, call: Caller, recording: str) -> None:
    data = unique()
    put(call.offer(recording, "data/a.parquet", data).json()["upload_url"], data)
    with Caller(catalog.url, catalog.new_key()) as other:
        assert other.finish(recording, "data/a.parquet", data).status_code == 404


def test_contents_stored_anywhere_are_unchanged_and_ready(call: Caller, recording: str, name: str) -> None:
    data = unique()
    call.push(name, data)
    answer = call.offer(recording, "data/copy.parquet", data)
    assert (answer.status_code, answer.json()) == (200, {"path": "data/copy.parquet", "unchanged": True})
    assert fetch(call.files(recording)["data/copy.parquet"]["download_url"]) == data
    assert call.finish(recording, "data/copy.parquet", data).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", ".hidden", "a/.b", "a b", "a\\b", "a\x00b", "é", "a/" * 8 + "a",
     "a" * 513, "a\n"],
)  # fmt: skip
def test_bad_paths_are_refused(call: Caller, recording: str, path: str) -> None:
    body = {"path": path, **facts(b"x")}
    single = call.post(f"{recording}/files", json=body)
    assert single.status_code in {400, 422} and set(single.json()) == {"error"}
    assert call.post(f"{recording}/files/complete", json=body).status_code in {404, 422}
    assert call.files(recording) == {}


def test_a_file_over_the_limit_of_one_put_is_refused(call: Caller, recording: str) -> None:
    body = {"path": "big", "sha256": "0" * 64, "size_bytes": 5 * 1024**3 + 1}
    assert call.post(f"{recording}/files", json=body).status_code == 413
    offered = call.post(f"{recording}/files", json=body | {"in_parts": True})
    assert offered.status_code == 201
    assert offered.json().keys() == {"path", "upload_url", "expires_at", "bucket", "object_key"}
    assert offered.json()["object_key"] in offered.json()["upload_url"]


def test_removing_a_recording(call: Caller, recording: str) -> None:
    data = unique()
    call.send_file(recording, INFO, data)
    assert call.delete(recording).status_code == 204
    assert call.get(f"{recording}/files").status_code == 404
    assert call.put(recording, json={}).status_code == 200
    assert call.files(recording) == {}


# -- batch


def offer_batch(call: Caller, recording: str, files: dict[str, bytes]) -> list[dict[str, Any]]:
    body = {"files": [{"path": path, **facts(data)} for path, data in files.items()]}
    answer = call.post(f"{recording}/files/batch", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["files"]


def finish_batch(call: Caller, recording: str, files: dict[str, bytes]) -> list[dict[str, Any]]:
    body = {"files": [{"path": path, **facts(data)} for path, data in files.items()]}
    answer = call.post(f"{recording}/files/complete-batch", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["files"]


def test_a_batch_has_one_answer_a_file(call: Caller, recording: str) -> None:
    twin = unique()
    files = {"data/a": unique(), "data/b": unique(), "data/c": twin, "data/d": twin, "../bad": unique()}
    call.send_file(recording, "data/a", files["data/a"])
    answers = {one["path"]: one for one in offer_batch(call, recording, files)}
    assert list(answers) == list(files)
    assert answers["data/a"] == {"path": "data/a", "unchanged": True}
    assert set(answers["../bad"]) == {"path", "error"}
    for path in ("data/b", "data/c", "data/d"):
        assert set(answers[path]) == {"path", "upload_url", "expires_at"}
        if path != "data/b":
            put(answers[path]["upload_url"], files[path])
    done = {one["path"]: one for one in finish_batch(call, recording, files)}
    for path in ("data/a", "data/c", "data/d"):
        assert done[path] == {"path": path, "status": "ready"}
    assert set(done["data/b"]) == set(done["../bad"]) == {"path", "error"}
    listed = call.files(recording)
    assert {path: row["status"] for path, row in listed.items()} == {
        "data/a": "ready", "data/b": "pending", "data/c": "ready", "data/d": "ready",
    }  # fmt: skip
    # Equal contents of one batch are one object.
    assert listed["data/c"]["download_url"].split("?")[0] == listed["data/d"]["download_url"].split("?")[0]
    assert fetch(listed["data/d"]["download_url"]) == twin
    assert finish_batch(call, recording, {"data/d": twin}) == [{"path": "data/d", "status": "ready"}]


def test_a_batch_has_at_most_a_thousand_files(call: Caller, recording: str) -> None:
    files = [{"path": f"data/{index}", "sha256": f"{index:064x}", "size_bytes": 1} for index in range(1001)]
    assert call.post(f"{recording}/files/batch", json={"files": files}).status_code == 422
    answer = call.post(f"{recording}/files/batch", json={"files": files[:1000]})
    assert answer.status_code == 200 and len({one["upload_url"] for one in answer.json()["files"]}) == 1000


# -- revisions


def commit(call: Caller, recording: str, files: dict[str, bytes], **counts: int) -> httpx.Response:
    named = {path: facts(data)["sha256"] for path, data in files.items()}
    return call.post(f"{recording}/revisions", json={"files": named, **counts})


def test_readers_get_the_committed_revision(call: Caller, recording: str) -> None:
    first = {"data/a": unique(), "data/b": unique()}
    for path, data in first.items():
        call.send_file(recording, path, data)
    assert set(call.files(recording)) == {"data/a", "data/b"}
    made = commit(call, recording, first, n_episodes=3, n_frames=300)
    assert made.status_code == 201 and made.json()["revision"] == 1 and made.json()["createdAt"].endswith("Z")
    again = commit(call, recording, first, n_episodes=3, n_frames=300)
    assert (again.status_code, again.json()) == (200, made.json())

    second = {"data/a": unique(), "data/c": unique()}
    for path, data in second.items():
        call.send_file(recording, path, data)
    call.put(recording, json={"n_episodes": 4, "n_frames": 400})
    seen = call.get(f"{recording}/files").json()
    assert (seen["dataset"]["nEpisodes"], [row["path"] for row in seen["files"]]) == (3, ["data/a", "data/b"])
    assert fetch(seen["files"][0]["download_url"]) == first["data/a"]
    working = call.get(f"{recording}/files", params={"revision": "working"}).json()
    assert (working["dataset"]["nEpisodes"], len(working["files"])) == (4, 3)

    assert commit(call, recording, second, n_episodes=4, n_frames=400).json()["revision"] == 2
    assert set(call.files(recording)) == {"data/a", "data/c"}
    assert fetch(call.files(recording, revision=1)["data/a"]["download_url"]) == first["data/a"]
    assert call.get(f"{recording}/files", params={"revision": 9}).status_code == 404
    assert call.get(f"{recording}/files", params={"revision": "x"}).status_code == 422
    listed = call.get(f"{recording}/revisions").json()
    assert [(row["revision"], row["nEpisodes"], row["fileCount"]) for row in listed] == [(2, 4, 2), (1, 3, 2)]


def test_a_revision_of_missing_files_is_refused_and_names_them(call: Caller, recording: str) -> None:
    here = unique()
    call.send_file(recording, "data/a", here)
    answer = commit(call, recording, {"data/a": here, "data/b": unique(), "data/c": unique()})
    assert answer.status_code == 409 and answer.json()["missing"] == ["data/b", "data/c"]
    call.offer(recording, "data/b", b"registered only")
    assert commit(call, recording, {"data/b": b"registered only"}).json()["missing"] == ["data/b"]
    assert commit(call, recording, {"../a": here}).status_code == 400
    assert commit(call, recording, {}).status_code == 422


def test_a_revision_cannot_hold_a_file_and_files_below_it(call: Caller, recording: str) -> None:
    for path in ("data/x", "data/x/y", "data/x-y"):
        call.send_file(recording, path, path.encode())
    both = commit(call, recording, {path: path.encode() for path in ("data/x", "data/x/y")})
    assert both.status_code == 422 and "data/x is a file" in both.json()["error"]
    assert commit(call, recording, {path: path.encode() for path in ("data/x", "data/x-y")}).status_code == 201


def test_readers_get_the_folder_that_replaced_a_file(call: Caller, recording: str) -> None:
    call.send_file(recording, "data/x", b"a file")
    call.send_file(recording, "data/x/y", b"in a folder")
    call.send_file(recording, "meta/info.json", b"{}")
    assert set(call.files(recording)) == {"data/x/y", "meta/info.json"}
    call.send_file(recording, "data/x", b"a file again")
    call.send_file(recording, "meta/info.json", b"{ }")
    assert set(call.files(recording)) == {"data/x", "meta/info.json"}


def test_restoring_a_revision(call: Caller, recording: str) -> None:
    old, new = {"data/a": unique()}, {"data/a": unique(), "data/b": unique()}
    for number, files in enumerate((old, new), 1):
        for path, data in files.items():
            call.send_file(recording, path, data)
        assert commit(call, recording, files, n_episodes=number, n_frames=1).json()["revision"] == number
    made = call.post(f"{recording}/revisions/1/restore")
    assert (made.status_code, made.json()["revision"]) == (201, 3)
    again = call.post(f"{recording}/revisions/1/restore")
    assert (again.status_code, again.json()["revision"]) == (200, 3)
    for query in ({}, {"revision": "working"}):
        files = call.files(recording, **query)
        assert set(files) == {"data/a"} and fetch(files["data/a"]["download_url"]) == old["data/a"]
    assert call.post(f"{recording}/revisions/7/restore").status_code == 404
    assert set(call.files(recording, revision=2)) == {"data/a", "data/b"}


def test_removing_a_revision(call: Caller, recording: str) -> None:
    for data in (unique(), unique()):
        call.send_file(recording, "data/a", data)
        commit(call, recording, {"data/a": data})
    assert call.delete(f"{recording}/revisions/2").status_code == 409
    assert call.delete(f"{recording}/revisions/1").status_code == 204
    assert call.delete(f"{recording}/revisions/1").status_code == 404


def test_revisions_and_files_have_pages(call: Caller, recording: str) -> None:
    for index in range(3):
        call.send_file(recording, f"data/{index}", data := unique())
        commit(call, recording, {f"data/{index}": data})
    page = call.get(f"{recording}/revisions", params={"limit": 2})
    assert ([row["revision"] for row in page.json()], page.headers["X-Next-After"]) == ([3, 2], "2")
    page = call.get(f"{recording}/revisions", params={"limit": 2, "after": 2})
    assert [row["revision"] for row in page.json()] == [1] and "X-Next-After" not in page.headers
    query = {"revision": "working", "limit": 2}
    page = call.get(f"{recording}/files", params=query)
    assert [row["path"] for row in page.json()["files"]] == ["data/0", "data/1"]
    page = call.get(f"{recording}/files", params={**query, "after": page.headers["X-Next-After"]})
    assert [row["path"] for row in page.json()["files"]] == ["data/2"]


def test_completing_info_commits_for_clients_without_revisions(call: Caller, recording: str) -> None:
    call.send_file(recording, "data/a", unique())
    assert call.get(f"{recording}/revisions").json() == []
    call.send_file(recording, INFO, unique())
    assert [row["revision"] for row in call.get(f"{recording}/revisions").json()] == [1]
    # In the middle of the next push readers still get the former state.
    call.send_file(recording, "data/b", unique())
    assert set(call.files(recording)) == {"data/a", INFO}
    call.send_file(recording, INFO, unique())
    assert set(call.files(recording)) == {"data/a", "data/b", INFO}
    assert [row["revision"] for row in call.get(f"{recording}/revisions").json()] == [2, 1]


def test_info_offered_unchanged_commits_too(call: Caller, recording: str) -> None:
    info = unique()
    call.send_file(recording, "data/a", unique())
    call.send_file(recording, INFO, info)
    call.send_file(recording, "data/b", unique())
    assert call.offer(recording, INFO, info).json() == {"path": INFO, "unchanged": True}
    assert set(call.files(recording)) == {"data/a", "data/b", INFO}
    assert call.offer(recording, INFO, info).status_code == 200
    assert [row["revision"] for row in call.get(f"{recording}/revisions").json()] == [2, 1]


def test_a_commit_of_the_clients_own_holds_for_an_hour(call: Caller, recording: str) -> None:
    data, info = unique(), unique()
    call.send_file(recording, "data/a", data)
    call.send_file(recording, INFO, info)
    # The service committed this already; the client's own commit says that it knows revisions.
    assert commit(call, recording, {"data/a": data, INFO: info}, n_episodes=3, n_frames=300).status_code == 200
    call.send_file(recording, INFO, unique())
    assert [row["revision"] for row in call.get(f"{recording}/revisions").json()] == [1]
    assert fetch(call.files(recording)[INFO]["download_url"]) == info
