"""What `jobs list` says of how far a job is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.cli.jobs import _how_far
from noeira_tui.cli.livebar import describe
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.jobs.records import JobRecord, JobSpec, JobState

PHASE = "2 of 3 episodes sent · 1 held back (still being written) · last sent 12:00:01"


def job(kind: str, progress: ProgressSnapshot, state: JobState = JobState.RUNNING) -> JobRecord:
    spec = JobSpec(kind, f"{kind} p/d", "p/d", "{}", Path("/data"), Path("/data"), service_url="https://s.example.org")
    return JobRecord(id=1, spec=spec, state=state, progress=progress, created_at=1.0, started_at=2.0)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.DONE])
def test_a_watch_says_what_it_did(state: JobState) -> None:
    nothing = ProgressSnapshot(bytes_total=0, items_done=2, items_total=3, phase=PHASE)
    assert _how_far(job("dataset-watch", nothing, state)) == PHASE
    sent = replace(nothing, bytes_done=48_000_000, bytes_total=48_000_000)
    assert _how_far(job("dataset-watch", sent, state)) == f"{PHASE} · 48.0 MB in all"
    assert _how_far(job("dataset-watch", replace(nothing, phase=""), state)) == "2 of 3 episodes sent"


def test_other_jobs_say_how_far_they_are() -> None:
    half = ProgressSnapshot(bytes_done=500_000, bytes_total=1_000_000, rate=250_000.0)
    assert _how_far(job("catalog-pull", half)) == "500 kB of 1.0 MB, 250 kB/s"
    assert _how_far(job("catalog-pull", ProgressSnapshot(phase="hashing"))) == "hashing"


def test_a_line_about_nothing_to_move_says_what_is_done() -> None:
    nothing = ProgressSnapshot(bytes_total=0, items_done=2, items_total=3, phase=PHASE)
    assert describe("watch p/d", nothing, live=False) == f"watch p/d  67%  {PHASE}"
