"""A demo that is closed while a pull runs stays until the pull is done: its service is where the bytes come from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from noeira_tui.core.errors import StateError
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.dataset_kinds import DatasetWatch
from noeira_tui.jobs.records import JobRecord
from noeira_tui.jobs.store import JobStore

_LOOK_EVERY_S = 0.5


def until_jobs_end(state_dir: Path, stop: threading.Event, tell: Callable[[str], None]) -> None:
    """Wait while pulls and pushes run on this state folder, or until `stop` is set; says once that it waits.

    A watch never ends by itself and is not waited for.
    """
    store = JobStore(StateDb(state_dir))
    told = False
    while (running := _running(store)) and not stop.is_set():
        if not told:
            names = ", ".join(job.spec.title for job in running[:3])
            tell(f"still running: {names}. The demo's service stays until it is done; Ctrl-C ends it now.")
            told = True
        stop.wait(_LOOK_EVERY_S)


def _running(store: JobStore) -> list[JobRecord]:
    try:
        return [job for job in store.list() if job.is_live and job.spec.kind != DatasetWatch.kind]
    except StateError:
        return []
