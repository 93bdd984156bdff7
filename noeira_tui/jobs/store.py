"""The jobs table: every process on the box reads and writes the same rows, each in short transactions."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from noeira_tui.core.errors import JobError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.records import LIVE, JobFailure, JobRecord, JobSpec, JobState, Request
from noeira_tui.jobs.rows import owner_json, owner_of, record_of

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
        """A new row, queued; with an `owner`, running at once (a command in the foreground)."""
        now = self._clock()
        state = JobState.QUEUED if owner is None else JobState.RUNNING
        with self._db.transaction(_SCHEMA) as connection:
            cursor = connection.execute(
                "INSERT INTO jobs (kind, title, target, params, root, env_file, cwd, service_url, folder, takes_slot,"
                " state, created_at, started_at, heartbeat_at, owner) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    spec.kind,
                    spec.title,
                    spec.target,
                    spec.params,
                    str(spec.root),
                    None if spec.env_file is None else str(spec.env_file),
                    str(spec.cwd),
                    spec.service_url,
                    spec.folder,
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
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise JobError(f"There is no job {job_id}.", hint="`noeira-tui jobs list` shows the jobs of this box.")
        return record_of(row)

    def list(self) -> tuple[JobRecord, ...]:
        """All rows, newest first, dead runners already told as interrupted."""
        self.reap()
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute("SELECT * FROM jobs ORDER BY id DESC").fetchall()
        return tuple(record_of(row) for row in rows)

    def version(self) -> tuple[int, int]:
        """Something that changes whenever any row does; cheap."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute("SELECT COUNT(*), COALESCE(SUM(version), 0) FROM jobs").fetchone()
        return row[0], row[1]

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
        """Start a queued job if a slot is free for it; older queued jobs go first. False: wait and ask again."""
        self.reap()
        now = self._clock()
        with self._db.transaction(_SCHEMA) as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
            if row is None or row["state"] != JobState.QUEUED:
                return False
            if row["takes_slot"]:
                # Jobs that run in the foreground, and paused ones, hold no slot.
                ahead = connection.execute(
                    "SELECT COUNT(*) FROM jobs WHERE takes_slot AND (state = ? OR (state = ? AND id < ?))",
                    (JobState.RUNNING, JobState.QUEUED, job_id),
                ).fetchone()[0]
                if ahead >= slots:
                    connection.execute("UPDATE jobs SET heartbeat_at = ? WHERE id = ?", (now, job_id))
                    return False
            connection.execute(
                "UPDATE jobs SET state = ?, started_at = ?, heartbeat_at = ?, version = version + 1 WHERE id = ?",
                (JobState.RUNNING, now, now, job_id),
            )
        return True

    def beat(self, job_id: int, progress: ProgressSnapshot, *, paused: bool = False) -> Request:
        """Write a running job's progress, and read what was asked of it."""
        state = JobState.PAUSED if paused else JobState.RUNNING
        with self._db.transaction(_SCHEMA) as connection:
            row = connection.execute(
                "UPDATE jobs SET progress = ?, heartbeat_at = ?, version = version + 1,"
                f" state = CASE WHEN state IN {_WORKED_ON_SQL} THEN ? ELSE state END WHERE id = ? RETURNING request",
                (json.dumps(asdict(progress)), self._clock(), state, job_id),
            ).fetchone()
        return Request(row["request"]) if row is not None else Request.CANCEL

    def request(self, job_id: int) -> Request:
        """What was asked of a job; a row that is gone asks it to stop."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute("SELECT request FROM jobs WHERE id = ?", (job_id,)).fetchone()
        return Request(row["request"]) if row is not None else Request.CANCEL

    def finish(
        self,
        job_id: int,
        state: JobState,
        progress: ProgressSnapshot,
        *,
        failure: JobFailure | None = None,
        result: str | None = None,
    ) -> None:
        """Write how a job ended."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "UPDATE jobs SET state = ?, progress = ?, finished_at = ?, heartbeat_at = ?, failure = ?, result = ?,"
                " request = '', version = version + 1 WHERE id = ?",
                (
                    state,
                    json.dumps(asdict(progress)),
                    self._clock(),
                    self._clock(),
                    None if failure is None else json.dumps(asdict(failure)),
                    result,
                    job_id,
                ),
            )

    def ask(self, job_id: int, request: Request) -> JobRecord:
        """Ask something of a live job; the runner sees it within a quarter of a second. Raises JobError when over."""
        record = self.get(job_id)
        if not record.is_live:
            raise JobError(f"Job {job_id} is {record.state} already.")
        with self._db.transaction(_SCHEMA) as connection:
            if record.owner is None and request is Request.CANCEL:
                connection.execute(
                    "UPDATE jobs SET state = ?, finished_at = ?, version = version + 1 WHERE id = ? AND owner IS NULL",
                    (JobState.CANCELLED, self._clock(), job_id),
                )
            connection.execute(
                f"UPDATE jobs SET request = ?, version = version + 1 WHERE id = ? AND state IN {_LIVE_SQL}",
                (request, job_id),
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
        for job_id in ids:
            self.log_path(job_id).unlink(missing_ok=True)
        return ids


_LIVE_SQL = "('" + "', '".join(sorted(LIVE)) + "')"
_WORKED_ON_SQL = f"('{JobState.RUNNING}', '{JobState.PAUSED}')"


def _is_gone(row: sqlite3.Row, now: float) -> bool:
    if row["owner"] is None:
        return bool(now - row["created_at"] > START_GRACE_S)
    return owner_of(row["owner"]).is_gone(now - (row["heartbeat_at"] or row["created_at"]))
