"""Which failures of a database pass by themselves, and what is said of the others."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from noeira_tui.service.config import ServiceConfig, database_url_of
from noeira_tui.service.database import Database, trouble_of
from tests.support.service_client import Caller
from tests.support.service_fixture import running_service
from tests.support.service_postgres import Postgres


class FromServerError(Exception):
    """What a Postgres driver raises: a text and the server's code."""

    def __init__(self, words: str, sqlstate: str | None) -> None:
        super().__init__(words)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("err", "words"),
    [
        (OperationalError("", None, sqlite3.OperationalError("database is locked")), "busy"),
        (OperationalError("", None, sqlite3.OperationalError("database or disk is full")), "no room"),
        (OperationalError("", None, FromServerError("deadlock detected", "40P01")), "busy"),
        (OperationalError("", None, FromServerError("too many clients", "53300")), "busy"),
        (OperationalError("", None, FromServerError("disk full", "53100")), "no room"),
        (OperationalError("", None, FromServerError("the server is starting up", "57P03")), "no answer"),
        (OperationalError("", None, FromServerError("terminating connection", "57P01")), "no answer"),
        (OperationalError("", None, FromServerError("lost", "08006")), "no answer"),
        (OperationalError("", None, Exception("lost"), connection_invalidated=True), "no answer"),
    ],
)
def test_what_passes_by_itself(err: DBAPIError, words: str) -> None:
    assert words in (trouble_of(err) or "")


@pytest.mark.parametrize(
    "err",
    [
        OperationalError("", None, sqlite3.OperationalError("no such column: blobs.unnamed_since")),
        OperationalError("", None, sqlite3.OperationalError("no such table: blobs")),
        ProgrammingError("", None, FromServerError("column does not exist", "42703")),
        OperationalError("", None, FromServerError("password authentication failed", "28P01")),
    ],
)
def test_what_does_not(err: DBAPIError) -> None:
    assert trouble_of(err) is None


def test_a_server_that_is_not_there_gives_no_answer(postgres: Postgres) -> None:
    database = Database(postgres.url("nothing").replace(f":{postgres.port}", ":1"))
    with pytest.raises(OperationalError) as caught:
        database.check()
    assert "no answer" in (trouble_of(caught.value) or "")


def test_a_missing_column_is_a_defect_and_not_a_pause(tmp_path: Path) -> None:
    with running_service(tmp_path) as service, Caller(service.url, service.key) as call:
        engine = create_engine(database_url_of(tmp_path))
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE datasets DROP COLUMN env_id"))
        engine.dispose()
        answer = call.get("/datasets")
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal error; the service's log has more"})
        assert "Retry-After" not in answer.headers


def test_a_locked_database_is_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noeira_tui.service.database._BUSY_TIMEOUT_MS", 50)
    with running_service(tmp_path, ServiceConfig(tmp_path, port=0)) as service:
        with Caller(service.url, service.key) as call:
            call.get("/datasets")
            other = sqlite3.connect(tmp_path / "service.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            answer = call.post("/datasets", json={"name": "a", "version": "v1"})
            assert (answer.status_code, answer.json()["error"]) == (503, "The database is busy; try again")
            assert answer.headers["Retry-After"] == "1"
            other.execute("ROLLBACK")
            other.close()
            assert call.post("/datasets", json={"name": "a", "version": "v1"}).status_code == 201


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_addresses_as_people_write_them(postgres: Postgres, name: str, scheme: str) -> None:
    address = postgres.database(name).replace("postgresql+psycopg", scheme)
    database = Database(address)
    database.create()
    database.check()
    assert "hush" not in Database(address.replace("tests@", "tests:hush@")).place
    database.close()
