"""`serve --workers N`: several processes answer on one port, one that dies is replaced, and all end together."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from noeira_tui.service.database import Database
from tests.support.service_client import Caller, fetch, put
from tests.support.service_postgres import Postgres
from tests.support.service_process import ServeProcess, is_running, start, until

WRONG_KEYS = 30


def children(pid: int, of: str = "noeira_tui.service.worker") -> list[int]:
    """Worker processes of a service."""
    found = []
    for told in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in told.read_text().split():
            try:
                if of in Path(f"/proc/{child}/cmdline").read_text():
                    found.append(int(child))
            except FileNotFoundError:
                continue
    return sorted(found)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[ServeProcess]:
    service = start(tmp_path / "data", workers=2, wrong_keys_per_minute=WRONG_KEYS)
    try:
        yield service
    finally:
        service.kill()


def requests_counted(url: str, route: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("noeira_requests_total") and f'route="{route}"' in line
    )


def test_several_processes_serve_one_folder_and_end_together(running: ServeProcess) -> None:
    workers = children(running.process.pid)
    assert len(workers) == 2
    with Caller(running.url, running.key) as call:
        for number in range(20):
            call.push(f"walker-{number}", b"data %d" % number)
        assert fetch(call.get("/datasets/walker-3-v1").json()["download_url"]) == b"data 3"
        assert len(call.get("/datasets").json()) == 20
    # Each worker publishes its counters at most once a second; asking lets it.
    until(lambda: requests_counted(running.url, "/datasets/{dataset_id}/complete") == 20, "all requests are counted")
    assert_guesses_are_counted_together(running.url)
    store = running.store_pid
    assert running.stop() == 0
    assert not any(is_running(pid) for pid in [*workers, store])


def assert_guesses_are_counted_together(url: str) -> None:
    """Every guess comes by a connection of its own, and so to one or the other worker."""
    began = time.monotonic()
    answers = [
        httpx.get(f"{url}/datasets", headers={"Authorization": f"Bearer nk_a_{number}"}, verify=False).status_code
        for number in range(WRONG_KEYS * 2)
    ]
    allowed = WRONG_KEYS + (time.monotonic() - began) * WRONG_KEYS / 60 + 1
    assert WRONG_KEYS <= answers.count(401) <= allowed and set(answers) == {401, 429}


def test_a_worker_that_dies_is_replaced(running: ServeProcess) -> None:
    workers = children(running.process.pid)
    os.kill(workers[0], signal.SIGKILL)
    until(lambda: len(set(children(running.process.pid)) - set(workers)) == 1, "another worker")
    with Caller(running.url, running.key) as call:
        for _ in range(10):
            assert call.get("/datasets").status_code == 200
    assert running.process.poll() is None


def test_workers_do_not_outlive_a_killed_service(running: ServeProcess) -> None:
    workers = children(running.process.pid)
    running.kill()
    until(lambda: not any(is_running(pid) for pid in workers), "the workers end")
    again = start(running.data_dir, workers=2)
    try:
        assert (again.url, again.key) == (running.url, running.key)
    finally:
        again.kill()


def test_a_password_is_in_no_command_line_and_no_environment(tmp_path: Path, postgres: Postgres, name: str) -> None:
    address = postgres.database(name).replace("tests@", "tests:hush-hush@")
    service = start(tmp_path / "data", workers=2, database_url=address)
    try:
        with Caller(service.url, service.key) as call:
            call.push("walker", b"data")
        for pid in children(service.process.pid):
            for place in ("cmdline", "environ"):
                assert b"hush-hush" not in Path(f"/proc/{pid}/{place}").read_bytes()
    finally:
        service.kill()


def test_several_instances_on_one_postgres(
    tmp_path: Path, postgres: Postgres, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a folder of its own; the store here is the first one's, as it would be any S3."""
    address = postgres.database(name)
    first = start(tmp_path / "first", database_url=address)
    try:
        keys = json.loads((tmp_path / "first" / "store.json").read_text())
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["access_key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["secret_key"])
        second = start(tmp_path / "second", database_url=address, s3_endpoint=first.store_endpoint, s3_bucket="noeira")
        try:
            with Caller(first.url, first.key) as one, Caller(second.url, first.key) as two:
                put(one.register("walker")["upload_url"], b"data")
                assert two.complete("walker-v1", b"data").status_code == 200
                assert fetch(one.get("/datasets/walker-v1").json()["download_url"]) == b"data"
            # Each makes a key of its own; both work everywhere.
            with Caller(first.url, second.key) as call:
                assert [row["id"] for row in call.get("/datasets").json()] == ["walker-v1"]
        finally:
            second.kill()
    finally:
        first.kill()


def test_one_instance_at_a_time_sweeps(postgres: Postgres, name: str) -> None:
    address = postgres.database(name)
    one, two = Database(address), Database(address)
    with one.alone() as first, two.alone() as second:
        assert (first, second) == (True, False)
    with two.alone() as again:
        assert again
    one.close()
    two.close()
