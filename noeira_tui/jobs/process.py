"""Starting a job's own process so that it outlives everything: its own session, no parent to become a zombie of."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from noeira_tui.core.errors import JobError
from noeira_tui.core.owner import Life
from noeira_tui.jobs.records import JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.store import JobStore

_ASK_FIRST_S = 4.0
_POLL_S = 0.05


def start(store: JobStore, spec: JobSpec) -> JobRecord:
    """Queue a job and start its process. Returns at once; the row tells the rest."""
    record = store.create(spec)
    _launch(store, record)
    return record


def retry(store: JobStore, job_id: int, service_url: str | None) -> JobRecord:
    """Start a finished, unsuccessful job again; it goes on from what is on disk. Raises JobError."""
    record = store.requeue(job_id, service_url)
    _launch(store, record)
    return record


def cancel(store: JobStore, job_id: int, sleep: Callable[[float], None] = time.sleep) -> JobRecord:
    """Ask a job to stop, wait, then kill it. Raises JobError when it is over already."""
    record = store.ask(job_id, Request.CANCEL)
    deadline = time.monotonic() + _ASK_FIRST_S
    while record.is_live and time.monotonic() < deadline:
        sleep(_POLL_S)
        record = store.get(job_id)
    if record.is_live and record.owner is not None and record.owner.life() is Life.ALIVE:
        os.kill(record.owner.pid, 9)
        while record.owner.life() is Life.ALIVE and time.monotonic() < deadline + _ASK_FIRST_S:
            sleep(_POLL_S)
        store.finish(job_id, JobState.CANCELLED, record.progress)
        record = store.get(job_id)
    return record


def _launch(store: JobStore, record: JobRecord) -> None:
    log = store.log_path(record.id)
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("ab") as stream:
            # The process forks once more and its first half ends at once: that half is all this one has to wait for.
            subprocess.run(
                [sys.executable, "-m", "noeira_tui.jobs", str(store.folder.parent), str(record.id)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                cwd="/",
                env=_environment(),
                check=True,
                timeout=30,
            )
    except (OSError, subprocess.SubprocessError) as err:
        store.finish(record.id, JobState.FAILED, record.progress)
        raise JobError(f"The process of job {record.id} cannot be started: {err}.", hint=f"Its log is {log}.") from err


def _environment() -> dict[str, str]:
    """This process's environment, with what makes the package importable from a checkout too."""
    package_parent = str(Path(__file__).resolve().parents[2])
    paths = [package_parent, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
