"""Starting a job's own process so that it outlives everything: its own session, no parent to become a zombie of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import JobError
from noeira_tui.core.owner import Life
from noeira_tui.core.redact import redact
from noeira_tui.jobs.records import JobFailure, JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.store import JobStore

_ASK_FIRST_S = 4.0
_POLL_S = 0.05


def start(store: JobStore, spec: JobSpec, *, keep_failed: bool = True) -> JobRecord:
    """Queue a job and start its process. Returns at once; the row tells the rest.

    Raises JobError when no process can be started; the row then says so, or without `keep_failed` goes again: for a
    caller who shows the error itself.
    """
    record = store.create(spec)
    # Numbers begin again when the state database is lost: an older log under this one is another job's.
    try:
        _launch(store, record, log_mode="wb")
    except JobError as err:
        if keep_failed:
            raise
        last = _last_line(store.log_path(record.id))
        store.remove((record.id,))
        raise JobError(f"{err.message} {last}".rstrip()) from err
    return record


def _last_line(log: Path) -> str:
    """The end of what a process wrote before it failed; the log goes with its row."""
    try:
        return redact(log.read_text("utf-8", "replace").strip().rpartition("\n")[2])
    except OSError:
        return ""


def retry(store: JobStore, job_id: int, service_url: str | None) -> JobRecord:
    """Start a finished, unsuccessful job again; it goes on from what is on disk. Raises JobError."""
    record = store.requeue(job_id, service_url)
    _launch(store, record, log_mode="ab")
    return record


def cancel(store: JobStore, job_id: int, sleep: Callable[[float], None] = time.sleep) -> JobRecord:
    """Ask a job to stop, wait, then kill it. Raises JobError when it is over already."""
    record = store.ask(job_id, Request.CANCEL)
    deadline = time.monotonic() + _ASK_FIRST_S
    while record.is_live and time.monotonic() < deadline:
        sleep(_POLL_S)
        record = store.get(job_id)
    if record.is_live and record.owner is not None and record.owner.life() is Life.ALIVE:
        _kill(job_id, record.owner.pid)
        while record.owner.life() is Life.ALIVE and time.monotonic() < deadline + _ASK_FIRST_S:
            sleep(_POLL_S)
        store.finish(job_id, JobState.CANCELLED, record.progress, owner=record.owner)
        record = store.get(job_id)
    return record


def _kill(job_id: int, pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        # It ended by itself just now.
        return
    except PermissionError as err:
        raise JobError(f"Job {job_id} is asked to stop, but its process {pid} is another user's.") from err


def _launch(store: JobStore, record: JobRecord, *, log_mode: Literal["ab", "wb"]) -> None:
    log = store.log_path(record.id)
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open(log_mode) as stream:
            # The process forks once more and its first half ends at once: that half is all this one has to wait for.
            subprocess.run(
                [sys.executable, "-m", "noeira_tui.jobs", str(store.folder.parent), str(record.id)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                cwd="/",
                env=child_environment(),
                check=True,
                timeout=30,
            )
    except (OSError, subprocess.SubprocessError) as err:
        problem = JobError(f"The process of job {record.id} cannot be started: {err}.", hint=f"Its log is {log}.")
        failure = JobFailure(problem.title, problem.message, problem.hint)
        store.finish(record.id, JobState.FAILED, record.progress, owner=None, failure=failure)
        raise problem from err
