"""The client's errors: each fault of address, key or service is told apart, named and hinted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.retry import PERSISTENT, Patience, wait_before
from noeira_tui.core.errors import CancelledError, ConfigError, ProtocolError, RefusedError, UnreachableError
from noeira_tui.core.progress import CancelToken
from tests.support.service_fixture import RunningService


@dataclass
class Answer:
    status: int = 200
    body: bytes = b"[]"
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[str, list[str]]]:
    """A server that gives the answers in turn (the last one again and again), and the keys it was shown."""
    left, seen = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            answer = left.pop(0) if len(left) > 1 else left[0]
            self.send_response_only(answer.status)
            for key, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET  # noqa: N815  the name the standard library calls

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def html(status: int, body: str) -> Answer:
    return Answer(status, body.encode(), {"Content-Type": "text/html; charset=utf-8"})


def error(status: int, text: str, **headers: str) -> Answer:
    return Answer(status, json.dumps({"error": text}).encode(), {"Content-Type": "application/json", **headers})


def test_three_kinds_of_401_stay_three_faults(service: RunningService) -> None:
    with CatalogClient(service.url, "nk_wrong") as client, pytest.raises(RefusedError) as wrong:
        client.list_datasets()
    with CatalogClient(service.url + "/api", service.key) as client, pytest.raises(RefusedError) as address:
        client.list_datasets()
    with answering(error(401, "Missing API key")) as (url, _), CatalogClient(url, "k") as client:
        with pytest.raises(RefusedError) as missing:
            client.list_datasets()
    assert [e.value.status for e in (wrong, address, missing)] == [401, 401, 401]
    assert "Invalid API key" in wrong.value.message
    assert "NOEIRA_CLOUD_API_KEY" in wrong.value.hint
    assert "/api" in address.value.hint
    assert "NOEIRA_CLOUD_URL" in address.value.hint
    assert "proxy" in missing.value.hint
    assert len({e.value.title for e in (wrong, address, missing)}) == 3


def test_the_message_has_method_path_status_and_the_servers_text() -> None:
    with answering(error(418, "short and stout")) as (url, _), CatalogClient(url, "k") as client:
        with pytest.raises(RefusedError) as caught:
            client.list_projects()
    assert "GET /projects" in caught.value.message
    assert "418" in caught.value.message
    assert "short and stout" in caught.value.message


def test_an_html_error_of_a_proxy_is_stripped_and_cut() -> None:
    page = "<html><head><style>b{}</style></head><body><h1>502 Bad Gateway</h1>" + "nginx " * 200 + "</body></html>"
    with answering(html(502, page)) as (url, _):
        with CatalogClient(url, "k", sleep=lambda _: None) as client, pytest.raises(RefusedError) as caught:
            client.list_datasets()
    assert "502 Bad Gateway" in caught.value.message
    assert "<" not in caught.value.message
    assert len(caught.value.message) < 320
    assert caught.value.retryable


def test_the_stores_own_address_is_told_from_the_services(service: RunningService) -> None:
    with CatalogClient(service.store_endpoint, "nk_key") as client, pytest.raises(ProtocolError) as caught:
        client.list_datasets()
    assert "store" in caught.value.title
    assert "NOEIRA_CLOUD_URL" in caught.value.hint


def test_an_html_page_with_200_is_no_catalog() -> None:
    with answering(html(200, "<!doctype html><title>Welcome</title><p>Sign in")) as (url, _):
        with CatalogClient(url, "k") as client, pytest.raises(ProtocolError) as caught:
            client.list_datasets()
    assert "HTML" in caught.value.message
    assert "NOEIRA_CLOUD_URL" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"null",
        b'"x"',
        b'[{"id": 3}]',
        b"[1]",
        b'[{"id":"a","name":"a","version":"v","status":"odd"}]',
        b"[" * 9000,
    ],
)
def test_json_of_another_shape_is_no_catalog(body: bytes) -> None:
    with answering(Answer(200, body)) as (url, _), CatalogClient(url, "k") as client:
        with pytest.raises(ProtocolError):
            client.list_datasets()


def test_unknown_fields_are_ignored_and_absent_ones_absent() -> None:
    row = {"id": "a-v1", "name": "a", "version": "v1", "status": "ready", "sizeBytes": 3, "colour": "red", "seed": None}
    with answering(Answer(200, json.dumps([row]).encode())) as (url, _), CatalogClient(url, "k") as client:
        found = client.list_datasets()[0]
    assert (found.id, found.size_bytes, found.seed, found.sha256) == ("a-v1", 3, None, None)


def test_a_closed_port_is_unreachable_and_says_what_to_check() -> None:
    with answering(Answer()) as (url, _):
        pass
    with CatalogClient(url, "k", sleep=lambda _: None) as client, pytest.raises(UnreachableError) as caught:
        client.list_datasets()
    assert url in caught.value.message
    assert "NOEIRA_CLOUD_URL" in caught.value.hint
    assert caught.value.retryable


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with answering(Answer()) as (other, seen_there):
        with answering(Answer(302, b"", {"Location": other + "/datasets?token=secret"})) as (url, _):
            with CatalogClient(url, "the-key") as client, pytest.raises(ProtocolError) as caught:
                client.list_datasets()
    assert seen_there == []
    assert other in caught.value.message
    assert "secret" not in str(caught.value)


def test_busy_answers_are_retried_and_retry_after_is_obeyed() -> None:
    waited: list[float] = []
    in_9_s = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    answers = (error(429, "slow", **{"Retry-After": "7"}), error(503, "busy", **{"Retry-After": in_9_s}), Answer())
    with answering(*answers) as (url, seen):
        with CatalogClient(url, "k", patience=PERSISTENT, sleep=waited.append) as client:
            assert client.list_datasets() == ()
    assert len(seen) == 3
    assert waited[0] == 7
    assert 7 < waited[1] <= 9.1


def test_patience_ends() -> None:
    with answering(error(503, "busy")) as (url, seen):
        with CatalogClient(url, "k", patience=Patience(3), sleep=lambda _: None) as client:
            with pytest.raises(RefusedError):
                client.list_datasets()
    assert len(seen) == 3


def test_a_service_that_still_compares_what_was_uploaded_is_asked_again_and_again() -> None:
    """Giving up would send the whole upload once more."""
    waited: list[float] = []
    comparing = error(503, "still being compared", **{"Retry-After": "1"})
    with answering(*[comparing] * 9, Answer(200, b"{}")) as (url, seen):
        with CatalogClient(url, "k", sleep=waited.append) as client:
            client.complete("a-v1", size_bytes=3, sha256="0" * 64)
    assert len(seen) == 10
    assert waited == [1.0] * 9


def test_waiting_for_a_comparison_ends_when_it_is_cancelled() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with answering(error(503, "still being compared", **{"Retry-After": "1"})) as (url, seen):
        with CatalogClient(url, "k") as client, pytest.raises(CancelledError):
            client.complete("a-v1", size_bytes=3, sha256="0" * 64, cancel=cancel)
    assert len(seen) == 1


def test_a_busy_service_that_names_no_time_is_not_waited_for() -> None:
    with answering(error(503, "busy")) as (url, seen):
        with CatalogClient(url, "k", patience=Patience(2), sleep=lambda _: None) as client, pytest.raises(RefusedError):
            client.complete("a-v1", size_bytes=3, sha256="0" * 64)
    assert len(seen) == 2


def test_waits_grow_and_stay_bounded() -> None:
    waits = [wait_before(attempt, None, PERSISTENT) for attempt in range(1, 12)]
    assert waits[0] < 0.5 < waits[3] < waits[6]
    assert max(waits) <= PERSISTENT.longest_wait_s
    assert wait_before(1, "86400", PERSISTENT) == PERSISTENT.longest_wait_s
    assert wait_before(1, "next tuesday", PERSISTENT) < 1


@pytest.mark.parametrize("key", ["two words", "tail\n", "clé", "a\tb"])
def test_a_key_no_header_can_carry_is_a_configuration_error_without_the_key(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CatalogClient("http://127.0.0.1:1", key)
    assert key not in str(caught.value)


def test_a_service_without_extensions_has_none() -> None:
    for answer in (error(404, "no"), error(405, "no"), html(200, "<p>"), error(401, "Unauthorized")):
        with answering(answer) as (url, seen), CatalogClient(url, "k") as client:
            assert not client.has("filename")
            assert not client.has("batch")
        assert len(seen) == 1, "asked once, then remembered"


def test_our_service_has_every_extension(service: RunningService) -> None:
    from noeira_tui.catalog.wire import EXTENSIONS

    with CatalogClient(service.url, service.key) as client:
        assert client.facts().extensions >= set(EXTENSIONS)


def test_clock_skew_is_noticed() -> None:
    ahead = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    headers = {"Content-Type": "application/json", "Date": ahead}
    with answering(Answer(200, b"[]", headers)) as (url, _), CatalogClient(url, "k") as client:
        client.list_datasets()
        assert client.clock_skew_s is not None
    assert 3590 < client.clock_skew_s < 3610
