"""Requests that no client library would send, by a raw socket: refused, and nothing breaks or hangs."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import httpx
import pytest

from noeira_tui.service import app, heads
from tests.support.service_client import Caller, facts
from tests.support.service_fixture import RunningService


def raw(service: RunningService, request: bytes) -> tuple[int, bytes]:
    """Send bytes as they are; the status of the answer (0 for a closed connection) and all of it."""
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname or "", address.port or 80), timeout=20) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer and b"keep" not in request:
                    break
        except ConnectionError:
            return 0, answer
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0, answer


def with_key(service: RunningService, line: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [line, "Host: x", f"Authorization: Bearer {service.key}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


BODY = b'{"name":"attack","version":"v1"}'


@pytest.mark.parametrize(
    ("line", "headers", "body"),
    [
        ("POST /datasets HTTP/1.1", ["Content-Length: 5", "Content-Length: 500"], BODY),
        ("POST /datasets HTTP/1.1", ["Content-Length: -5"], BODY),
        ("POST /datasets HTTP/1.1", ["Content-Length: 99999999999999999999999"], BODY),
        ("POST /datasets HTTP/1.1", ["Content-Length: 0x20"], BODY),
        ("POST /datasets HTTP/1.1", ["Transfer-Encoding: chunked"], b"zz\r\n" + BODY),
        ("GET /datasets HTTP/1.1", ["X-Odd: a\x00b"], b""),
        ("GET /datasets HTTP/1.1", [f"X-Long: {'x' * 200_000}"], b""),
        ("GET /datasets HTTP/9.9", [], b""),
        ("G\x00T /datasets HTTP/1.1", [], b""),
        ("GET /data sets HTTP/1.1", [], b""),
        ("", [], b""),
    ],
)
def test_what_is_no_http_is_refused(
    catalog: RunningService, nobody: httpx.Client, line: str, headers: list[str], body: bytes
) -> None:
    status, answer = raw(catalog, with_key(catalog, line, *headers, body=body))
    assert status in {0, 400, 404, 413, 414, 422, 431}, answer
    assert nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/datasets/../../../../etc/passwd",
        "/datasets/..%2f..%2fetc%2fpasswd",
        "/datasets/%2e%2e/%2e%2e/client.env",
        "//etc/passwd",
        "/ui/../client.env",
        "/ui/style.css/../../client.env",
        "/datasets\\..\\client.env",
        "/datasets/a;b/../c",
        "http://other.example/datasets/none-v1",
        "/" + "a/" * 5000,
    ],
)
def test_paths_lead_nowhere_else(catalog: RunningService, path: str) -> None:
    status, answer = raw(catalog, with_key(catalog, f"GET {path} HTTP/1.1"))
    assert status in {0, 400, 404, 414}, answer
    assert b"root:" not in answer and b"API_KEY" not in answer


def test_a_second_authorization_adds_nothing(catalog: RunningService) -> None:
    keys = f"Authorization: Bearer {catalog.new_key('read')}\r\nAuthorization: Bearer {catalog.key}"
    lines = f"POST /datasets HTTP/1.1\r\nHost: x\r\n{keys}"
    request = f"{lines}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY
    assert raw(catalog, request)[0] in {400, 401, 403}


def test_headers_of_a_client_move_nothing(catalog: RunningService, call: Caller, name: str) -> None:
    """Neither the host that a client claims nor one that it claims to come through gets into a signature."""
    call.push(name, b"data")
    odd = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "gopher", "Forwarded": "x"}
    answer = call.get(f"/datasets/{name}-v1", headers=odd)
    assert answer.status_code == 200 and "evil" not in answer.text
    assert answer.json()["download_url"].startswith(catalog.store_endpoint)
    assert call.get("/datasets", headers={"X-HTTP-Method-Override": "DELETE"}).status_code == 200


ODD_PATHS = [
    "../a", "/etc/passwd", "a/../b", "a//b", "a\\b", "a\x00b", ".hidden", "a/.b", "a/b/", "é", "a b", "", ".", "..",
    "a\nb", "-a", "x" * 513, "/".join("a" * 9),
]  # fmt: skip


@pytest.mark.parametrize("path", ODD_PATHS)
def test_paths_inside_a_recording_obey_the_rule(call: Caller, recording: str, path: str) -> None:
    body = {"path": path, **facts(b"data")}
    assert call.post(f"{recording}/files", json=body).status_code in {400, 422}
    assert call.post(f"{recording}/files/complete", json=body).status_code in {400, 404, 422}
    batch = call.post(f"{recording}/files/batch", json={"files": [body]})
    assert batch.status_code == 422 or "error" in batch.json()["files"][0]
    project = recording.split("/datasets")[0]
    assert call.post(f"{project}/files/presign", json={**body, "base_sha256": None}).status_code in {400, 422}
    assert call.post(f"{recording}/revisions", json={"files": {path: body["sha256"]}}).status_code in {400, 422}
    assert call.files(recording) == {}


def test_a_body_that_stops_coming_is_let_go(
    catalog: RunningService, nobody: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_SILENCE_S", 0.2)
    for header, body in (("Content-Length: 50000", b'{"na'), ("Transfer-Encoding: chunked", b"fffffffffffffff\r\n")):
        status, answer = raw(catalog, with_key(catalog, "POST /datasets HTTP/1.1", header, body=body))
        assert status == 408 and b'{"error"' in answer
    assert nobody.get("/healthz").status_code == 200


def test_a_head_that_does_not_end_is_let_go(catalog: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEAD_TIMEOUT_S", 0.2)
    assert raw(catalog, b"GET /datasets HTTP/1.1\r\nX-Slow: a")[0] == 0
    monkeypatch.undo()
    assert raw(catalog, b"GET /datasets HTTP/1.1\r\nX-Endless: " + b"a" * 3_000_000)[0] in {0, 400}
