"""What a job is, as frozen facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


LIVE = frozenset({JobState.QUEUED, JobState.RUNNING, JobState.PAUSED})
"""A process works on it, or is about to."""

RETRYABLE = frozenset({JobState.FAILED, JobState.CANCELLED, JobState.INTERRUPTED})
"""`retry` starts these again, from what is on disk."""


class Request(StrEnum):
    """What a user asked a running job to do; the runner looks at it several times a second."""

    NONE = ""
    CANCEL = "cancel"
    PAUSE = "pause"


@dataclass(frozen=True)
class JobFailure:
    """Why a job ended without success, as an error of ours tells it."""

    title: str
    message: str
    hint: str = ""
    retryable: bool = False


@dataclass(frozen=True)
class JobSpec:
    """What a new job is to do. `params` is the kind's own JSON; it never holds a key.

    `target` is what the job works on (a dataset id, `project/dataset`), so that a display can put the job beside it.
    `root`, `cwd` and `env_file` are where its settings are read from again. `folder` is where it writes: other work
    counts the bytes it will still need there.
    """

    kind: str
    title: str
    target: str
    params: str
    root: Path
    cwd: Path
    env_file: Path | None = None
    service_url: str | None = None
    folder: str = ""
    takes_slot: bool = True


@dataclass(frozen=True)
class JobRecord:
    """One row of the jobs table. Times are seconds since the epoch; `result` is the kind's JSON once it is done."""

    id: int
    spec: JobSpec
    state: JobState
    progress: ProgressSnapshot
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    heartbeat_at: float | None = None
    owner: ProcessOwner | None = None
    request: Request = Request.NONE
    failure: JobFailure | None = None
    result: str | None = None
    retries: int = 0

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def can_retry(self) -> bool:
        return self.state in RETRYABLE
