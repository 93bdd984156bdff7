"""`serve` killed at any moment under uploads: no completed row is lost, no truncated object is served."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import threading
from pathlib import Path

import httpx
import pytest

from tests.support.service_client import Caller, facts
from tests.support.service_process import ServeProcess, start

PUSHERS = 4
ROUNDS = 30 if os.environ.get("THOROUGH") else 8
"""Kills, at moments that are others in every run."""


class Pushers:
    """Threads that push datasets and recording files until the service is gone, and note what was acknowledged."""

    def __init__(self, service: ServeProcess, seed: int) -> None:
        self.done: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self._service = service
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._push, args=(seed * 100 + number,)) for number in range(PUSHERS)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.done) + len(self.files) >= count, timeout=60)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _push(self, number: int) -> None:
        dice = random.Random(number)
        with Caller(self._service.url, self._service.key) as call, httpx.Client(verify=False) as store:
            step = 0
            while True:
                data = secrets.token_bytes(dice.choice([0, 10, 70_000, 700_000]))
                try:
                    self._one(call, store, f"{number}-{step}", data, dice.random() < 0.5)
                except httpx.HTTPError:
                    return
                step += 1

    def _one(self, call: Caller, store: httpx.Client, name: str, data: bytes, as_file: bool) -> None:
        recording = "/projects/p/datasets/d"
        registered = call.offer(recording, name, data) if as_file else call.post(
            "/datasets", json={"name": name, "version": "v1"}
        )  # fmt: skip
        if (
            registered.status_code == 201
            and store.put(registered.json()["upload_url"], content=data).status_code != 200
        ):
            return
        finished = call.finish(recording, name, data) if as_file else call.complete(f"{name}-v1", data)
        if finished.status_code == 200:
            with self._changed:
                (self.files if as_file else self.done)[name if as_file else f"{name}-v1"] = facts(data)["sha256"]
                self._changed.notify_all()


def check(service: ServeProcess, done: dict[str, str], files: dict[str, str]) -> None:
    """Every acknowledged row is ready, and every ready row serves exactly the bytes it says."""
    with Caller(service.url, service.key) as call, httpx.Client(verify=False) as store:
        listed = {row["id"]: row for row in call.get("/datasets").json()}
        assert {key: listed[key]["sha256"] for key in done} == done
        ready = [call.get(f"/datasets/{key}").json() for key, row in listed.items() if row["status"] == "ready"]
        rows = call.files("/projects/p/datasets/d")
        assert {key: rows[key]["sha256"] for key in files} == files
        ready += [row for row in rows.values() if row["status"] == "ready"]
        for row in ready:
            data = store.get(row["download_url"]).content
            assert (len(data), hashlib.sha256(data).hexdigest()) == (row["sizeBytes"], row["sha256"])
        pending = [key for key, row in listed.items() if row["status"] == "pending"]
        assert all(call.get(f"/datasets/{key}").status_code == 409 for key in pending)


@pytest.mark.slow
def test_killing_the_service_under_uploads(tmp_path: Path) -> None:
    done: dict[str, str] = {}
    files: dict[str, str] = {}
    seed = int(os.environ.get("KILLED_SEED") or secrets.randbelow(10**6))
    print(f"KILLED_SEED={seed}")
    dice = random.Random(seed)
    service = start(tmp_path)
    try:
        with Caller(service.url, service.key) as call:
            call.put("/projects/p")
            call.put("/projects/p/datasets/d", json={})
        for number in range(ROUNDS):
            pushers = Pushers(service, seed + number)
            pushers.wait_for(dice.randrange(1, 25))
            service.kill()
            pushers.join()
            done |= pushers.done
            files |= pushers.files
            service = start(tmp_path)
            check(service, done, files)
    finally:
        service.kill()
