"""Rows of the jobs table as facts, and back."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.jobs.records import JobFailure, JobRecord, JobSpec, JobState, Request


def owner_json(owner: ProcessOwner) -> str:
    """An owner as its column has it."""
    return json.dumps(asdict(owner))


def owner_of(text: str) -> ProcessOwner:
    """The owner a column holds."""
    return ProcessOwner(**json.loads(text))


def record_of(row: sqlite3.Row) -> JobRecord:
    """The record a row holds."""
    failure = None if row["failure"] is None else JobFailure(**json.loads(row["failure"]))
    return JobRecord(
        id=row["id"],
        spec=JobSpec(
            kind=row["kind"],
            title=row["title"],
            target=row["target"],
            params=row["params"],
            root=Path(row["root"]),
            env_file=None if row["env_file"] is None else Path(row["env_file"]),
            cwd=Path(row["cwd"]),
            service_url=row["service_url"],
            folder=row["folder"],
            takes_slot=bool(row["takes_slot"]),
        ),
        state=JobState(row["state"]),
        progress=ProgressSnapshot(**json.loads(row["progress"])),
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        heartbeat_at=row["heartbeat_at"],
        owner=None if row["owner"] is None else owner_of(row["owner"]),
        request=Request(row["request"]),
        failure=failure,
        result=row["result"],
        retries=row["retries"],
    )
