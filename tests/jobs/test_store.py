from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.errors import JobError, StateError
from noeira_tui.core.owner import FOREIGN_HEARTBEAT_S, ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import store as store_module
from noeira_tui.jobs.records import LIVE, RETRYABLE, JobFailure, JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.rows import owner_json
from noeira_tui.jobs.store import KEEP_FOR_S, START_GRACE_S, JobStore
from tests.jobs.conftest import Clock

HALF = ProgressSnapshot(bytes_done=50, bytes_total=100, items_done=1, items_total=2, rate=7.5, phase="downloading")


def running(store: JobStore, spec: JobSpec, owner: ProcessOwner) -> JobRecord:
    record = store.take_up(store.create(spec).id, owner)
    assert store.try_start(record.id, slots=64)
    return store.peek(record.id)


def kill(db: StateDb, living: ProcessOwner, dead: ProcessOwner) -> None:
    """Have `living`'s rows belong to a process that is gone."""
    with db.transaction("") as connection:
        connection.execute("UPDATE jobs SET owner = ? WHERE owner = ?", (owner_json(dead), owner_json(living)))


def ended(store: JobStore, spec: JobSpec, owner: ProcessOwner, state: JobState = JobState.FAILED) -> JobRecord:
    record = running(store, spec, owner)
    assert store.finish(record.id, state, HALF, owner=owner)
    return store.peek(record.id)


def test_a_new_job_waits_and_remembers_what_it_is(store: JobStore, spec: JobSpec, clock: Clock) -> None:
    spec = replace(spec, env_file=Path("/some/.env"), takes_slot=False)
    record = store.create(spec)
    assert record == JobRecord(1, spec, JobState.QUEUED, ProgressSnapshot(), clock.now)
    assert store.get(1) == record
    assert store.list() == (record,)


def test_a_name_that_is_not_utf8_is_kept_as_one_reads_it_and_such_a_place_is_refused(
    store: JobStore, spec: JobSpec
) -> None:
    record = store.create(replace(spec, title="ingest \udcff", target="lab/\udcff"))
    assert (record.spec.title, record.spec.target) == (r"ingest \udcff", r"lab/\udcff")
    with pytest.raises(StateError, match="not UTF-8"):
        store.create(replace(spec, root=Path("/data/\udcff")))
    assert len(store.list()) == 1


@pytest.mark.parametrize("number", [0, -1, 7, 2**63, 10**30])
def test_a_number_that_no_job_has_is_told(store: JobStore, number: int) -> None:
    for asked in (
        store.get,
        lambda job_id: store.ask(job_id, Request.CANCEL),
        lambda job_id: store.requeue(job_id, None),
    ):
        with pytest.raises(JobError, match=f"no job {number}"):
            asked(number)


def test_a_foreground_job_runs_at_once(store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock) -> None:
    record = store.create(spec, owner=me)
    assert (record.state, record.owner, record.started_at) == (JobState.RUNNING, me, clock.now)


def test_a_whole_life(store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock) -> None:
    record = store.create(spec)
    clock.now += 1
    assert store.take_up(record.id, me).owner == me
    assert store.try_start(record.id, slots=2)
    assert store.beat(record.id, me, HALF) is Request.NONE
    seen = store.get(record.id)
    assert (seen.state, seen.progress, seen.heartbeat_at) == (JobState.RUNNING, HALF, clock.now)
    clock.now += 5
    assert store.finish(record.id, JobState.DONE, HALF, owner=me, result='{"n": 1}')
    seen = store.get(record.id)
    assert (seen.state, seen.result, seen.finished_at, seen.failure) == (JobState.DONE, '{"n": 1}', clock.now, None)
    assert not seen.is_live and not seen.can_retry


def test_newest_first(store: JobStore, spec: JobSpec) -> None:
    assert [store.create(spec).id for _ in range(3)] == [1, 2, 3]
    assert [record.id for record in store.list()] == [3, 2, 1]


def test_there_is_no_such_job(store: JobStore) -> None:
    for ask in (store.get, store.peek, lambda job_id: store.ask(job_id, Request.CANCEL)):
        with pytest.raises(JobError, match="There is no job 7"):
            ask(7)


def test_every_change_changes_the_version(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    seen = [store.version()]

    def after(change: Callable[[], object]) -> None:
        change()
        assert store.version() != seen[-1]
        seen.append(store.version())

    after(lambda: store.create(spec))
    after(lambda: store.take_up(1, me))
    after(lambda: store.try_start(1, 2))
    after(lambda: store.beat(1, me, HALF))
    after(lambda: store.ask(1, Request.PAUSE))
    after(lambda: store.finish(1, JobState.FAILED, HALF, owner=me))
    after(lambda: store.requeue(1, "http://service"))
    after(lambda: store.ask(1, Request.CANCEL))
    after(store.prune)
    after(lambda: store.create(spec))


def test_a_number_is_never_given_twice(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    ended(store, spec, me)
    assert store.prune() == (1,)
    assert store.create(spec).id == 2


# -- slots


def test_slots_go_to_the_oldest_and_are_given_back(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    jobs = [store.take_up(store.create(spec).id, me).id for _ in range(4)]
    assert [store.try_start(job, 2) for job in reversed(jobs)] == [False, False, True, True]
    assert store.peek(jobs[3]).state is JobState.QUEUED
    store.finish(jobs[0], JobState.DONE, HALF, owner=me)
    assert not store.try_start(jobs[3], 2), "the older one goes first"
    assert store.try_start(jobs[2], 2)
    store.beat(jobs[1], me, HALF, paused=True)
    assert store.try_start(jobs[3], 2), "a paused job gives its slot away"


def test_the_last_slot_is_kept_for_an_older_job_that_waits(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    first, second, third = (store.take_up(store.create(spec).id, me).id for _ in range(3))
    assert store.try_start(first, 2)
    assert not store.try_start(third, 2)
    store.ask(second, Request.PAUSE)
    assert not store.try_start(second, 2), "asked to stand still, it does not begin"
    assert store.try_start(third, 2), "and holds nobody up"
    store.ask(second, Request.NONE)
    store.finish(first, JobState.DONE, HALF, owner=me)
    assert store.try_start(second, 2)


def test_the_foreground_takes_no_slot(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    free = replace(spec, takes_slot=False)
    for _ in range(3):
        store.create(free, owner=me)
    assert store.try_start(store.take_up(store.create(spec).id, me).id, 1)
    assert store.try_start(store.take_up(store.create(free).id, me).id, 1)


def test_what_is_over_does_not_start(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    record = ended(store, spec, me)
    assert not store.try_start(record.id, 2)
    assert not store.try_start(99, 2)


def test_how_many_go_before(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    running(store, spec, me)
    store.create(replace(spec, takes_slot=False), owner=me)
    waiting = [store.take_up(store.create(spec).id, me).id for _ in range(3)]
    assert [store.in_line(job)[1] for job in waiting] == [1, 2, 3]
    assert store.in_line(waiting[0])[0] == store.peek(waiting[0])
    store.ask(waiting[0], Request.PAUSE)
    assert [store.in_line(job)[1] for job in waiting] == [1, 1, 2]
    with pytest.raises(JobError, match="There is no job 99"):
        store.in_line(99)


def test_to_ask_for_a_slot_writes_nothing(store: JobStore, spec: JobSpec, me: ProcessOwner, db: StateDb) -> None:
    """Fifty waiting jobs ask two hundred times a second; the running ones must not wait for them."""
    running(store, spec, me)
    waiting = store.take_up(store.create(spec).id, me)
    before = db.path.read_bytes()
    assert not store.try_start(waiting.id, 1)
    assert db.path.read_bytes() == before


# -- who is gone


def test_a_dead_runner_is_interrupted_and_never_shown_as_running(
    store: JobStore, spec: JobSpec, me: ProcessOwner, dead: ProcessOwner, db: StateDb, clock: Clock
) -> None:
    job = running(store, spec, me).id
    store.beat(job, me, HALF)
    beat_at = clock.now
    kill(db, me, dead)
    clock.now += 1000
    seen = store.list()[0]
    assert (seen.state, seen.progress, seen.finished_at) == (JobState.INTERRUPTED, HALF, beat_at)
    assert seen.can_retry
    assert store.get(job) == seen


def test_a_dead_runner_that_was_to_stop_is_cancelled(
    store: JobStore, spec: JobSpec, me: ProcessOwner, dead: ProcessOwner, db: StateDb
) -> None:
    job = running(store, spec, me).id
    store.ask(job, Request.CANCEL)
    kill(db, me, dead)
    assert store.get(job).state is JobState.CANCELLED


def test_a_dead_runner_gives_its_slot_back(
    store: JobStore, spec: JobSpec, me: ProcessOwner, dead: ProcessOwner, db: StateDb
) -> None:
    running(store, spec, me)
    kill(db, me, dead)
    waiting = store.take_up(store.create(spec).id, me)
    assert store.count_running() == 0
    assert store.try_start(waiting.id, 1)


def test_a_waiting_job_whose_process_died_holds_nobody_up(
    store: JobStore, spec: JobSpec, me: ProcessOwner, dead: ProcessOwner
) -> None:
    first = store.take_up(store.create(spec).id, dead)
    second = store.take_up(store.create(spec).id, me)
    assert store.peek(first.id).state is JobState.INTERRUPTED
    assert store.try_start(second.id, 1)


def test_a_job_that_no_process_takes_up_is_interrupted(store: JobStore, spec: JobSpec, clock: Clock) -> None:
    job = store.create(spec).id
    clock.now += START_GRACE_S - 1
    assert store.get(job).state is JobState.QUEUED
    clock.now += 2
    assert store.get(job).state is JobState.INTERRUPTED


def test_a_clock_that_was_set_back_leaves_no_job_waiting_for_ever(store: JobStore, spec: JobSpec, clock: Clock) -> None:
    job = store.create(spec).id
    clock.now -= 86400
    assert store.get(job).state is JobState.INTERRUPTED


def test_a_clock_that_jumps_does_not_end_a_living_job(
    store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock
) -> None:
    job = running(store, spec, me).id
    for jump in (-86400, 2 * 86400):
        clock.now += jump
        assert store.get(job).state is JobState.RUNNING


def test_another_hosts_job_is_interrupted_only_after_a_minute_of_silence(
    store: JobStore, spec: JobSpec, foreign: ProcessOwner, clock: Clock
) -> None:
    job = running(store, spec, foreign).id
    clock.now += FOREIGN_HEARTBEAT_S - 1
    assert store.get(job).state is JobState.RUNNING
    store.beat(job, foreign, HALF)
    clock.now += FOREIGN_HEARTBEAT_S - 1
    assert store.get(job).state is JobState.RUNNING
    clock.now += 2
    assert store.get(job).state is JobState.INTERRUPTED


def test_another_hosts_job_that_was_only_suspended_runs_again(
    store: JobStore, spec: JobSpec, foreign: ProcessOwner, clock: Clock
) -> None:
    job = running(store, spec, foreign).id
    clock.now += 3600
    assert store.get(job).state is JobState.INTERRUPTED
    assert store.beat(job, foreign, HALF) is Request.NONE
    assert (store.get(job).state, store.get(job).finished_at) == (JobState.RUNNING, None)
    assert store.finish(job, JobState.DONE, HALF, owner=foreign)
    assert store.get(job).state is JobState.DONE


# -- one row, one process


def test_only_one_process_takes_a_job_up(
    store: JobStore, spec: JobSpec, me: ProcessOwner, foreign: ProcessOwner
) -> None:
    job = store.create(spec).id
    store.take_up(job, me)
    for other in (foreign, me):
        with pytest.raises(JobError, match="not waiting"):
            store.take_up(job, other)
    assert store.get(job).owner == me


def test_a_runner_whose_job_was_given_to_another_one_stops_and_writes_nothing(
    store: JobStore, spec: JobSpec, me: ProcessOwner, foreign: ProcessOwner, clock: Clock
) -> None:
    job = running(store, spec, foreign).id
    clock.now += 3600
    store.requeue(job, "http://service")
    store.take_up(job, me)
    store.try_start(job, 2)
    before = store.get(job)
    assert store.beat(job, foreign, HALF) is Request.CANCEL
    assert store.request(job, foreign) is Request.CANCEL
    assert not store.finish(job, JobState.DONE, HALF, owner=foreign)
    assert store.get(job) == before
    assert store.request(job, me) is Request.NONE


def test_a_lost_database_gives_no_row_to_a_runner_of_the_old_one(
    store: JobStore, spec: JobSpec, me: ProcessOwner, foreign: ProcessOwner, db: StateDb
) -> None:
    job = running(store, spec, me).id
    db.path.unlink()
    assert store.create(spec, owner=foreign).id == job, "numbers begin again"
    assert store.beat(job, me, HALF) is Request.CANCEL
    assert not store.finish(job, JobState.DONE, HALF, owner=me)
    assert store.peek(job).state is JobState.RUNNING
    db.path.unlink()
    assert store.beat(job, me, HALF) is Request.CANCEL
    assert store.request(job, me) is Request.CANCEL


def test_what_is_over_stays_as_it_ended(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    """A job that ended by itself just before it was to be killed is done, not cancelled."""
    job = ended(store, spec, me, JobState.DONE)
    assert not store.finish(job.id, JobState.CANCELLED, HALF, owner=me)
    assert store.beat(job.id, me, ProgressSnapshot()) is Request.CANCEL
    assert store.get(job.id) == job


# -- requests


def test_requests_reach_the_runner(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    job = running(store, spec, me).id
    assert store.request(job, me) is Request.NONE
    store.ask(job, Request.PAUSE)
    assert store.request(job, me) is Request.PAUSE
    assert store.beat(job, me, HALF, paused=True) is Request.PAUSE
    assert store.get(job).state is JobState.PAUSED
    store.ask(job, Request.NONE)
    assert store.beat(job, me, HALF) is Request.NONE
    assert store.get(job).state is JobState.RUNNING
    store.ask(job, Request.CANCEL)
    assert store.beat(job, me, HALF) is Request.CANCEL


@pytest.mark.parametrize("after", [Request.PAUSE, Request.NONE])
def test_a_cancel_is_not_taken_back(store: JobStore, spec: JobSpec, me: ProcessOwner, after: Request) -> None:
    job = running(store, spec, me).id
    store.ask(job, Request.CANCEL)
    store.ask(job, after)
    assert store.request(job, me) is Request.CANCEL


def test_to_cancel_a_job_that_nobody_took_up_ends_it(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    job = store.create(spec).id
    assert store.ask(job, Request.CANCEL).state is JobState.CANCELLED
    with pytest.raises(JobError, match="not waiting"):
        store.take_up(job, me)


@pytest.mark.parametrize("state", sorted(set(JobState) - LIVE))
def test_what_is_over_cannot_be_asked_anything(
    store: JobStore, spec: JobSpec, me: ProcessOwner, state: JobState
) -> None:
    job = ended(store, spec, me, state)
    with pytest.raises(JobError, match=f"is {state} already"):
        store.ask(job.id, Request.PAUSE)


# -- retry


@pytest.mark.parametrize("state", sorted(RETRYABLE))
def test_a_retry_begins_afresh_and_keeps_its_number(
    store: JobStore, spec: JobSpec, me: ProcessOwner, state: JobState
) -> None:
    record = running(store, spec, me)
    failure = JobFailure("T", "m", "h", retryable=True)
    store.finish(record.id, state, HALF, owner=me, failure=failure)
    assert store.get(record.id).failure == failure
    again = store.requeue(record.id, "http://service")
    assert (again.id, again.spec, again.state, again.retries) == (record.id, spec, JobState.QUEUED, 1)
    assert (again.owner, again.failure, again.result, again.finished_at, again.request) == (None,) * 4 + (Request.NONE,)
    assert again.progress == HALF, "what is on disk is still there"


def test_what_runs_or_is_done_is_not_retried(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    with pytest.raises(JobError, match="is still running"):
        store.requeue(running(store, spec, me).id, "http://service")
    with pytest.raises(JobError, match="is done"):
        store.requeue(ended(store, spec, me, JobState.DONE).id, "http://service")


@pytest.mark.parametrize("url", ["http://another", None])
def test_a_retry_against_another_service_is_refused(
    store: JobStore, spec: JobSpec, me: ProcessOwner, url: str | None
) -> None:
    job = ended(store, spec, me)
    with pytest.raises(JobError, match="belongs to http://service"):
        store.requeue(job.id, url)
    assert store.get(job.id) == job


# -- pruning


def test_prune_forgets_what_is_over_with_its_log(store: JobStore, spec: JobSpec, me: ProcessOwner) -> None:
    store.folder.mkdir(parents=True)
    over, live = ended(store, spec, me), running(store, spec, me)
    for record in (over, live):
        store.log_path(record.id).write_text("log")
    assert store.prune() == (over.id,)
    assert [record.id for record in store.list()] == [live.id]
    assert [path.name for path in store.folder.iterdir()] == [f"{live.id}.log"]


def test_prune_by_number_and_by_age(store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock) -> None:
    for _ in range(5):
        ended(store, spec, me)
        clock.now += 10
    assert store.prune(keep=4) == (1,)
    assert store.prune(keep=4, older_than=clock.now - 35) == (2,)
    assert [record.id for record in store.list()] == [5, 4, 3]


def test_old_rows_go_by_themselves(
    store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "KEEP_FINISHED", 20)
    for _ in range(23):
        job = store.create(spec, owner=me)
        store.finish(job.id, JobState.DONE, HALF, owner=me)
    assert len(store.list()) == 21
    clock.now += KEEP_FOR_S + 1
    newest = store.create(spec)
    assert [record.id for record in store.list()] == [newest.id]


def test_a_log_that_cannot_be_removed_keeps_no_job_from_starting(
    store: JobStore, spec: JobSpec, me: ProcessOwner, clock: Clock
) -> None:
    job = ended(store, spec, me)
    (store.log_path(job.id) / "x").mkdir(parents=True)
    clock.now += KEEP_FOR_S + 1
    assert store.create(spec).id == 2
    assert [record.id for record in store.list()] == [2]


def test_a_state_folder_that_cannot_be_used_is_a_state_error(tmp_path: Path, spec: JobSpec) -> None:
    (tmp_path / "file").touch()
    store = JobStore(StateDb(tmp_path / "file"))
    for use in (lambda: store.create(spec), store.list, store.version, store.prune, store.count_running):
        with pytest.raises(StateError, match=str(tmp_path / "file")):
            use()
