"""Who may do what, and the shape of every refusal."""

from __future__ import annotations

import secrets

import httpx
import pytest

from tests.support.service_client import Caller, facts, put
from tests.support.service_fixture import RunningService
from tests.support.service_process import until

ROUTES = [
    ("GET", "/audit"),
    ("GET", "/datasets"),
    ("GET", "/datasets/a-v1"),
    ("POST", "/datasets"),
    ("POST", "/datasets/a-v1/complete"),
    ("DELETE", "/datasets/a-v1"),
    ("GET", "/projects"),
    ("PUT", "/projects/a"),
    ("GET", "/projects/a/datasets"),
    ("PUT", "/projects/a/datasets/b"),
    ("DELETE", "/projects/a/datasets/b"),
    ("GET", "/projects/a/datasets/b/files"),
    ("POST", "/projects/a/datasets/b/files"),
    ("POST", "/projects/a/datasets/b/files/complete"),
    ("POST", "/projects/a/datasets/b/files/batch"),
    ("POST", "/projects/a/datasets/b/files/complete-batch"),
    ("GET", "/projects/a/datasets/b/revisions"),
    ("POST", "/projects/a/datasets/b/revisions"),
    ("POST", "/projects/a/datasets/b/revisions/1/restore"),
    ("DELETE", "/projects/a/datasets/b/revisions/1"),
    ("GET", "/projects/a/files"),
    ("POST", "/projects/a/files/presign"),
    ("POST", "/projects/a/files/complete"),
]


def test_the_service_says_what_it_is_to_anyone(nobody: httpx.Client) -> None:
    answer = nobody.get("/").json()
    assert answer["service"] == "noeira-tui" and answer["version"]
    assert answer["extensions"] == ["revisions", "batch", "pages", "filename", "multipart-key"]


def test_every_route_is_in_this_suite(catalog: RunningService) -> None:
    schema = httpx.get(f"{catalog.url}/openapi.json").json()
    served = {(method.upper(), path) for path, methods in schema["paths"].items() for method in methods}
    for method, path in ROUTES:
        parts = path.split("/")
        matching = [
            one
            for one in served
            if one[0] == method
            and len(one[1].split("/")) == len(parts)
            and all(
                mine == theirs or theirs.startswith("{") for mine, theirs in zip(parts, one[1].split("/"), strict=True)
            )
        ]
        assert matching, (method, path)
        served.discard(min(matching, key=lambda one: one[1].count("{")))
    assert served == {("GET", path) for path in ("/", "/healthz", "/readyz", "/metrics")}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_the_key_is_looked_at_first(catalog: RunningService, nobody: httpx.Client, method: str, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Basic abc"}):
        answer = nobody.request(method, path, headers=headers, content=b"{not json")
        assert (answer.status_code, answer.json()) == (401, {"error": "Missing API key"})
    identity = catalog.key.split("_")[1]
    revoked = catalog.new_key("admin")
    catalog.keys.revoke(revoked.split("_")[1])
    for key in ("x", "nk_", f"nk_{identity}_wrong", f"nk_{identity}_", catalog.key + "x", revoked):
        answer = nobody.request(method, path, headers={"Authorization": f"Bearer {key}"}, content=b"{not json")
        assert (answer.status_code, answer.json()) == (401, {"error": "Invalid API key"})


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route[0] != "GET"])
def test_a_read_key_cannot_write(catalog: RunningService, method: str, path: str) -> None:
    with Caller(catalog.url, catalog.new_key("read")) as reader:
        answer = reader.request(method, path, content=b"{not json")
        assert (answer.status_code, answer.json()) == (403, {"error": "This API key may only read"})


def test_a_read_key_reads(catalog: RunningService, call: Caller, name: str) -> None:
    call.push(name, b"data")
    with Caller(catalog.url, catalog.new_key("read")) as reader:
        assert reader.get(f"/datasets/{name}-v1").json()["status"] == "ready"
        assert reader.get("/projects").status_code == 200


def test_a_key_limited_to_a_project_sees_only_that_one(catalog: RunningService, call: Caller, name: str) -> None:
    for slug in (name, f"{name}x"):
        call.put(f"/projects/{slug}")
        call.put(f"/projects/{slug}/datasets/cubes", json={})
    call.push(name, b"data")
    with Caller(catalog.url, catalog.new_key("admin", project=name)) as limited:
        assert [row["slug"] for row in limited.get("/projects").json()] == [name]
        assert limited.get(f"/projects/{name}/datasets").status_code == 200
        assert limited.put(f"/projects/{name}", json={"description": "mine"}).status_code == 200
        for answer in (
            limited.get(f"/projects/{name}x/datasets"),
            limited.get(f"/projects/{name}x/files"),
            limited.get(f"/projects/{name}x/datasets/cubes/files"),
            limited.put(f"/projects/{name}x/datasets/cubes", json={}),
            limited.delete(f"/projects/{name}x/datasets/cubes"),
            limited.get(f"/datasets/{name}-v1"),
        ):
            assert answer.status_code == 404
        assert limited.get("/datasets").json() == []
        for answer in (
            limited.put(f"/projects/{name}x", json={"description": "theirs"}),
            limited.post("/datasets", json={"name": name, "version": "v2"}),
            limited.post(f"/datasets/{name}-v1/complete", json=facts(b"data")),
            limited.delete(f"/datasets/{name}-v1"),
        ):
            assert answer.status_code == 403
    assert call.get(f"/datasets/{name}-v1").status_code == 200


def test_contents_of_other_projects_are_not_told(catalog: RunningService, call: Caller, name: str) -> None:
    """Neither `unchanged` nor a claimed digest gives a limited key what it may not read."""
    secret = secrets.token_bytes(500)
    call.push(name, secret)
    for slug in (name, f"{name}x"):
        call.put(f"/projects/{slug}")
        call.put(f"/projects/{slug}/datasets/cubes", json={})
    mine, theirs = f"/projects/{name}/datasets/cubes", f"/projects/{name}x/datasets/cubes"
    call.send_file(theirs, "data/a", secret)
    with Caller(catalog.url, catalog.new_key("write", project=name)) as limited:
        offered = limited.offer(mine, "data/a", secret)
        assert offered.status_code == 201
        put(offered.json()["upload_url"], secret[::-1])
        assert limited.finish(mine, "data/a", secret).status_code == 422
        named = {"files": {"data/a": facts(secret)["sha256"]}}
        assert limited.post(f"{mine}/revisions", json=named).json()["missing"] == ["data/a"]
        put(offered.json()["upload_url"], secret)
        assert limited.finish(mine, "data/a", secret).status_code == 200
        assert limited.offer(mine, "data/b", secret).json() == {"path": "data/b", "unchanged": True}


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/datasets", "/api/projects/a/files"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_below_api_a_session_is_missing(call: Caller, nobody: httpx.Client, path: str, method: str) -> None:
    for client in (call, nobody):
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})


def test_unknown_routes_and_methods_answer_in_the_same_shape(call: Caller) -> None:
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("GET", "/datasets/", 404),
        ("GET", "/datasets/a/b/c", 404),
        ("PATCH", "/datasets", 405),
        ("GET", "/projects/a/files/presign", 405),
    ):
        answer = call.request(method, path)
        assert answer.status_code == status and set(answer.json()) == {"error"}, (method, path, answer.text)


def test_json_that_is_none_is_422(call: Caller) -> None:
    for content in (b"{", b"\xff\xfe", b"", b"null", b'"text"'):
        answer = call.post("/datasets", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 422} and set(answer.json()) == {"error"}, content


def test_large_bodies_are_refused_announced_or_not(catalog: RunningService, call: Caller) -> None:
    size = catalog.config.max_body_bytes + 1
    announced = call.post("/datasets", content=b" " * size)
    assert announced.status_code == 413 and set(announced.json()) == {"error"}
    chunks = (b" " * 65536 for _ in range(size // 65536 + 2))
    unannounced = call.post("/datasets", content=chunks, headers={"Content-Type": "application/json"})
    assert unannounced.status_code == 413 and set(unannounced.json()) == {"error"}


ODD_SEGMENTS = [
    "%ff",
    "%00",
    "%F0%28",
    "%2e%2e",
    "%ED%A0%80",
    "a%0Ab",
    "x" * 3000,
    "99999999999999999999",
    "{x}",
    "%5C",
]
ODD_BODIES = [
    b"[]",
    b"\xff",
    b"[" * 50_000,
    b'{"name":"\\ud800","version":"v1"}',
    b'{"path":"a","sha256":"%s","size_bytes":1e400}' % (b"a" * 64),
    b'{"path":"\\ud800","sha256":"%s","size_bytes":1,"object_key":"\\u0000"}' % (b"a" * 64),
    b'{"sha256":"%s","size_bytes":9223372036854775807}' % (b"a" * 64),
    b'{"files":{"\\ud800":"%s"}}' % (b"a" * 64),
    b'{"files":[{"path":"a","sha256":"%s","size_bytes":true}]}' % (b"a" * 64),
    b'{"fps":NaN,"n_episodes":1e30,"description":"\\u0000"}',
]


def test_odd_requests_are_refused_and_break_nothing(call: Caller, recording: str) -> None:
    patterns = {path.replace("/a", "/{odd}", 1) for _, path in ROUTES} | {"/datasets", f"{recording}/files"}
    for path in sorted(patterns):
        for odd in ODD_SEGMENTS:
            for address in (path.replace("{odd}", odd), path.replace("{odd}", "a") + f"?limit={odd}&after={odd}"):
                answer = call.get(address)
                assert answer.status_code < 500, (address, answer.text)
                assert answer.status_code < 400 or answer.json()["error"]
        for body in ODD_BODIES:
            for method in ("POST", "PUT"):
                answer = call.request(method, path.replace("{odd}", "a"), content=body)
                assert answer.status_code < 500, (method, path, body, answer.text)


def test_last_use_is_recorded(catalog: RunningService) -> None:
    key = catalog.new_key("read", name="used")
    identity = key.split("_")[1]

    def last_used() -> object:
        return {facts.id: facts.last_used_at for facts in catalog.keys.list()}[identity]

    assert last_used() is None
    with Caller(catalog.url, key) as reader:
        assert reader.get("/datasets").status_code == 200
    until(lambda: last_used() is not None, "the last use is written")
