"""The jobs table: every process on the box reads and writes the same rows, each in short transactions."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from noeira_tui.core.errors import JobError, StateError
from noeira_tui.core.owner import FOREIGN_HEARTBEAT_S, ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.statedb import StateDb, storable
from noeira_tui.jobs.records import LIVE, JobFailure, JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.rows import owner_json, owner_of, record_of, request_of

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL, title TEXT NOT NULL, target TEXT NOT NULL, params TEXT NOT NULL,
  root TEXT NOT NULL, env_file TEXT, cwd TEXT NOT NULL, service_url TEXT, folder TEXT NOT NULL,
  takes_slot INTEGER NOT NULL,
  state TEXT NOT NULL, progress TEXT NOT NULL DEFAULT '{}',
  created_at REAL NOT NULL, started_at REAL, finished_at REAL, heartbeat_at REAL,
  owner TEXT, request TEXT NOT NULL DEFAULT '', failure TEXT, result TEXT,
  retries INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
"""

START_GRACE_S = 20.0
"""A queued job that no process has taken up after this long will never be."""

_MAX_ID = 2**63 - 1
"""The largest number SQLite can hold."""

KEEP_FINISHED = 200
KEEP_FOR_S = 14 * 24 * 3600.0
"""Finished rows beyond either limit are pruned."""


class JobStore:
    """Reads and writes job rows. Raises StateError when the state database cannot be used."""

    def __init__(self, db: StateDb, clock: Callable[[], float] = time.time) -> None:
        self._db = db
        self._clock = clock

    @property
    def folder(self) -> Path:
        """Folder of the jobs' logs."""
        return self._db.folder / "jobs"

    def log_path(self, job_id: int) -> Path:
        """Where a job's process writes its log."""
        return self.folder / f"{job_id}.log"

    def create(self, spec: JobSpec, *, owner: ProcessOwner | None = None) -> JobRecord:
        """A new row, queued; with an `owner`, running at once (a command in the foreground). Raises StateError."""
        now = self._clock()
        state = JobState.QUEUED if owner is None else JobState.RUNNING
        with self._db.transaction(_SCHEMA) as connection:
            cursor = connection.execute(
                "INSERT INTO jobs (kind, title, target, params, root, env_file, cwd, service_url, folder, takes_slot,"
                " state, created_at, started_at, heartbeat_at, owner) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    spec.kind,
                    storable(spec.title),
                    storable(spec.target),
                    spec.params,
                    _place(spec.root),
                    None if spec.env_file is None else _place(spec.env_file),
                    _place(spec.cwd),
                    spec.service_url,
                    storable(spec.folder),
                    spec.takes_slot,
                    state,
                    now,
                    now if owner is not None else None,
                    now if owner is not None else None,
                    None if owner is None else owner_json(owner),
                ),
            )
            job_id = cursor.lastrowid
            assert job_id is not None
        self.prune(keep=KEEP_FINISHED, older_than=now - KEEP_FOR_S)
        return self.get(job_id)

    def get(self, job_id: int) -> JobRecord:
        """One row, a dead runner already told as interrupted. Raises JobError when there is none."""
        self.reap()
        return self.peek(job_id)

    def peek(self, job_id: int) -> JobRecord:
        """One row as it is, without looking whether its runner still lives. Raises JobError when there is none."""
        if not 0 < job_id <= _MAX_ID:
            raise _no_such(job_id)
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise _no_such(job_id)
        return record_of(row)

    def list(self) -> tuple[JobRecord, ...]:
        """All rows, newest first, dead runners already told as interrupted."""
        self.reap()
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute("SELECT * FROM jobs ORDER BY id DESC").fetchall()
        return tuple(record_of(row) for row in rows)

    def count_running(self) -> int:
        """How many jobs run now, dead runners not counted."""
        self.reap()
        with self._db.reading(_SCHEMA) as connection:
            count: int = connection.execute(
                "SELECT COUNT(*) FROM jobs WHERE state = ?", (JobState.RUNNING,)
            ).fetchone()[0]
        return count

    def version(self) -> tuple[int, int, int]:
        """Something that changes whenever any row does; cheap."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute(
                "SELECT COUNT(*), COALESCE(SUM(version), 0), COALESCE(MAX(id), 0) FROM jobs"
            ).fetchone()
        return row[0], row[1], row[2]

    def stamp(self) -> tuple[int, int]:
        """Time and size of the database: while they stay, most likely nothing was written. Costs next to nothing."""
        try:
            stat = self._db.path.stat()
        except OSError:
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    def reap(self) -> None:
        """Call every live row interrupted whose process is gone."""
        now = self._clock()
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute(
                f"SELECT id, state, owner, heartbeat_at, created_at FROM jobs WHERE state IN {_LIVE_SQL}"
            ).fetchall()
        gone = [row["id"] for row in rows if _is_gone(row, now)]
        if not gone:
            return
        with self._db.transaction(_SCHEMA) as connection:
            for job_id in gone:
                row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
                if row is None or row["state"] not in LIVE or not _is_gone(row, now):
                    continue
                state = JobState.CANCELLED if row["request"] == Request.CANCEL else JobState.INTERRUPTED
                connection.execute(
                    "UPDATE jobs SET state = ?, finished_at = ?, request = '', version = version + 1 WHERE id = ?",
                    (state, row["heartbeat_at"] or row["created_at"], job_id),
                )

    def take_up(self, job_id: int, owner: ProcessOwner) -> JobRecord:
        """Say that this process works on a queued job. Raises JobError when another one does, or it is over."""
        with self._db.transaction(_SCHEMA) as connection:
            changed = connection.execute(
                "UPDATE jobs SET owner = ?, heartbeat_at = ?, version = version + 1"
                " WHERE id = ? AND state = ? AND owner IS NULL",
                (owner_json(owner), self._clock(), job_id, JobState.QUEUED),
            ).rowcount
        if not changed:
            raise JobError(f"Job {job_id} is not waiting to be taken up.")
        return self.get(job_id)

    def try_start(self, job_id: int, slots: int) -> bool:
        """Start a queued job if a slot is free for it; older queued jobs go first. False: wait and ask again.

        Asking only reads: many waiting jobs must not keep the running ones from writing.
        """
        with self._db.reading(_SCHEMA) as connection:
            if not _may_start(connection, job_id, slots):
                return False
        now = self._clock()
        with self._db.transaction(_SCHEMA) as connection:
            if not _may_start(connection, job_id, slots):
                return False
            connection.execute(
                "UPDATE jobs SET state = ?, started_at = ?, heartbeat_at = ?, version = version + 1 WHERE id = ?",
                (JobState.RUNNING, now, now, job_id),
            )
        return True

    def in_line(self, job_id: int) -> tuple[JobRecord, int]:
        """A queued job as it is, and how many jobs hold the slots or go before it. Raises JobError for no job."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
            ahead = _ahead(connection, job_id)
        if row is None:
            raise _no_such(job_id)
        return record_of(row), ahead

    def wait(self, job_id: int, owner: ProcessOwner) -> None:
        """Say that a queued job's process still waits for its slot."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "UPDATE jobs SET heartbeat_at = ? WHERE id = ? AND owner = ? AND state = ?",
                (self._clock(), job_id, owner_json(owner), JobState.QUEUED),
            )

    def beat(self, job_id: int, owner: ProcessOwner, progress: ProgressSnapshot, *, paused: bool = False) -> Request:
        """Write a running job's progress, and read what was asked of it.

        A row that was taken for interrupted meanwhile (a suspended laptop on a shared home) runs again. A row that is
        gone, or that a retry gave to another process, asks this one to stop.
        """
        state = JobState.PAUSED if paused else JobState.RUNNING
        with self._db.transaction(_SCHEMA) as connection:
            row = connection.execute(
                "UPDATE jobs SET progress = ?, heartbeat_at = ?, state = ?, finished_at = NULL, version = version + 1"
                f" WHERE id = ? AND owner = ? AND state IN {_WORKED_ON_SQL} RETURNING request",
                (json.dumps(asdict(progress)), self._clock(), state, job_id, owner_json(owner)),
            ).fetchone()
        return request_of(row["request"]) if row is not None else Request.CANCEL

    def request(self, job_id: int, owner: ProcessOwner) -> Request:
        """What was asked of a job; a row that is gone or another process's asks this one to stop."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute(
                f"SELECT request FROM jobs WHERE id = ? AND owner = ? AND state IN {_WORKED_ON_SQL}",
                (job_id, owner_json(owner)),
            ).fetchone()
        return request_of(row["request"]) if row is not None else Request.CANCEL

    def finish(
        self,
        job_id: int,
        state: JobState,
        progress: ProgressSnapshot,
        *,
        owner: ProcessOwner | None,
        failure: JobFailure | None = None,
        result: str | None = None,
    ) -> bool:
        """Write how a job ended. False, and nothing written, when it is over or not `owner`'s any more."""
        now = self._clock()
        with self._db.transaction(_SCHEMA) as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = ?, progress = ?, finished_at = ?, heartbeat_at = ?, failure = ?, result = ?,"
                " request = '', version = version + 1"
                f" WHERE id = ? AND owner IS ? AND state IN {_UNFINISHED_SQL}",
                (
                    state,
                    json.dumps(asdict(progress)),
                    now,
                    now,
                    None if failure is None else json.dumps(asdict(failure)),
                    result,
                    job_id,
                    None if owner is None else owner_json(owner),
                ),
            ).rowcount
        return changed > 0

    def ask(self, job_id: int, request: Request) -> JobRecord:
        """Ask something of a live job; the runner sees it within a quarter of a second. Raises JobError when over.

        A cancel stays: to pause or resume does not take it back.
        """
        record = self.get(job_id)
        if not record.is_live:
            raise JobError(f"Job {job_id} is {record.state} already.")
        with self._db.transaction(_SCHEMA) as connection:
            if request is Request.CANCEL:
                connection.execute(
                    "UPDATE jobs SET state = ?, finished_at = ?, version = version + 1"
                    " WHERE id = ? AND owner IS NULL AND state = ?",
                    (JobState.CANCELLED, self._clock(), job_id, JobState.QUEUED),
                )
            connection.execute(
                "UPDATE jobs SET request = ?, version = version + 1"
                f" WHERE id = ? AND state IN {_LIVE_SQL} AND request != ?",
                (request, job_id, Request.CANCEL),
            )
        return self.get(job_id)

    def requeue(self, job_id: int, service_url: str | None) -> JobRecord:
        """Queue a finished, unsuccessful job again. Raises JobError when it runs, is done, or is another service's."""
        record = self.get(job_id)
        if not record.can_retry:
            why = "is still " + record.state if record.is_live else "is done"
            raise JobError(f"Job {job_id} {why}.", hint="Only failed, cancelled and interrupted jobs can be retried.")
        if record.spec.service_url is not None and record.spec.service_url != service_url:
            raise JobError(
                f"Job {job_id} belongs to {record.spec.service_url}, this box is set to {service_url or 'no service'}.",
                hint="Set NOEIRA_CLOUD_URL back to it, or start the transfer anew.",
            )
        with self._db.transaction(_SCHEMA) as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = ?, owner = NULL, request = '', failure = NULL, result = NULL, created_at = ?,"
                " started_at = NULL, finished_at = NULL, heartbeat_at = NULL, retries = retries + 1,"
                " version = version + 1 WHERE id = ? AND state = ?",
                (JobState.QUEUED, self._clock(), job_id, record.state),
            ).rowcount
        if not changed:
            raise JobError(f"Job {job_id} was just taken up by another process.")
        return self.get(job_id)

    def prune(self, *, keep: int = 0, older_than: float | None = None) -> tuple[int, ...]:
        """Remove finished rows with their logs: all but the newest `keep`, and those that ended before `older_than`
        (seconds since the epoch). Returns the ids removed."""
        self.reap()
        with self._db.transaction(_SCHEMA) as connection:
            ids = tuple(
                row["id"]
                for row in connection.execute(
                    f"SELECT id FROM jobs WHERE state NOT IN {_LIVE_SQL} AND (finished_at < ? OR id IN"
                    f" (SELECT id FROM jobs WHERE state NOT IN {_LIVE_SQL} ORDER BY id DESC LIMIT -1 OFFSET ?))",
                    (0.0 if older_than is None else older_than, keep),
                )
            )
            connection.executemany("DELETE FROM jobs WHERE id = ?", [(job_id,) for job_id in ids])
        self._remove_logs(ids)
        return ids

    def remove(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Remove these rows with their logs, but for those that are not over. Returns the ids removed."""
        self.reap()
        with self._db.transaction(_SCHEMA) as connection:
            removed = tuple(
                job_id
                for job_id in ids
                if connection.execute(f"DELETE FROM jobs WHERE id = ? AND state NOT IN {_LIVE_SQL}", (job_id,)).rowcount
            )
        self._remove_logs(removed)
        return removed

    def _remove_logs(self, ids: Iterable[int]) -> None:
        for job_id in ids:
            # A log that cannot be removed costs a little space; it is no reason not to start a job.
            with contextlib.suppress(OSError):
                self.log_path(job_id).unlink()


_LIVE_SQL = "('" + "', '".join(sorted(LIVE)) + "')"
_UNFINISHED_SQL = "('" + "', '".join(sorted({*LIVE, JobState.INTERRUPTED})) + "')"
_WORKED_ON_SQL = f"('{JobState.RUNNING}', '{JobState.PAUSED}', '{JobState.INTERRUPTED}')"


def _may_start(connection: sqlite3.Connection, job_id: int, slots: int) -> bool:
    row = connection.execute("SELECT state, request, takes_slot FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None or row["state"] != JobState.QUEUED or request_of(row["request"]) is not Request.NONE:
        return False
    return not row["takes_slot"] or _ahead(connection, job_id) < slots


def _ahead(connection: sqlite3.Connection, job_id: int) -> int:
    # Jobs that run in the foreground, and paused ones, hold no slot; one that is asked to stand still lets others pass.
    count: int = connection.execute(
        "SELECT COUNT(*) FROM jobs WHERE takes_slot AND (state = ? OR (state = ? AND id < ? AND request != ?))",
        (JobState.RUNNING, JobState.QUEUED, job_id, Request.PAUSE),
    ).fetchone()[0]
    return count


def _no_such(job_id: int) -> JobError:
    return JobError(f"There is no job {job_id}.", hint="`noeira-tui jobs list` shows the jobs of this box.")


def _is_gone(row: sqlite3.Row, now: float) -> bool:
    if row["owner"] is None:
        # Either way: a clock that was set back must not keep it waiting for ever.
        return bool(abs(now - row["created_at"]) > START_GRACE_S)
    owner = owner_of(row["owner"])
    age_s = now - (row["heartbeat_at"] or row["created_at"])
    return owner.is_gone(age_s) if owner is not None else bool(abs(age_s) > FOREIGN_HEARTBEAT_S)


def _place(path: Path) -> str:
    """Where a job's process reads its settings: a name that the table cannot keep would lead elsewhere."""
    text = str(path)
    if storable(text) != text:
        raise StateError(
            f"Work below {storable(text)} cannot be recorded as a job: the name of the folder is not UTF-8.",
            hint="Rename the folder.",
        )
    return text
