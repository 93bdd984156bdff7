"""What keeps one request from waiting for another one's disk, lock or reader."""

from __future__ import annotations

import gc
import logging
import queue
import sqlite3
import sys
from pathlib import Path

import pytest

from noeira_tui.service import database as service_database
from noeira_tui.service.database import Database, WouldWaitError
from noeira_tui.service.keys import KeyCheck, KeyStore
from noeira_tui.service.logs import _Hurried
from noeira_tui.service.serving import _settle_interpreter
from tests.support.service_client import Caller
from tests.support.service_fixture import RunningService
from tests.support.service_postgres import Postgres

SIGNED = {"download_url", "expires_at"}


def blocked(*_: object) -> None:
    raise sqlite3.OperationalError("database is locked")


def test_a_key_is_looked_up_by_a_thread_where_the_file_cannot_be_read_at_once(
    catalog: RunningService, call: Caller, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call.push(name, b"data", env_id="walker", seed=7)
    quickly = call.get(f"/datasets/{name}-v1").json()
    monkeypatch.setattr(service_database._QuickRows, "first", blocked)
    assert call.get("/datasets").status_code == 200
    by_thread = call.get(f"/datasets/{name}-v1").json()
    unsigned = [{key: value for key, value in told.items() if key not in SIGNED} for told in (quickly, by_thread)]
    assert unsigned[0] == unsigned[1] == next(row for row in call.get("/datasets").json() if row["id"] == f"{name}-v1")
    assert call.get("/datasets/none-v1").status_code == 404
    assert call.get("/datasets", headers={"Authorization": "Bearer nk_no_body"}).status_code == 401


def test_a_reader_waits_for_no_writer(catalog: RunningService, call: Caller) -> None:
    """Neither for its turn nor for its lock: also where the last use of the key is to be written."""
    key = catalog.new_key("read")
    with catalog.database.write(), Caller(catalog.url, key) as reader:
        reader.timeout = 5
        assert reader.get("/datasets").status_code == 200


def test_a_server_is_asked_by_a_thread(postgres: Postgres, name: str) -> None:
    address = postgres.database(name)
    keys = KeyStore(address)
    _, key = keys.create("a", "read")
    database = Database(address)
    check = KeyCheck(database)
    with pytest.raises(WouldWaitError):
        check.access(key, wait=False)
    assert check.access(key) is not None
    check.close()
    database.close()
    keys.close()


def test_looking_at_the_own_key_is_no_use_of_it(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'service.db'}"
    keys = KeyStore(address)
    _, key = keys.create("a", "read")
    database = Database(address)
    for note, used in ((False, False), (True, True)):
        check = KeyCheck(database)
        assert check.access(key, note=note) is not None
        check.close()
        assert (keys.list()[0].last_used_at is not None) is used
    database.close()
    keys.close()


def test_a_log_that_nobody_reads_stops_nothing() -> None:
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(1)
    handler = _Hurried(waiting)
    for number in range(3):
        handler.handle(logging.LogRecord("a", logging.INFO, "f", number, "line %d", (number,), None))
    assert waiting.get_nowait().getMessage() == "line 0" and waiting.empty()


def test_garbage_of_the_start_is_not_looked_through_again() -> None:
    before = sys.getswitchinterval()
    try:
        _settle_interpreter()
        assert gc.get_freeze_count() > 10_000
        assert sys.getswitchinterval() < 0.001
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)
