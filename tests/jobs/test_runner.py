"""The runner in this process: every way work can end is told in its row."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, ConfigError, JobError, NetworkError, StateError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.jobs import runner
from noeira_tui.jobs.kinds import CatalogPull, CatalogPush, kind_of
from noeira_tui.jobs.records import JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.store import JobStore
from noeira_tui.jobs.work import SharedRate, Work
from tests.support.waiting import until

SIGNED = "https://store/key?X-Amz-Signature=5ecret5ecret"


class Errand:
    """Work of a test."""

    def __init__(self, do: Callable[[Work], object]) -> None:
        self._do = do

    def run(self, work: Work) -> object:
        return self._do(work)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    said: list[str] = []
    environ = {"NOEIRA_CLOUD_URL": "http://service", "NOEIRA_STATE": str(tmp_path / "state")}
    return Work(Settings.load(environ=environ, cwd=tmp_path), say=said.append)


@pytest.fixture
def job(store: JobStore, spec: JobSpec, me: ProcessOwner) -> JobRecord:
    return store.create(spec, owner=me)


@pytest.fixture
def errand(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Work], object]], None]:
    """Have the next job do this."""
    monkeypatch.setattr(runner, "BEAT_EVERY_S", 0.01)
    monkeypatch.setattr(runner, "outcome_json", str)
    return lambda do: monkeypatch.setattr(runner, "kind_of", lambda spec: Errand(do))


Give = Callable[[Callable[[Work], object]], None]


def test_work_that_is_done(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    def do(work: Work) -> str:
        work.progress.expect(size_bytes=9)
        work.progress.advance(9)
        until(lambda: store.peek(job.id).progress.bytes_done == 9, what="a beat")
        return "outcome"

    errand(do)
    assert runner.run_recorded(store, job, work) == "outcome"
    seen = store.get(job.id)
    assert (seen.state, seen.result, seen.failure) == (JobState.DONE, "outcome", None)
    assert (seen.progress.bytes_done, seen.progress.bytes_total) == (9, 9)


def test_work_that_fails_says_why_without_secrets(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    def do(work: Work) -> None:
        work.progress.advance(4)
        raise NetworkError(f"GET {SIGNED} broke off.", hint="Retry.")

    errand(do)
    with pytest.raises(NetworkError):
        runner.run_recorded(store, job, work)
    seen = store.get(job.id)
    assert seen.state is JobState.FAILED and seen.can_retry and seen.progress.bytes_done == 4
    assert seen.failure is not None
    assert (seen.failure.title, seen.failure.hint, seen.failure.retryable) == ("Connection lost", "Retry.", True)
    assert seen.failure.message == "GET https://store/key?… broke off."


def test_an_unforeseen_failure_is_told_as_one(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    def do(work: Work) -> None:
        raise ZeroDivisionError(f"in {SIGNED}")

    errand(do)
    with pytest.raises(ZeroDivisionError):
        runner.run_recorded(store, job, work)
    seen = store.get(job.id)
    assert seen.state is JobState.FAILED and seen.failure is not None
    assert seen.failure.message == "ZeroDivisionError: in https://store/key?…"
    assert seen.failure.title == "Unexpected error"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_impatient_user_is_no_bug(
    store: JobStore, job: JobRecord, work: Work, errand: Give, interrupt: type[BaseException]
) -> None:
    def do(work: Work) -> None:
        raise interrupt

    errand(do)
    with pytest.raises(interrupt):
        runner.run_recorded(store, job, work)
    seen = store.get(job.id)
    assert (seen.state, seen.failure) == (JobState.INTERRUPTED, None)


def until_cancelled(work: Work) -> None:
    while True:
        work.cancel.sleep(0.01)


def test_work_that_was_asked_to_stop(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    errand(until_cancelled)
    store.ask(job.id, Request.CANCEL)
    with pytest.raises(CancelledError):
        runner.run_recorded(store, job, work)
    seen = store.get(job.id)
    assert (seen.state, seen.failure, seen.request) == (JobState.CANCELLED, None, Request.NONE)


def test_work_that_a_signal_stopped_is_interrupted(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    errand(until_cancelled)
    work.cancel.cancel()
    with pytest.raises(CancelledError):
        runner.run_recorded(store, job, work)
    assert store.get(job.id).state is JobState.INTERRUPTED


def test_pause_and_resume(store: JobStore, job: JobRecord, work: Work, errand: Give) -> None:
    errand(until_cancelled)
    ended = threading.Event()

    def run() -> None:
        with pytest.raises(CancelledError):
            runner.run_recorded(store, job, work)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    store.ask(job.id, Request.PAUSE)
    until(lambda: store.get(job.id).state is JobState.PAUSED)
    assert work.cancel.is_paused
    store.ask(job.id, Request.NONE)
    until(lambda: store.get(job.id).state is JobState.RUNNING)
    assert not work.cancel.is_paused
    store.ask(job.id, Request.PAUSE)
    until(lambda: store.get(job.id).state is JobState.PAUSED)
    store.ask(job.id, Request.CANCEL)
    assert ended.wait(10), "a paused job must hear a cancel"
    assert store.get(job.id).state is JobState.CANCELLED


def test_work_stops_when_its_row_is_given_away(
    store: JobStore, job: JobRecord, work: Work, errand: Give, foreign: ProcessOwner
) -> None:
    errand(until_cancelled)
    store.finish(job.id, JobState.FAILED, ProgressSnapshot(), owner=job.owner)
    store.requeue(job.id, "http://service")
    store.take_up(job.id, foreign)
    before = store.peek(job.id)
    with pytest.raises(CancelledError):
        runner.run_recorded(store, job, work)
    assert store.peek(job.id) == before


def test_an_idle_job_still_beats(
    store: JobStore, job: JobRecord, work: Work, errand: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host takes a minute of silence for death; work that hashes or waits has nothing new to tell."""
    monkeypatch.setattr(runner, "_QUIET_BEAT_EVERY_S", 0.05)
    beats: list[ProgressSnapshot] = []
    beat = store.beat

    def counted(job_id: int, owner: ProcessOwner, progress: ProgressSnapshot, *, paused: bool = False) -> Request:
        beats.append(progress)
        return beat(job_id, owner, progress, paused=paused)

    monkeypatch.setattr(store, "beat", counted)
    errand(lambda work: until(lambda: len(beats) >= 3))
    runner.run_recorded(store, job, work)
    assert len({replace(progress, elapsed_s=0) for progress in beats}) == 1


def test_a_slow_disk_is_written_to_less_often_and_cancels_are_still_heard(
    store: JobStore, job: JobRecord, work: Work, errand: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[float] = []
    beat = store.beat

    def slow(job_id: int, owner: ProcessOwner, progress: ProgressSnapshot, *, paused: bool = False) -> Request:
        began = time.monotonic()
        while time.monotonic() < began + 0.05:
            work.progress.advance(1)
        beats.append(began)
        return beat(job_id, owner, progress, paused=paused)

    def do(work: Work) -> None:
        until(lambda: len(beats) >= 4)
        store.ask(job.id, Request.CANCEL)
        until_cancelled(work)

    monkeypatch.setattr(store, "beat", slow)
    errand(do)
    with pytest.raises(CancelledError):
        runner.run_recorded(store, job, work)
    assert min(later - earlier for earlier, later in pairwise(beats)) >= 0.05 / runner._WRITING_SHARE
    assert store.get(job.id).state is JobState.CANCELLED


def test_progress_that_cannot_be_written_is_said_once_and_work_goes_on(
    store: JobStore, job: JobRecord, tmp_path: Path, work: Work, errand: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    tries: list[int] = []

    def broken(*arguments: object, **more: object) -> Request:
        tries.append(1)
        raise StateError("disk full")

    monkeypatch.setattr(store, "beat", broken)
    monkeypatch.setattr(store, "finish", broken)
    errand(lambda work: until(lambda: len(tries) > 3))
    runner.run_recorded(store, job, replace(work, say=said.append))
    assert len(said) == 2
    assert "cannot be recorded" in said[0] and "cannot be recorded" in said[1]


# -- kinds


def test_a_job_of_an_unknown_kind_fails_and_says_so(
    store: JobStore, spec: JobSpec, me: ProcessOwner, work: Work
) -> None:
    for bad in (replace(spec, kind="of-the-future"), replace(spec, params='{"colour": 1}'), replace(spec, params="{")):
        record = store.create(bad, owner=me)
        with pytest.raises(JobError):
            runner.run_recorded(store, record, work)
        seen = store.get(record.id)
        assert seen.state is JobState.FAILED
        assert seen.failure is not None and bad.kind in seen.failure.message


@pytest.mark.parametrize("kind", [CatalogPull("x-v1", "/some/x", force=True), CatalogPush("/some/x", "x", seed=7)])
def test_a_kind_comes_back_from_its_row(work: Work, kind: CatalogPull | CatalogPush) -> None:
    spec = kind.spec(work.settings)
    assert kind_of(spec) == kind
    assert spec.service_url == "http://service"
    assert spec.target == "x-v1"


# -- in the foreground


def test_a_foreground_command_is_a_job_without_a_slot(
    store: JobStore, work: Work, errand: Give, me: ProcessOwner
) -> None:
    def do(work: Work) -> str:
        (record,) = store.list()
        assert (record.state, record.owner, record.spec.takes_slot) == (JobState.RUNNING, me, False)
        return "outcome"

    errand(do)
    assert runner.run_foreground(work.settings, CatalogPull("x-v1"), work) == "outcome"
    assert store.list()[0].state is JobState.DONE


def test_without_a_state_folder_it_runs_unrecorded_warns_and_keeps_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    environ = {
        "NOEIRA_CLOUD_URL": "http://service",
        "NOEIRA_STATE": str(tmp_path / "file" / "state"),
        "NOEIRA_MAX_RATE": "1MB",
    }
    said: list[str] = []
    ran: list[Work] = []
    monkeypatch.setattr(CatalogPull, "run", lambda self, work: ran.append(work))
    settings = Settings.load(environ=environ, cwd=tmp_path)
    runner.run_foreground(settings, CatalogPull("x-v1"), Work(settings, say=said.append))
    assert len(said) == 1 and str(tmp_path / "file" / "state") in said[0] and "unrecorded" in said[0]
    assert isinstance(ran[0].context.limit, SharedRate)


def test_a_job_without_a_service_is_not_made(store: JobStore, tmp_path: Path) -> None:
    settings = Settings.load(environ={}, cwd=tmp_path)
    with pytest.raises(ConfigError, match="NOEIRA_CLOUD_URL"):
        runner.run_foreground(settings, CatalogPull("x-v1"), Work(settings))
    assert store.list() == ()
