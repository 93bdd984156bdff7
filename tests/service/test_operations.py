"""What those who run the service look at: health, counters, the log; and what it bounds."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from noeira_tui.core.errors import ConfigError
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.logs import JsonLines, PlainLines, with_fields
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storerefusal import StoreError
from tests.support.service_client import Caller, facts, put
from tests.support.service_fixture import RunningService, running_service
from tests.support.service_process import start

SMALL = ServiceConfig(
    Path(),
    port=0,
    rate_limit=1,
    rate_burst=30,
    wrong_keys_per_minute=3,
    max_object_bytes=100,
    max_account_bytes=150,
    max_datasets=3,
    max_projects=1,
    max_recordings=1,
    max_files=3,
    max_revisions=1,
    max_definitions=1,
)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RunningService]:
    with running_service(tmp_path, SMALL) as service:
        yield service


@pytest.fixture
def bounded(tmp_path: Path) -> Iterator[Caller]:
    with running_service(tmp_path, replace(SMALL, rate_limit=0)) as service, Caller(service.url, service.key) as call:
        yield call


def test_health_and_readiness_need_no_key(nobody: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nobody.get("/healthz").json() == {"status": "alive"}
    assert nobody.get("/readyz").json() == {"status": "ready", "database": "ok", "object_store": "ok"}

    def gone(*_: object) -> None:
        raise StoreError("gone")

    def locked(*_: object) -> None:
        raise OperationalError("SELECT 1", None, Exception("database is locked"))

    monkeypatch.setattr(ObjectStore, "check", gone)
    answer = nobody.get("/readyz")
    assert (answer.status_code, answer.json()["error"]) == (503, "Not ready: object store")
    monkeypatch.setattr(Database, "check", locked)
    assert nobody.get("/readyz").json()["error"] == "Not ready: database, object store"
    assert nobody.get("/healthz").status_code == 200


def test_metrics_are_in_prometheus_text_format(call: Caller, nobody: httpx.Client, name: str) -> None:
    call.push(name, b"data")
    answer = nobody.get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+|# (HELP|TYPE) .+')
    assert [line for line in lines if not sample.fullmatch(line)] == []
    assert any(line.startswith('noeira_requests_total{method="POST",route="/datasets",status="201"}') for line in lines)
    assert name not in answer.text, "no names in labels"
    place = 'method="POST",route="/datasets"'
    counts = [
        float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"noeira_request_seconds_bucket{{{place}")
    ]
    assert counts and counts == sorted(counts)
    (total,) = [line for line in lines if line.startswith(f"noeira_request_seconds_count{{{place}}}")]
    assert float(total.rpartition(" ")[2]) == counts[-1]


def test_workers_add_their_counters_up_and_a_new_one_counts_on(tmp_path: Path) -> None:
    first, second = Metrics(tmp_path, 1), Metrics(tmp_path, 2)
    for metrics in (first, second):
        metrics.observe("/a", "GET", 200, 0.01)
    second.count("noeira_requests_in_flight", 5)
    assert 'noeira_requests_total{method="GET",route="/a",status="200"} 2' in first.text()
    again = Metrics(tmp_path, 2)
    again.observe("/a", "GET", 200, 0.01)
    assert 'noeira_requests_total{method="GET",route="/a",status="200"} 3' in first.text()
    assert "noeira_requests_in_flight 5" not in again.text()
    (tmp_path / "worker-2.json").write_text("{broken")
    assert 'status="200"} 1' in first.text()


def test_every_answer_has_a_request_id(nobody: httpx.Client) -> None:
    assert nobody.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    for odd in ("a b", "x" * 65, "é".encode()):
        assert re.fullmatch(
            "[0-9a-f]{16}", nobody.get("/nothing", headers={"X-Request-Id": odd}).headers["X-Request-Id"]
        )


def test_json_logs_say_who_asked_and_hold_no_secret(tmp_path: Path) -> None:
    service = start(tmp_path, log_format="json")
    try:
        with Caller(service.url, service.key) as call:
            registered = call.push("walker", b"data")
            call.get("/datasets", headers={"X-Request-Id": "mine"})
            call.get(f"/datasets/{service.key}")
            httpx.get(f"{service.url}/datasets", headers={"Authorization": "Bearer nk_wrong_wrong-secret"})
        service.stop()
        assert service.process.stderr is not None
        text = service.process.stderr.read()
    finally:
        service.kill()
    lines = [json.loads(line) for line in text.splitlines()]
    (mine,) = [line for line in lines if line.get("request_id") == "mine"]
    assert (mine["method"], mine["path"], mine["status"], mine["level"]) == ("GET", "/datasets", 200, "info")
    assert mine["key_id"] == service.key.split("_")[1] and mine["duration_ms"] > 0 and mine["client"] == "127.0.0.1"
    (refused,) = [line for line in lines if line.get("status") == 401]
    assert refused["key_id"] is None
    for secret in (service.key.split("_", 2)[2], "wrong-secret", registered["upload_url"].split("Signature=")[1]):
        assert secret not in text


def test_log_formats_redact_messages_and_tracebacks() -> None:
    try:
        raise ValueError("GET https://s3/x?X-Amz-Signature=hush with Bearer nk_1_hush")
    except ValueError:
        import sys

        record = logging.LogRecord("a", logging.ERROR, "f", 1, "at %s", ("https://h/p?sig=hush",), sys.exc_info())
    record.__dict__.update(with_fields(path="https://h/p?sig=hush", status=500))
    line = json.loads(JsonLines().format(record))
    assert line["status"] == 500 and "ValueError" in line["traceback"]
    assert "hush" not in json.dumps(line) and "hush" not in PlainLines().format(record)


def test_a_key_that_asks_too_often_is_told_when_to_come_again(small: RunningService) -> None:
    with Caller(small.url, small.key) as call:
        answers = [call.get("/datasets") for _ in range(35)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused and all(answer.status_code == 200 for answer in answers[:30])
        assert int(refused[0].headers["Retry-After"]) >= 1 and set(refused[0].json()) == {"error"}
        # Nobody else is.
        with Caller(small.url, small.new_key("read")) as other:
            assert other.get("/datasets").status_code == 200
    assert 'noeira_refused_total{reason="rate"}' in httpx.get(f"{small.url}/metrics").text


def test_guessing_keys_is_slowed_and_locks_nobody_out(small: RunningService) -> None:
    with Caller(small.url, "nk_a_guess") as guesser:
        statuses = [guesser.get("/datasets").status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    with Caller(small.url, small.key) as call:
        assert call.get("/datasets").status_code == 200


def test_counts_are_bounded(bounded: Caller) -> None:
    def refused(answer: httpx.Response) -> bool:
        return answer.status_code == 403 and "at most" in answer.json()["error"]

    for number in range(3):
        bounded.register(f"d{number}")
    bounded.register("d0")
    assert refused(bounded.post("/datasets", json={"name": "d3", "version": "v1"}))
    bounded.put("/projects/p")
    assert refused(bounded.put("/projects/q"))
    rec = "/projects/p/datasets/d"
    bounded.put(rec, json={})
    assert refused(bounded.put("/projects/p/datasets/e", json={}))
    for path in "abc":
        bounded.send_file(rec, path, path.encode())
    assert refused(bounded.offer(rec, "d", b"d"))
    bounded.send_file(rec, "a", b"other")
    digest = {name: facts(name.encode())["sha256"] for name in "bc"}
    assert bounded.post(f"{rec}/revisions", json={"files": {"b": digest["b"]}}).status_code == 201
    assert bounded.post(f"{rec}/revisions", json={"files": {"b": digest["b"]}}).status_code == 200
    assert refused(bounded.post(f"{rec}/revisions", json={"files": digest}))
    assert len(bounded.get(f"{rec}/revisions").json()) == 1
    for path, status in (("project.kv", 200), ("second.kv", 403)):
        kv = {"path": path, **facts(b"b"), "base_sha256": None}
        assert bounded.post("/projects/p/files/presign", json=kv).status_code == status


def test_bytes_are_bounded(bounded: Caller) -> None:
    bounded.put("/projects/p")
    rec = "/projects/p/datasets/d"
    bounded.put(rec, json={})
    bounded.send_file(rec, "a", b"x" * 90)
    assert bounded.offer(rec, "b", b"y" * 101).status_code == 413
    full = bounded.offer(rec, "b", b"y" * 61)
    assert full.status_code == 403 and "150" in full.json()["error"]
    assert bounded.offer(rec, "c", b"x" * 90).json()["unchanged"], "what is stored already takes no room"
    bounded.send_file(rec, "b", b"y" * 60)
    registered = bounded.register("d")
    httpx.put(registered["upload_url"], content=b"z").raise_for_status()
    assert bounded.complete("d-v1", b"z").status_code == 403
    assert bounded.get("/datasets/d-v1").status_code == 409


def test_files_of_one_request_and_open_uploads_count_together(bounded: Caller) -> None:
    bounded.put("/projects/p")
    rec = "/projects/p/datasets/d"
    bounded.put(rec, json={})
    contents = {"a": b"a" * 80, "b": b"b" * 70, "c": b"c" * 60}
    batch = {"files": [{"path": path, **facts(data)} for path, data in contents.items()]}
    rows = bounded.post(f"{rec}/files/batch", json=batch).json()["files"]
    assert ["error" in row for row in rows] == [False, False, True]
    for row in rows[:2]:
        put(row["upload_url"], contents[row["path"]])
    # Offered while there is room, and sent when there is none any more.
    third = bounded.offer(rec, "c", contents["c"]).json()
    put(third["upload_url"], contents["c"])
    assert bounded.finish(rec, "a", contents["a"]).status_code == 200
    assert bounded.finish(rec, "b", contents["b"]).status_code == 200
    refused = bounded.finish(rec, "c", contents["c"])
    assert refused.status_code == 403 and "150" in refused.json()["error"]
    assert {path: row["status"] for path, row in bounded.files(rec).items()} == {
        "a": "ready", "b": "ready", "c": "pending",
    }  # fmt: skip


def test_settings_come_from_flags_then_the_environment() -> None:
    environ = {"NOEIRA_SERVICE_PORT": "9", "NOEIRA_SERVICE_MAX_FILES": " 5 ", "NOEIRA_SERVICE_HOST": "", "OTHER": "x"}
    config = ServiceConfig.load(environ, data_dir=Path("d"), port=None, workers=2)
    assert (config.port, config.max_files, config.host, config.workers) == (9, 5, "127.0.0.1", 2)
    assert ServiceConfig.load(environ, data_dir=Path("d"), port=10).port == 10
    assert ServiceConfig.load({"NOEIRA_SERVICE_DATA_DIR": "/srv"}).data_dir == Path("/srv")
    for name, value in (("PROT", "1"), ("PORT", "x"), ("WORKERS", "0"), ("MAX_FILES", "-1"), ("S3_STYLE", "odd")):
        with pytest.raises(ConfigError):
            ServiceConfig.load({f"NOEIRA_SERVICE_{name}": value}, data_dir=Path("d"))
