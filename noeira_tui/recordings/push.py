"""Mirroring a recording up: compare once, show it or do it, and never let `info.json` run ahead of what it names."""

from __future__ import annotations

import time
from dataclasses import replace

from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.outcome import Mirrored
from noeira_tui.recordings.push_outcome import outcome_of
from noeira_tui.recordings.push_pass import PushPass
from noeira_tui.recordings.push_plan import PushPlan, plan_push
from noeira_tui.recordings.whole import remember_whole, still_equal

_MAX_PASSES = 5


def foretold(mirror: Mirror, plan: PushPlan) -> Mirrored:
    """The outcome of a dry run: what would be sent."""
    return outcome_of(mirror, plan, PushPass(mirror, plan), dry_run=True)


def push(mirror: Mirror, *, force: bool = False) -> Mirrored:
    """Send what the service lacks, again as long as `info.json` changes meanwhile (five passes at most).

    Raises DatasetError for a project or a recording that is not here, ServiceError, CancelledError. What moved before
    is remembered, and pushing again is safe.
    """
    if not force and (equal := still_equal(mirror)) is not None:
        return equal
    outcome = run_push(mirror, plan_push(mirror, force=force))
    moved, transferred, elapsed_s = outcome.moved, outcome.bytes_transferred, outcome.elapsed_s
    for _ in range(_MAX_PASSES - 1):
        if not outcome.repeat:
            break
        outcome = run_push(mirror, plan_push(mirror, force=force))
        moved = tuple(dict.fromkeys(moved + outcome.moved))
        transferred += outcome.bytes_transferred
        elapsed_s += outcome.elapsed_s
    remember_whole(mirror, outcome)
    return replace(
        outcome,
        moved=moved,
        bytes_transferred=transferred,
        elapsed_s=elapsed_s,
        requests=max(outcome.requests, mirror.client.requests),
    )


def run_push(mirror: Mirror, plan: PushPlan) -> Mirrored:
    """Do what a plan says, in the order that keeps readers safe. Raises ServiceError, CancelledError."""
    done = PushPass(mirror, plan)
    began = time.monotonic()
    requests = mirror.client.requests
    work = mirror.work
    done_before = work.progress.snapshot().bytes_done
    work.progress.expect(size_bytes=done_before + sum(file.size_bytes for file in plan.sends))
    try:
        if plan.sends and plan.answer is None:
            done.announce()
        work.progress.enter("uploading")
        done.send()
    finally:
        done.sender.close()
    mirror.note_equal(plan.local, plan.compared)
    done.commit()
    outcome = outcome_of(mirror, plan, done)
    spent = mirror.client.requests - requests + done.sender.requests
    return replace(outcome, requests=spent, elapsed_s=plan.elapsed_s + time.monotonic() - began)
