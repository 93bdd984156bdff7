"""Two instances on one Postgres and one bucket, killed in turns, while clients push, replace and remove the same few
names with the same few contents, put garbage where their upload URLs point, and a sweep goes on.

Whatever a row says is what its URL gives, and in the end nothing is stored that no row names.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.stores import outside_store
from noeira_tui.service.sweeper import Sweeper
from noeira_tui.service.tables import Blob
from tests.support.service_client import Caller, facts
from tests.support.service_minio import KEYS, Minio
from tests.support.service_postgres import Postgres
from tests.support.service_process import ServeProcess, start, until

CLIENTS = 4
ROUNDS = 10 if os.environ.get("THOROUGH") else 3
CONTENTS = [letter * size for letter, size in ((b"a", 0), (b"b", 10), (b"c", 200_000), (b"d", 1_500_000))]
RECORDING = "/projects/p/datasets/d"


@pytest.fixture
def config(tmp_path: Path, postgres: Postgres, minio: Minio, monkeypatch: pytest.MonkeyPatch) -> ServiceConfig:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    return ServiceConfig(
        tmp_path,
        port=0,
        database_url=postgres.database("instances"),
        s3_endpoint=minio.endpoint,
        s3_bucket="instances",
    )


@pytest.fixture
def instances(config: ServiceConfig) -> Iterator[list[ServeProcess]]:
    fields = {name: getattr(config, name) for name in ("database_url", "s3_endpoint", "s3_bucket")}
    running = [start(config.data_dir / f"{number}", **fields) for number in range(2)]
    yield running
    for one in running:
        one.kill()


@dataclass
class Crowd:
    """Clients that ask either instance, and what they saw that must not be."""

    urls: list[str]
    key: str
    stop: threading.Event = field(default_factory=threading.Event)
    defects: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    upload_urls: list[str] = field(default_factory=list)

    def work(self, seed: int) -> None:
        dice = random.Random(seed)
        callers = [Caller(url, self.key) for url in self.urls]
        with httpx.Client(verify=False, timeout=30) as store:
            while not self.stop.is_set():
                call, data, name = dice.choice(callers), dice.choice(CONTENTS), f"n{dice.randrange(5)}"
                step = dice.choice([self.push, self.push, self.send, self.remove, self.spoil, self.read, self.read])
                try:
                    step(call, store, name, data)
                except httpx.TransportError:
                    self.seen["no answer"] += 1
        for call in callers:
            call.close()

    def push(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        told = call.post("/datasets", json={"name": name, "version": "v1"})
        if self.noted("register", told).status_code == 201:
            self.put(store, told.json()["upload_url"], data)
            self.noted("complete", call.complete(f"{name}-v1", data, object_key=told.json()["object_key"]))

    def send(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        told = self.noted("offer", call.offer(RECORDING, name, data))
        if told.status_code == 201:
            self.put(store, told.json()["upload_url"], data)
            self.noted("complete", call.finish(RECORDING, name, data))

    def put(self, store: httpx.Client, url: str, data: bytes) -> None:
        store.put(url, content=data)
        self.upload_urls.append(url)

    def remove(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        self.noted("remove", call.delete(f"/datasets/{name}-v1"))

    def spoil(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        # Of uploads that were completed, or given up.
        for url in self.upload_urls[:-CLIENTS][-20:]:
            store.put(url, content=b"garbage" * len(name))

    def read(self, call: Caller, store: httpx.Client, name: str, data: bytes) -> None:
        row = self.noted("read", call.get(f"/datasets/{name}-v1"))
        if row.status_code == 200:
            self.compare(store, row.json())

    def compare(self, store: httpx.Client, row: dict[str, Any]) -> None:
        got = store.get(row["download_url"])
        if got.status_code == 200 and facts(got.content) != {"size_bytes": row["sizeBytes"], "sha256": row["sha256"]}:
            self.defects.append(f"{row} gives {facts(got.content)}")
        self.seen[f"bytes {got.status_code}"] += 1

    def noted(self, what: str, answer: httpx.Response) -> httpx.Response:
        self.seen[f"{what} {answer.status_code}"] += 1
        if answer.status_code in {422, 500}:
            self.defects.append(f"{what}: {answer.status_code} {answer.text}")
        return answer

    def has_done(self, more: int) -> None:
        """Wait for so many more acknowledged uploads."""
        wanted = self.seen["complete 200"] + more
        until(lambda: self.seen["complete 200"] >= wanted or bool(self.defects), f"{more} more uploads", 60)
        assert not self.defects


def sweep(sweeper: Sweeper, stop: threading.Event) -> None:
    """Sweep on and on, every other time as if three days had passed: what is unnamed twice goes."""
    while not stop.is_set():
        for days in (0, 3):
            try:
                sweeper.sweep(datetime.now(UTC) + timedelta(days=days))
            except DBAPIError as err:
                # A row that somebody else removed at this moment.
                print(f"sweep: {err.orig}")
            stop.wait(0.05)


def stored_keys(minio: Minio, bucket: str) -> set[str]:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=minio.endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )
    return {one["Key"] for one in client.list_objects_v2(Bucket=bucket).get("Contents", [])}


@pytest.mark.slow
def test_two_instances_keep_every_promise_while_they_are_killed(
    config: ServiceConfig, instances: list[ServeProcess], minio: Minio
) -> None:
    seed = int(os.environ.get("INSTANCES_SEED") or secrets.randbelow(10**6))
    print(f"INSTANCES_SEED={seed}")
    database, store = Database(config.resolved_database_url), outside_store(config, os.environ)
    sweeper = Sweeper(config, database, store)
    crowd = Crowd([one.url for one in instances], instances[0].key)
    with Caller(instances[0].url, instances[0].key) as call:
        call.put("/projects/p")
        call.put(RECORDING, json={})
    threads = [threading.Thread(target=crowd.work, args=(seed + number,)) for number in range(CLIENTS)]
    threads.append(threading.Thread(target=sweep, args=(sweeper, crowd.stop)))
    for thread in threads:
        thread.start()
    fields = {name: getattr(config, name) for name in ("database_url", "s3_endpoint", "s3_bucket")}
    try:
        for number in range(ROUNDS):
            crowd.has_done(30)
            killed = instances[number % 2]
            killed.kill()
            crowd.has_done(5)
            instances[number % 2] = start(killed.data_dir, **fields)
        crowd.has_done(30)
    finally:
        crowd.stop.set()
        for thread in threads:
            thread.join(60)
    check(instances[0], crowd)
    for one in instances:
        one.kill()
    assert_nothing_is_left(sweeper, database, store, minio, config)


def check(service: ServeProcess, crowd: Crowd) -> None:
    with Caller(service.url, service.key) as call, httpx.Client(verify=False) as store:
        ready = [call.get(f"/datasets/{row['id']}").json() for row in call.get("/datasets").json() if row["sha256"]]
        ready += [row for row in call.files(RECORDING, revision="working").values() if row["status"] == "ready"]
        crowd.seen.clear()
        for row in ready:
            crowd.compare(store, row)
    assert ready and crowd.seen == {"bytes 200": len(ready)} and not crowd.defects


def assert_nothing_is_left(
    sweeper: Sweeper, database: Database, store: ObjectStore, minio: Minio, config: ServiceConfig
) -> None:
    for days in (30, 60):
        sweeper.sweep(datetime.now(UTC) + timedelta(days=days))
    with database.read() as session:
        named = set(session.scalars(select(Blob.object_key)))
    assert stored_keys(minio, config.bucket) == named
    database.close()
    store.close()
