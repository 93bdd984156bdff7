"""Rows that this version did not write: newer ones, and damaged ones."""

from __future__ import annotations

import json

import pytest

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.records import JobFailure, JobSpec, JobState, Request
from noeira_tui.jobs.rows import owner_json, owner_of, request_of
from noeira_tui.jobs.store import JobStore
from tests.jobs.conftest import Clock


def rewrite(db: StateDb, column: str, value: object) -> None:
    with db.transaction("") as connection:
        connection.execute(f"UPDATE jobs SET {column} = ?", (value,))


def add_field(db: StateDb, column: str) -> None:
    with db.transaction("") as connection:
        (text,) = connection.execute(f"SELECT {column} FROM jobs").fetchone()
        connection.execute(f"UPDATE jobs SET {column} = ?", (json.dumps({**json.loads(text), "of_the_future": [1]}),))


def test_owners_come_back_as_they_were(me: ProcessOwner) -> None:
    assert owner_of(owner_json(me)) == me
    assert owner_json(ProcessOwner.me()) == owner_json(me), "a row is found by it"


def test_fields_of_a_newer_version_are_left_out(store: JobStore, db: StateDb, spec: JobSpec, me: ProcessOwner) -> None:
    job = store.create(spec, owner=me).id
    progress, failure = ProgressSnapshot(5, 9), JobFailure("T", "m")
    store.finish(job, JobState.FAILED, progress, owner=me, failure=failure)
    for column in ("owner", "progress", "failure"):
        add_field(db, column)
    seen = store.list()[0]
    assert (seen.owner, seen.progress, seen.failure) == (me, progress, failure)


def test_a_new_column_does_no_harm(store: JobStore, db: StateDb, spec: JobSpec) -> None:
    store.create(spec)
    with db.transaction("") as connection:
        connection.execute("ALTER TABLE jobs ADD COLUMN of_the_future TEXT")
    store.create(spec)
    assert [record.id for record in store.list()] == [2, 1]


@pytest.mark.parametrize(("finished", "shown"), [(None, JobState.RUNNING), (1.0, JobState.DONE)])
def test_a_state_of_a_newer_version_is_never_offered_for_a_retry(
    store: JobStore, db: StateDb, spec: JobSpec, me: ProcessOwner, finished: float | None, shown: JobState
) -> None:
    job = store.create(spec, owner=me).id
    rewrite(db, "state", "hibernating")
    rewrite(db, "finished_at", finished)
    assert store.get(job).state is shown
    assert not store.get(job).can_retry


def test_a_request_of_a_newer_version_asks_nothing(
    store: JobStore, db: StateDb, spec: JobSpec, me: ProcessOwner
) -> None:
    job = store.create(spec, owner=me).id
    rewrite(db, "request", "slow down")
    assert store.get(job).request is Request.NONE
    assert store.beat(job, me, ProgressSnapshot()) is Request.NONE
    assert request_of("cancel") is Request.CANCEL


@pytest.mark.parametrize("garbage", ["", "null", "[]", "{", "7", '{"bytes_done": 1', '"x"'])
@pytest.mark.parametrize("column", ["owner", "progress", "failure"])
def test_a_damaged_column_costs_only_itself(
    store: JobStore, db: StateDb, spec: JobSpec, me: ProcessOwner, column: str, garbage: str
) -> None:
    job = store.create(spec, owner=me).id
    rewrite(db, column, garbage)
    seen = store.list()[0]
    assert (seen.id, seen.spec, seen.state) == (job, spec, JobState.RUNNING)


def test_a_job_whose_owner_cannot_be_read_is_not_running_for_ever(
    store: JobStore, db: StateDb, spec: JobSpec, me: ProcessOwner, clock: Clock
) -> None:
    job = store.create(spec, owner=me).id
    rewrite(db, "owner", "{}")
    clock.now += 61
    assert store.get(job).state is JobState.INTERRUPTED
