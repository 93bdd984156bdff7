"""Everything at once on few names: pushes, removals, commits, restores and a sweeper. No request breaks, and what is
ready in the end has its bytes."""

from __future__ import annotations

import os
import random
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx

from noeira_tui.service.sweeper import Sweeper
from tests.support.service_client import Caller, facts, fetch
from tests.support.service_fixture import RunningService

STEPS = 25
THREADS = 6


class Anything:
    """One client that does one thing after another, whatever the others do."""

    def __init__(self, service: RunningService, project: str, contents: list[bytes], seed: int) -> None:
        self._service = service
        self._project = project
        self._contents = contents
        self._dice = random.Random(seed)
        self.statuses: list[tuple[str, int]] = []

    def run(self) -> None:
        actions: list[Callable[[Caller, httpx.Client, bytes], None]] = [
            self.push, self.remove, self.send, self.send, self.change, self.restore, self.commit, self.define,
        ]  # fmt: skip
        with Caller(self._service.url, self._service.key) as call, httpx.Client(verify=False, timeout=30) as store:
            for _ in range(STEPS):
                self._dice.choice(actions)(call, store, self._dice.choice(self._contents))

    def note(self, what: str, answer: httpx.Response) -> httpx.Response:
        self.statuses.append((what, answer.status_code))
        return answer

    @property
    def _recording(self) -> str:
        return f"/projects/{self._project}/datasets/r{self._dice.randrange(2)}"

    def push(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        name = f"{self._project}-{self._dice.randrange(2)}"
        answer = self.note("register", call.post("/datasets", json={"name": name, "version": "v"}))
        if answer.status_code == 201:
            store.put(answer.json()["upload_url"], content=data)
            body = {**facts(data), "object_key": answer.json()["object_key"]}
            self.note("complete", call.post(f"/datasets/{name}-v/complete", json=body))

    def remove(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        what = self._dice.choice([f"/datasets/{self._project}-{self._dice.randrange(2)}-v", self._recording])
        self.note("remove", call.delete(what))

    def send(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        recording = self._recording
        self.note("put", call.put(recording, json={"n_frames": self._dice.randrange(9)}))
        body = {"path": self._dice.choice(["data/a", "data/b", "meta/info.json"]), **facts(data)}
        answer = self.note("offer", call.post(f"{recording}/files", json=body))
        if answer.status_code == 201:
            store.put(answer.json()["upload_url"], content=data)
            self.note("finish", call.post(f"{recording}/files/complete", json=body))

    def change(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        self.note("put", call.put(self._recording, json={"n_episodes": self._dice.randrange(9)}))
        self.note("project", call.put(f"/projects/{self._project}", json={"description": secrets.token_hex(2)}))

    def restore(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        number = self._dice.randrange(1, 4)
        self.note("restore", call.post(f"{self._recording}/revisions/{number}/restore"))
        self.note("forget", call.delete(f"{self._recording}/revisions/{number}"))

    def commit(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        self.note(
            "commit", call.post(f"{self._recording}/revisions", json={"files": {"data/a": facts(data)["sha256"]}})
        )

    def define(self, call: Caller, store: httpx.Client, data: bytes) -> None:
        files = call.get(f"/projects/{self._project}/files").json()["files"]
        body = {"path": "project.kv", **facts(data), "base_sha256": files[0]["sha256"] if files else None}
        answer = self.note("presign", call.post(f"/projects/{self._project}/files/presign", json=body))
        if answer.status_code == 201:
            store.put(answer.json()["upload_url"], content=data)
            self.note("define", call.post(f"/projects/{self._project}/files/complete", json=body))


def test_everything_at_once(catalog: RunningService, call: Caller, project: str) -> None:
    seed = int(os.environ.get("RACES_SEED") or secrets.randbelow(10**6))
    print(f"RACES_SEED={seed}")
    contents = [secrets.token_bytes(300) for _ in range(4)]
    clients = [Anything(catalog, project, contents, seed + number) for number in range(THREADS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    sweeper = Sweeper(catalog.config, catalog.database, catalog.store)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sweeper.sweep(datetime.now(UTC) + timedelta(days=1))
        threads[0].join(0.2)
    statuses = [one for client in clients for one in client.statuses]
    assert len(statuses) > THREADS * STEPS / 2
    # Two who make the same row at the same moment: the second is asked to come again.
    odd = {one for one in statuses if one[1] >= 400 and one[1] not in {404, 409}}
    assert odd <= {(what, 503) for what in ("register", "put", "presign", "offer", "commit", "project")}, odd
    assert sum(status == 503 for _, status in statuses) < len(statuses) / 10
    for row in call.get("/datasets").json():
        if row["id"].startswith(project) and row["status"] == "ready":
            told = call.get(f"/datasets/{row['id']}").json()
            assert facts(fetch(told["download_url"]))["sha256"] == told["sha256"]
    for row in call.get(f"/projects/{project}/datasets").json():
        for revision in ({}, {"revision": "working"}):
            for file in call.files(f"/projects/{project}/datasets/{row['name']}", **revision).values():
                if file["status"] == "ready":
                    assert facts(fetch(file["download_url"]))["sha256"] == file["sha256"]
