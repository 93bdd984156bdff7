"""A jobs table of one's own, with a clock that a test sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.records import JobSpec
from noeira_tui.jobs.store import JobStore


class Clock:
    """Seconds since the epoch, as a test says."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path) -> StateDb:
    return StateDb(tmp_path / "state")


@pytest.fixture
def store(db: StateDb, clock: Clock) -> JobStore:
    return JobStore(db, clock)


@pytest.fixture
def me() -> ProcessOwner:
    return ProcessOwner.me()


@pytest.fixture
def dead(me: ProcessOwner) -> ProcessOwner:
    """An owner whose process is gone."""
    return replace(me, pid=2**22 + 7)


@pytest.fixture
def foreign(me: ProcessOwner) -> ProcessOwner:
    """An owner on another host of a shared home folder."""
    return replace(me, host="elsewhere", boot_id="another")


@pytest.fixture
def spec(tmp_path: Path) -> JobSpec:
    return JobSpec(
        kind="catalog-pull",
        title="pull x-v1",
        target="x-v1",
        params='{"dataset_id": "x-v1"}',
        root=tmp_path,
        cwd=tmp_path,
        service_url="http://service",
        folder=str(tmp_path),
    )
