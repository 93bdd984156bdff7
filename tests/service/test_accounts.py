"""Accounts see nothing of each other, and the audit log says who did what."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from noeira_tui.core.errors import ConfigError
from noeira_tui.service.accounts import AccountStore
from tests.support.service_client import Caller, facts, fetch, put
from tests.support.service_fixture import RunningService


@pytest.fixture
def accounts(catalog: RunningService) -> Iterator[AccountStore]:
    store = AccountStore(catalog.config.resolved_database_url)
    yield store
    store.close()


@pytest.fixture
def other(catalog: RunningService, accounts: AccountStore, name: str) -> Iterator[Caller]:
    """An admin of another account."""
    accounts.create(name)
    with Caller(catalog.url, catalog.keys.create("other", "admin", account=name)[1]) as caller:
        yield caller


def test_nothing_of_one_account_is_visible_to_another(call: Caller, other: Caller, name: str) -> None:
    data = secrets.token_bytes(300)
    recording = f"/projects/{name}/datasets/cubes"
    registered = call.push(name, data)
    call.put(f"/projects/{name}", json={"description": "secret"})
    call.put(recording, json={"n_episodes": 1})
    call.send_file(recording, "data/a", data)
    call.send_file(recording, "meta/info.json", data)
    definition = {"path": "project.kv", **facts(data), "base_sha256": None}
    call.post(f"/projects/{name}/files/presign", json=definition)

    assert other.get("/datasets").json() == [] and other.get("/projects").json() == []
    for path in (
        f"/datasets/{name}-v1",
        f"/projects/{name}/datasets",
        f"/projects/{name}/files",
        f"{recording}/files",
        f"{recording}/files?revision=1",
        f"{recording}/revisions",
    ):
        assert call.get(path).status_code == 200, path
        assert other.get(path).status_code == 404, path
    for method, path, body in (
        ("DELETE", f"/datasets/{name}-v1", None),
        ("DELETE", recording, None),
        ("DELETE", f"{recording}/revisions/1", None),
        ("PUT", recording, {}),
        ("POST", f"{recording}/revisions", {"files": {"a": "0" * 64}}),
        ("POST", f"{recording}/revisions/1/restore", None),
        ("POST", f"{recording}/files", {"path": "a", **facts(data)}),
        ("POST", f"/datasets/{name}-v1/complete", {**facts(data), "object_key": registered["object_key"]}),
        ("POST", f"/projects/{name}/files/presign", definition),
    ):
        assert other.request(method, path, json=body).status_code == 404, (method, path)
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == data
    assert all(name not in str(event) for event in other.get("/audit").json() if event["subject"] != f"accounts/{name}")


def test_equal_names_and_contents_live_beside_each_other(call: Caller, other: Caller, name: str) -> None:
    """Neither the name nor the digest tells that somebody else has it."""
    data = secrets.token_bytes(300)
    call.push(name, data)
    call.put("/projects/shared")
    call.put("/projects/shared/datasets/d", json={})
    call.send_file("/projects/shared/datasets/d", "a", data)
    other.put("/projects/shared")
    other.put("/projects/shared/datasets/d", json={})
    offered = other.offer("/projects/shared/datasets/d", "a", data)
    assert offered.status_code == 201
    put(offered.json()["upload_url"], data[::-1])
    assert other.finish("/projects/shared/datasets/d", "a", data).status_code == 422
    theirs = secrets.token_bytes(100)
    other.push(name, theirs)
    assert fetch(other.get(f"/datasets/{name}-v1").json()["download_url"]) == theirs
    assert fetch(call.get(f"/datasets/{name}-v1").json()["download_url"]) == data
    assert other.delete(f"/datasets/{name}-v1").status_code == 204
    assert call.get(f"/datasets/{name}-v1").status_code == 200


def test_accounts_are_made_and_listed(
    catalog: RunningService, accounts: AccountStore, other: Caller, name: str
) -> None:
    other.push("walker", b"1234")
    other.push("walker", b"1234", version="v2")
    found = {one.name: one for one in accounts.list()}
    assert "default" in found
    assert (found[name].keys, found[name].datasets, found[name].projects, found[name].size_bytes) == (1, 2, 0, 4)
    for wrong in (name, "", "a b", "../x", "x" * 101):
        with pytest.raises(ConfigError):
            accounts.create(wrong)
    with pytest.raises(ConfigError, match="no account 'nobody'"):
        catalog.keys.create("x", account="nobody")
    assert [key.account for key in catalog.keys.list(name)] == [name]
    assert len(catalog.keys.list()) > 1


def test_the_audit_log_says_who_did_what(catalog: RunningService, call: Caller, other: Caller, name: str) -> None:
    key_id = catalog.keys.list(name)[0].id
    recording = "/projects/p/datasets/d"
    other.push("walker", b"1234")
    other.put("/projects/p")
    other.put(recording, json={})
    other.send_file(recording, "a", b"12345")
    body = {"files": [{"path": f"b/{number}", **facts(b"x" * number)} for number in range(1, 4)]}
    for row in other.post(f"{recording}/files/batch", json=body).json()["files"]:
        put(row["upload_url"], b"x" * int(row["path"][-1]))
    other.post(f"{recording}/files/complete-batch", json=body)
    other.post(f"{recording}/revisions", json={"files": {"a": facts(b"12345")["sha256"]}})
    other.delete("/datasets/walker-v1")
    other.delete(recording)
    events = other.get("/audit").json()
    assert [(event["action"], event["subject"], event["paths"], event["sizeBytes"]) for event in reversed(events)] == [
        ("account created", f"accounts/{name}", [], None),
        ("key created", f"keys/{key_id}", [], None),
        ("registered", "datasets/walker-v1", [], None),
        ("completed", "datasets/walker-v1", [], 4),
        ("registered", "projects/p", [], None),
        ("registered", "projects/p/datasets/d", [], None),
        ("registered", "projects/p/datasets/d", ["a"], None),
        ("completed", "projects/p/datasets/d", ["a"], 5),
        ("registered", "projects/p/datasets/d", ["b/1", "b/2", "b/3"], None),
        ("completed", "projects/p/datasets/d", ["b/1", "b/2", "b/3"], 6),
        ("committed", "projects/p/datasets/d/revisions/1", [], None),
        ("deleted", "datasets/walker-v1", [], None),
        ("deleted", "projects/p/datasets/d", [], None),
    ]
    assert {event["keyId"] for event in events} == {key_id, None}
    page = other.get("/audit", params={"limit": 5})
    rest = other.get("/audit", params={"limit": 100, "after": page.headers["X-Next-After"]})
    assert page.json() + rest.json() == events and "X-Next-After" not in rest.headers
    assert other.get("/audit", params={"after": "x"}).status_code == 422
    with Caller(catalog.url, catalog.new_key("write")) as writer:
        assert writer.get("/audit").status_code == 403
    with Caller(catalog.url, catalog.new_key("admin", project="p")) as limited:
        assert limited.get("/audit").status_code == 403


def test_a_request_that_is_refused_leaves_no_event(other: Caller) -> None:
    before = other.get("/audit").json()
    assert other.delete("/datasets/nothing-v1").status_code == 404
    assert other.post("/datasets", json={"name": "no/segment", "version": "v1"}).status_code == 400
    assert other.get("/audit").json() == before
