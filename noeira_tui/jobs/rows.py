"""Rows of the jobs table as facts, and back.

Several versions of this program may use one state folder: what a newer one wrote and this one does not know is left
out, so that an old app still shows a new job.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.jobs.records import JobFailure, JobRecord, JobSpec, JobState, Request

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Facts = TypeVar("Facts", bound=DataclassInstance)


def owner_json(owner: ProcessOwner) -> str:
    """An owner as its column has it; equal owners give equal texts."""
    return json.dumps(asdict(owner), sort_keys=True)


def owner_of(text: str) -> ProcessOwner | None:
    """The owner a column holds; None when it cannot be read."""
    return _facts(ProcessOwner, text)


def record_of(row: sqlite3.Row) -> JobRecord:
    """The record a row holds."""
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
        state=_state(row),
        progress=_facts(ProgressSnapshot, row["progress"]) or ProgressSnapshot(),
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        heartbeat_at=row["heartbeat_at"],
        owner=None if row["owner"] is None else owner_of(row["owner"]),
        request=request_of(row["request"]),
        failure=None if row["failure"] is None else _facts(JobFailure, row["failure"]),
        result=row["result"],
        retries=row["retries"],
    )


def request_of(text: str) -> Request:
    """What a request column asks; nothing for a word of a newer version."""
    return Request(text) if text in _REQUESTS else Request.NONE


_REQUESTS = frozenset(request.value for request in Request)
_STATES = frozenset(state.value for state in JobState)


def _state(row: sqlite3.Row) -> JobState:
    if row["state"] in _STATES:
        return JobState(row["state"])
    # A word of a newer version: shown as near as can be told, and never offered for a retry.
    return JobState.RUNNING if row["finished_at"] is None else JobState.DONE


def _facts(kind: type[Facts], text: str) -> Facts | None:
    """The facts in a JSON column, without fields this version does not know; None when they cannot be read."""
    known = {field.name for field in fields(kind)}
    try:
        loaded: dict[str, Any] = json.loads(text)
        return kind(**{name: value for name, value in loaded.items() if name in known})
    except (ValueError, TypeError, AttributeError):
        return None
