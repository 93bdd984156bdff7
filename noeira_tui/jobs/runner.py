"""Running one piece of work as a job: progress into its row, requests out of it, and every ending told."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from noeira_tui.core.errors import CancelledError, JobError, NoeiraError, StateError
from noeira_tui.core.owner import FOREIGN_HEARTBEAT_S, ProcessOwner
from noeira_tui.core.progress import CancelToken, Progress, ProgressSnapshot
from noeira_tui.core.redact import redact
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.kinds import AnyKind, AnyOutcome, kind_of, outcome_json
from noeira_tui.jobs.records import JobFailure, JobRecord, JobState, Request
from noeira_tui.jobs.store import JobStore
from noeira_tui.jobs.work import Work, shared_context
from noeira_tui.transfer.facts import TransferContext

BEAT_EVERY_S = 0.25
_QUIET_BEAT_EVERY_S = 5.0
_SLOT_POLL_S = 0.25
_SLOT_POLL_MAX_S = 2.0
_WRITING_SHARE = 0.2
"""At most this share of the time is spent writing progress, so that slow disks and network homes are not kept busy."""


class _Beat:
    """Writes a job's progress at most four times a second, and carries out what was asked of it."""

    def __init__(self, store: JobStore, record: JobRecord, work: Work) -> None:
        assert record.owner is not None, "only the process that owns a row beats for it"
        self._store = store
        self._job_id = record.id
        self._owner = record.owner
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"job-{record.id}-beat", daemon=True)
        self._written: tuple[ProgressSnapshot, bool] | None = None
        self._written_at = float("-inf")
        self._write_took_s = 0.0
        self.asked_to_cancel = False

    def __enter__(self) -> _Beat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        complained = False
        while not self._stop.wait(BEAT_EVERY_S):
            try:
                self._beat()
            except StateError as err:
                if not complained:
                    self._work.say(f"progress cannot be recorded: {err}")
                complained = True

    def _beat(self) -> None:
        cancel = self._work.cancel
        snapshot = self._work.progress.snapshot()
        seen = (replace(snapshot, elapsed_s=0.0), cancel.is_paused)
        now = time.monotonic()
        since_s = now - self._written_at
        if since_s < self._write_took_s / _WRITING_SHARE or (seen == self._written and since_s < _QUIET_BEAT_EVERY_S):
            request = self._store.request(self._job_id, self._owner)
        else:
            request = self._store.beat(self._job_id, self._owner, snapshot, paused=cancel.is_paused)
            self._written, self._written_at = seen, time.monotonic()
            self._write_took_s = min(self._written_at - now, _QUIET_BEAT_EVERY_S)
        if request is Request.CANCEL:
            self.asked_to_cancel = True
            cancel.cancel()
        elif request is Request.PAUSE:
            cancel.pause()
        else:
            cancel.resume()


def run_recorded(store: JobStore, record: JobRecord, work: Work) -> AnyOutcome:
    """Do a running row's work and write how it ended. Raises what the work raised."""
    beat = _Beat(store, record, work)
    try:
        kind = kind_of(record.spec)
        with beat:
            outcome = kind.run(work)
    except CancelledError as err:
        state = JobState.CANCELLED if beat.asked_to_cancel else JobState.INTERRUPTED
        _finish(store, record, state, work, None if beat.asked_to_cancel else err)
        raise
    except NoeiraError as err:
        _finish(store, record, JobState.FAILED, work, err)
        raise
    except (KeyboardInterrupt, SystemExit):
        # A second Ctrl-C: the user's doing, no fault of the work.
        _finish(store, record, JobState.INTERRUPTED, work, None)
        raise
    except BaseException as err:
        _finish(store, record, JobState.FAILED, work, _unexpected(err))
        raise
    _finish(store, record, JobState.DONE, work, None, outcome_json(outcome))
    return outcome


def _finish(
    store: JobStore, record: JobRecord, state: JobState, work: Work, err: NoeiraError | None, result: str | None = None
) -> None:
    failure = None if err is None else JobFailure(err.title, redact(err.message), err.hint, err.retryable)
    try:
        store.finish(record.id, state, work.progress.snapshot(), owner=record.owner, failure=failure, result=result)
    except StateError as problem:
        work.say(f"the end of this job cannot be recorded: {problem}")


def _unexpected(err: BaseException) -> NoeiraError:
    return NoeiraError(
        redact(f"{type(err).__name__}: {err}"),
        title="Unexpected error",
        hint="This is a bug: the job's log has the details.",
    )


def run_detached(state_db: StateDb, job_id: int, say: Callable[[str], None]) -> int:
    """The whole life of a job's own process: take the row up, wait for a slot, work. Returns the exit code."""
    store = JobStore(state_db)
    record = store.take_up(job_id, ProcessOwner.me())
    spec = record.spec
    cancel = CancelToken()
    work: Work | None = None
    with _stopped_by_signals(cancel):
        try:
            cwd = spec.cwd if spec.cwd.is_dir() else spec.root
            settings = Settings.load(root=spec.root, env_file=spec.env_file, cwd=cwd)
            work = Work(settings, Progress(), cancel, shared_context(settings, store, job_id), say)
            if spec.service_url is not None and settings.service_url != spec.service_url:
                raise JobError(
                    f"This job belongs to {spec.service_url}, but the settings name {settings.service_url} now.",
                    hint="Set NOEIRA_CLOUD_URL back, or start the transfer anew.",
                )
            if not _wait_for_slot(store, record, settings.transfer_slots, cancel):
                return 1
        except NoeiraError as err:
            say(str(err))
            state = JobState.INTERRUPTED if isinstance(err, CancelledError) else JobState.FAILED
            failure = JobFailure(err.title, redact(err.message), err.hint, err.retryable)
            store.finish(job_id, state, record.progress, owner=record.owner, failure=failure)
            return err.exit_code
        return _run_and_tell(store, record, work)


def _run_and_tell(store: JobStore, record: JobRecord, work: Work) -> int:
    work.say(f"{record.spec.title}: started")
    try:
        outcome = run_recorded(store, record, work)
    except NoeiraError as err:
        work.say(redact(str(err)))
        return err.exit_code
    except Exception:  # noqa: BLE001  the job runner is where an unforeseen failure ends: told in row and log
        work.say(redact(traceback.format_exc()))
        return 1
    work.say(f"{record.spec.title}: done: {outcome_json(outcome)}")
    return 0


def _wait_for_slot(store: JobStore, record: JobRecord, slots: int, cancel: CancelToken) -> bool:
    """Wait until the job may run; False when it was cancelled meanwhile."""
    assert record.owner is not None
    told_at = reaped_at = time.monotonic()
    while True:
        now, ahead = store.in_line(record.id)
        if now.owner != record.owner or not now.is_live:
            return False
        if now.request is Request.CANCEL:
            store.finish(record.id, JobState.CANCELLED, now.progress, owner=record.owner)
            return False
        if store.try_start(record.id, slots):
            return True
        if time.monotonic() - reaped_at >= _QUIET_BEAT_EVERY_S:
            # Runners that died: nobody else may be there to free their slots.
            store.reap()
            reaped_at = time.monotonic()
        if time.monotonic() - told_at >= FOREIGN_HEARTBEAT_S / 4:
            store.wait(record.id, record.owner)
            told_at = time.monotonic()
        # Who comes later looks less often: every look keeps the running jobs from writing for a moment.
        cancel.sleep(min(_SLOT_POLL_S * max(1, 1 + ahead - slots), _SLOT_POLL_MAX_S))


def run_foreground(settings: Settings, kind: AnyKind, work: Work) -> AnyOutcome:
    """Do work in this process, recorded as a job that takes no slot, so that the app shows it.

    An unusable state folder is said once and the work runs unrecorded. Raises what the work raised.
    """
    store = JobStore(StateDb(settings.state_dir))
    spec = replace(kind.spec(settings), takes_slot=False)
    try:
        record = store.create(spec, owner=ProcessOwner.me())
    except StateError as err:
        told, say = str(err), work.say
        say(f"warning: {told} The work goes on, unrecorded.")

        def say_else(text: str) -> None:
            """What the work says, but not the same trouble again each time it would remember something."""
            if text != told:
                say(text)

        return kind.run(replace(work, context=shared_context(settings, store, None), say=say_else))
    context: TransferContext = shared_context(settings, store, record.id)
    return run_recorded(store, record, replace(work, context=context))


@contextmanager
def _stopped_by_signals(cancel: CancelToken) -> Iterator[None]:
    """SIGTERM and SIGINT ask the work to stop: what was transferred is kept and the row tells."""

    def stop(signum: int, frame: FrameType | None) -> None:
        cancel.cancel()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
