"""Catalog datasets as the protocol page says, by plain HTTP."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.service_client import Caller, anyone, facts, fetch, put
from tests.support.service_fixture import RunningService
from tests.support.service_process import until

DATA = b"walker " * 1000


def test_a_push_and_a_pull(call: Caller, name: str) -> None:
    recipe = {"env_id": "Walker-v4", "n_rows": 1000, "n_episodes": 5, "seed": 7, "source_commit": "081b53c0"}
    registered = call.register(name, **recipe, columns="obs,act", filename="walker.h5")
    assert set(registered) == {"id", "object_key", "bucket", "upload_url", "expires_at"}
    assert registered["id"] == f"{name}-v1"
    put(registered["upload_url"], DATA)
    done = call.complete(registered["id"], DATA)
    assert (done.status_code, done.json()) == (200, {"id": f"{name}-v1", "status": "ready"})

    row = call.get(f"/datasets/{name}-v1").json()
    assert fetch(row["download_url"]) == DATA
    assert {key: row[key] for key in ("id", "name", "version", "status", "sizeBytes", "sha256")} == {
        "id": f"{name}-v1",
        "name": name,
        "version": "v1",
        "status": "ready",
        "sizeBytes": len(DATA),
        "sha256": facts(DATA)["sha256"],
    }
    told = {key: row[key] for key in ("envId", "nRows", "nEpisodes", "seed", "sourceCommit", "columns", "filename")}
    assert list(told.values()) == ["Walker-v4", 1000, 5, 7, "081b53c0", "obs,act", "walker.h5"]
    for moment in ("createdAt", "updatedAt", "expires_at"):
        assert datetime.fromisoformat(row[moment]).tzinfo is not None and row[moment].endswith("Z")
    listed = {one["id"]: one for one in call.get("/datasets").json()}[f"{name}-v1"]
    assert listed == {key: value for key, value in row.items() if key not in {"download_url", "expires_at"}}


def test_urls_expire_within_seven_days(call: Caller, name: str) -> None:
    registered = call.push(name, DATA)
    for text in (registered["expires_at"], call.get(f"/datasets/{name}-v1").json()["expires_at"]):
        left = datetime.fromisoformat(text) - datetime.now(UTC)
        assert timedelta(minutes=10) < left <= timedelta(days=7)


def test_a_download_answers_ranges_and_the_upload_url_does_not_read(call: Caller, name: str) -> None:
    registered = call.push(name, DATA)
    url = call.get(f"/datasets/{name}-v1").json()["download_url"]
    part = anyone().get(url, headers={"Range": "bytes=7-13"})
    assert (part.status_code, part.content) == (206, DATA[7:14])
    assert part.headers["content-range"] == f"bytes 7-13/{len(DATA)}"
    assert anyone().get(registered["upload_url"]).status_code == 403
    assert anyone().put(url, content=b"other").status_code == 403


@pytest.mark.parametrize(("filename", "suffix"), [("a.tar.zst", ".tar.zst"), ("a.h5", ".h5"), ("a", ""), (None, "")])
def test_the_object_key_is_random_and_keeps_the_suffix(
    call: Caller, name: str, filename: str | None, suffix: str
) -> None:
    keys = [call.register(name, filename=filename)["object_key"] for _ in range(2)]
    assert keys[0] != keys[1]
    assert all(key.endswith(suffix) and len(key) == 40 + len(suffix) and name not in key for key in keys)


def test_a_pending_row_is_listed_and_explained(call: Caller, name: str) -> None:
    call.register(name, seed=3)
    row = {one["id"]: one for one in call.get("/datasets").json()}[f"{name}-v1"]
    assert (row["status"], row["sizeBytes"], row["sha256"], row["seed"]) == ("pending", None, None, 3)
    answer = call.get(f"/datasets/{name}-v1")
    assert answer.status_code == 409
    assert "its upload never completed" in answer.json()["error"]


def test_complete_is_safe_to_repeat(call: Caller, name: str) -> None:
    registered = call.push(name, DATA)
    for more in ({}, {"object_key": registered["object_key"]}):
        assert call.complete(registered["id"], DATA, **more).status_code == 200


def test_registering_is_safe_to_repeat(call: Caller, name: str) -> None:
    call.register(name)
    registered = call.register(name)
    put(registered["upload_url"], DATA)
    assert call.complete(registered["id"], DATA).status_code == 200
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == DATA


def test_nothing_uploaded_is_422_and_the_row_stays_pending(call: Caller, name: str) -> None:
    call.register(name)
    answer = call.complete(f"{name}-v1", DATA)
    assert answer.status_code == 422 and "Nothing was uploaded" in answer.json()["error"]
    assert call.get(f"/datasets/{name}-v1").status_code == 409


@pytest.mark.parametrize("stored", [DATA[:-1], DATA + b"x", b""])
def test_another_size_is_422(call: Caller, name: str, stored: bytes) -> None:
    registered = call.register(name)
    put(registered["upload_url"], stored)
    answer = call.complete(f"{name}-v1", DATA)
    assert answer.status_code == 422 and f"{len(stored)} bytes" in answer.json()["error"]
    assert call.get(f"/datasets/{name}-v1").status_code == 409


def test_other_bytes_of_the_same_size_are_422(call: Caller, name: str) -> None:
    registered = call.register(name)
    put(registered["upload_url"], DATA[::-1])
    answer = call.complete(f"{name}-v1", DATA)
    assert answer.status_code == 422 and "sha256" in answer.json()["error"]
    assert call.get(f"/datasets/{name}-v1").status_code == 409


def test_old_bytes_and_facts_stay_until_the_new_ones_are_complete(call: Caller, name: str) -> None:
    call.push(name, DATA, seed=1)
    fresh = call.register(name, seed=2)
    put(fresh["upload_url"], b"new")
    row = call.get(f"/datasets/{name}-v1").json()
    assert (row["status"], row["seed"], row["sha256"]) == ("ready", 1, facts(DATA)["sha256"])
    old_url = row["download_url"]
    assert fetch(old_url) == DATA
    assert call.complete(f"{name}-v1", b"new").status_code == 200
    row = call.get(f"/datasets/{name}-v1").json()
    assert (row["seed"], row["sizeBytes"], fetch(row["download_url"])) == (2, 3, b"new")
    # A reader that began before goes on with what it began.
    assert fetch(old_url) == DATA


def test_one_pusher_cannot_publish_over_anothers_bytes(catalog: RunningService, call: Caller, name: str) -> None:
    with Caller(catalog.url, catalog.new_key("write")) as other:
        mine, theirs = call.register(name), other.register(name)
        put(mine["upload_url"], b"mine")
        put(theirs["upload_url"], b"them")
        assert call.complete(f"{name}-v1", b"mine").status_code == 200
        assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == b"mine"
        assert other.complete(f"{name}-v1", b"them").status_code == 200
        assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == b"them"


def test_an_upload_is_named_by_its_object_key(call: Caller, name: str) -> None:
    first, second = call.register(name), call.register(name)
    put(first["upload_url"], b"first")
    assert call.complete(f"{name}-v1", b"first").status_code == 422
    assert call.complete(f"{name}-v1", b"first", object_key=first["object_key"]).status_code == 200
    assert call.complete(f"{name}-v1", b"first", object_key="nothing").status_code == 404
    put(second["upload_url"], b"second")
    assert call.complete(f"{name}-v1", b"second").status_code == 200


def test_an_object_key_of_another_dataset_is_404(call: Caller, name: str) -> None:
    foreign = call.push(f"{name}x", DATA)
    call.register(name)
    assert call.complete(f"{name}-v1", DATA, object_key=foreign["object_key"]).status_code == 404


def test_completing_an_upload_again_with_other_facts_is_422(call: Caller, name: str) -> None:
    call.push(name, DATA)
    assert call.complete(f"{name}-v1", b"other").status_code == 422
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == DATA


def test_an_id_of_another_name_and_version_is_409(call: Caller, name: str) -> None:
    call.register(f"{name}-a", "b-c")
    answer = call.post("/datasets", json={"name": f"{name}-a-b", "version": "c"})
    assert answer.status_code == 409 and "belongs to" in answer.json()["error"]


def test_equal_contents_are_stored_once(catalog: RunningService, call: Caller, name: str) -> None:
    data = secrets.token_bytes(5000)
    call.push(name, data, filename="a.bin")
    call.push(f"{name}x", data, filename="b.bin")

    def stored() -> list[str]:
        return [Path(key).suffix for key, held in catalog.stored().items() if held == data]

    until(lambda: stored() == [".bin"], "the spare ones are removed")
    assert fetch(call.get(f"/datasets/{name}x-v1").json()["download_url"]) == data


def test_contents_whose_object_was_lost_are_stored_again(catalog: RunningService, call: Caller, name: str) -> None:
    data = secrets.token_bytes(5000)
    call.push(name, data)
    path = urlsplit(call.get(f"/datasets/{name}-v1").json()["download_url"]).path
    catalog.store.delete(path.rpartition("/")[2])
    call.push(f"{name}x", data)
    for dataset_id in (f"{name}-v1", f"{name}x-v1"):
        assert fetch(call.get(f"/datasets/{dataset_id}").json()["download_url"]) == data


def test_an_upload_url_cannot_change_what_is_published(call: Caller, name: str) -> None:
    data = DATA + name.encode()
    registered = call.push(name, data)
    url = call.get(f"/datasets/{name}-v1").json()["download_url"]

    def spoiled() -> bool:
        # One gateway answers 404 to a PUT that meets the removal of the spare upload.
        return anyone().put(registered["upload_url"], content=b"something else").status_code == 200

    until(spoiled, "the upload URL takes other bytes")
    assert call.complete(f"{name}-v1", data).status_code == 200
    for again in (url, call.get(f"/datasets/{name}-v1").json()["download_url"]):
        assert fetch(again) == data


def test_an_empty_dataset_round_trips(call: Caller, name: str) -> None:
    call.push(name, b"")
    row = call.get(f"/datasets/{name}-v1").json()
    assert (row["sizeBytes"], fetch(row["download_url"])) == (0, b"")


def test_removing(call: Caller, name: str) -> None:
    call.push(name, DATA)
    answer = call.delete(f"/datasets/{name}-v1")
    assert (answer.status_code, answer.content) == (204, b"")
    for again in (call.delete(f"/datasets/{name}-v1"), call.get(f"/datasets/{name}-v1")):
        assert again.status_code == 404 and again.json() == {"error": f"There is no dataset {name}-v1"}
    call.push(name, DATA)
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == DATA


@pytest.mark.parametrize("bad", ["", "..", "a/b", "a b", "-a", ".a", "é", "a\\b", "a" * 201, "a\n"])
@pytest.mark.parametrize("field", ["name", "version"])
def test_names_that_are_no_segment_are_refused(call: Caller, field: str, bad: str) -> None:
    answer = call.post("/datasets", json={"name": "a", "version": "v1", field: bad})
    assert answer.status_code == 400 and answer.json()["error"].startswith(field)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"version": "v1"}, "name"),
        ({"name": "a", "version": "v1", "n_rows": -1}, "n_rows"),
        ({"name": "a", "version": "v1", "n_rows": "many"}, "n_rows"),
        ({"name": "a", "version": "v1", "seed": 2**70}, "seed"),
        ({"name": "a", "version": "v1", "env_id": "a\x00b"}, "env_id"),
        ([], ""),
    ],
)
def test_bodies_of_the_wrong_shape_are_422_and_say_where(call: Caller, body: object, place: str) -> None:
    answer = call.post("/datasets", json=body)
    assert answer.status_code == 422 and answer.json()["error"].startswith(place)


@pytest.mark.parametrize("sha256", ["", "abc", "g" * 64, "a" * 63])
def test_complete_needs_a_digest(call: Caller, name: str, sha256: str) -> None:
    call.register(name)
    answer = call.post(f"/datasets/{name}-v1/complete", json={"size_bytes": 1, "sha256": sha256})
    assert answer.status_code == 422


def test_an_upper_case_digest_is_the_same_digest(call: Caller, name: str) -> None:
    put(call.register(name)["upload_url"], DATA)
    body = {"size_bytes": len(DATA), "sha256": facts(DATA)["sha256"].upper()}
    assert call.post(f"/datasets/{name}-v1/complete", json=body).status_code == 200
    assert call.get(f"/datasets/{name}-v1").json()["sha256"] == facts(DATA)["sha256"]


def test_unknown_and_null_fields_are_taken_as_absent(call: Caller, name: str) -> None:
    registered = call.register(name, env_id=None, columns=["a", "b"], colour="blue")
    assert registered["id"] == f"{name}-v1"
    row = {one["id"]: one for one in call.get("/datasets").json()}[f"{name}-v1"]
    assert (row["envId"], row["columns"]) == (None, "a,b")


def test_complete_of_an_unknown_dataset_is_404(call: Caller, name: str) -> None:
    assert call.complete(f"{name}-v1", DATA).status_code == 404


def test_pages(call: Caller, name: str) -> None:
    names = [f"zz{name}-{index}" for index in range(5)]
    for one in names:
        call.register(one)
    wanted = [f"{one}-v1" for one in names]
    query = {"limit": 2, "after": f"zz{name}"}
    seen: list[str] = []
    while True:
        answer = call.get("/datasets", params=query)
        seen += [row["id"] for row in answer.json() if row["id"] in wanted]
        if "X-Next-After" not in answer.headers:
            break
        assert len(answer.json()) == 2
        query["after"] = answer.headers["X-Next-After"]
    assert seen == wanted
    everything = call.get("/datasets")
    assert "X-Next-After" not in everything.headers
    assert set(wanted) <= {row["id"] for row in everything.json()}
    assert call.get("/datasets", params={"limit": 0}).status_code == 422
