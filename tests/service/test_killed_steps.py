"""`serve` killed between every two steps of settling an upload on an outside store: a repeated `complete` gets through,
and in the end nothing is stored that no row names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.stores import outside_store
from noeira_tui.service.sweeper import Sweeper
from tests.support.plain_store import running_plain_store
from tests.support.service_client import Caller, fetch, put
from tests.support.service_process import ServeProcess, start, until

RECORDING = "/projects/p/datasets/d"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


def complete(service: ServeProcess, data: bytes, *, as_file: bool) -> httpx.Response:
    with Caller(service.url, service.key) as call:
        return call.finish(RECORDING, "data/a", data) if as_file else call.complete("walker-v1", data)


def url_of_what_is_ready(service: ServeProcess, *, as_file: bool) -> str | None:
    """None while nothing is; the address of the bytes that a row names."""
    with Caller(service.url, service.key) as call:
        row = call.files(RECORDING)["data/a"] if as_file else call.get("/datasets/walker-v1").json()
        url = row.get("download_url")
        assert url is None or isinstance(url, str)
        return url


def sweep_for_weeks(config: ServiceConfig) -> None:
    database, store = Database(config.resolved_database_url), outside_store(config, KEYS)
    try:
        for number in range(0, 30, 3):
            Sweeper(config, database, store).sweep(datetime.now(UTC) + timedelta(days=number))
    finally:
        store.close()
        database.close()


@pytest.mark.parametrize("as_file", [False, True], ids=["dataset", "file"])
@pytest.mark.parametrize("step", ["HEAD", "COPY", "GET", "DELETE"])
def test_a_kill_at_any_step_loses_nothing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, as_file: bool
) -> None:
    for name, text in KEYS.items():
        monkeypatch.setenv(name, text)
    data = b"walks" * 1000
    with running_plain_store() as plain:
        fields = {"s3_endpoint": plain.endpoint, "s3_bucket": "lab"}
        service = start(tmp_path, **fields)
        try:
            with Caller(service.url, service.key) as call:
                call.put("/projects/p")
                call.put(RECORDING, json={})
                offered = call.offer(RECORDING, "data/a", data).json() if as_file else call.register("walker")
            until(lambda: not plain.objects, "what was tried at the start is removed")
            put(offered["upload_url"], data)
            first = service

            def kill(what: str) -> None:
                if what == step:
                    plain.at_request = None
                    first.kill()

            plain.at_request = kill
            try:
                answer = complete(service, data, as_file=as_file)
                assert step == "DELETE" and answer.status_code == 200
            except httpx.TransportError:
                assert step != "DELETE" or service.process.wait(10) < 0
            service.process.wait(10)
            service = start(tmp_path, **fields)
            url = url_of_what_is_ready(service, as_file=as_file)
            assert (url is None) == (step != "DELETE")
            assert complete(service, data, as_file=as_file).status_code == 200
            assert complete(service, data, as_file=as_file).status_code == 200
            url = url_of_what_is_ready(service, as_file=as_file)
            assert url is not None and fetch(url) == data
        finally:
            service.kill()
        sweep_for_weeks(ServiceConfig(tmp_path, **fields))
        assert list(plain.objects.values()) == [data]
        assert url is not None and next(iter(plain.objects)) in url
