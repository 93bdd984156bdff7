"""Why an action cannot be used right now, in words; None when it can."""

from __future__ import annotations

from noeira_tui.core.states import State
from noeira_tui.tui.action import Situation
from noeira_tui.tui.rows import Place


def why_no_pull(now: Situation) -> str | None:
    return None if now.marked else needs_thing(now) or now.pull_refusal


def why_no_push(now: Situation) -> str | None:
    return None if now.marked else needs_thing(now) or now.push_refusal


def why_no_watch(now: Situation) -> str | None:
    return None if now.marked else needs_thing(now) or now.watch_refusal


def unwatches(now: Situation) -> str | None:
    """The label of what watches, for what is watched already."""
    return "unwatch" if now.is_watched else None


def why_no_verify(now: Situation) -> str | None:
    if now.doing:
        return _busy(now)
    return None if now.marked else needs_thing(now) or now.verify_refusal


def _busy(now: Situation) -> str:
    return f"One thing at a time: {now.doing} goes on already; cancel in its list stops that."


def why_no_free(now: Situation) -> str | None:
    if now.doing:
        return _busy(now)
    if now.place in {Place.PACKS, Place.JOBS}:
        return None
    return None if now.marked else needs_thing(now) or now.free_refusal


def why_no_pause(now: Situation) -> str | None:
    if now.marked:
        return None
    if now.job is None:
        return "No job is highlighted."
    return None if now.job.is_live else f"Job {now.job.id} is {now.job.state}: there is nothing to pause."


def goes_on(now: Situation) -> str | None:
    """The label of what pauses a job, for a job that stands still."""
    return "go on" if not now.marked and now.job is not None and now.job.state == "paused" else None


def why_no_sort(now: Situation) -> str | None:
    return "Jobs stay in their order: what runs, then what failed." if now.place is Place.JOBS else None


def why_no_way_back(now: Situation) -> str | None:
    if now.can_go_back:
        return None
    return f"There is nothing to go back to yet: {now.key('open')} and actions note where you were."


def why_no_way_forward(now: Situation) -> str | None:
    return None if now.can_go_forward else "There is nothing to go forward to."


def why_no_pull_packs(now: Situation) -> str | None:
    return None if now.packs_to_fetch else "Every declared pack is here, or on its way."


def why_no_inspect(now: Situation) -> str | None:
    if (reason := needs_thing(now)) is not None:
        return reason
    if now.row is not None and now.row.state is State.PENDING:
        return "Its upload never completed: there is nothing to look at."
    return None


def why_no_ingest(now: Situation) -> str | None:
    from noeira_tui.tui.quality_reading import missing_extra

    reason = None if now.marked else why_no_inspect(now)
    if reason is not None:
        return reason.replace("look at", "ingest")
    return missing_extra()


def needs_thing(now: Situation) -> str | None:
    if now.row is None or now.row.is_heading:
        return "Nothing is highlighted."
    if not now.row.is_project:
        return None
    return f"Highlight a recording of {now.row.name}, or mark all of them with {now.key('mark')}."


def stops_work(now: Situation) -> bool:
    """Whether `c` stops what the app itself does."""
    return now.does_it_here


def why_no_cancel(now: Situation) -> str | None:
    if now.marked or stops_work(now):
        return None
    if now.job is None:
        return "No job is highlighted."
    return None if now.job.is_live else f"Job {now.job.id} is {now.job.state}: there is nothing to cancel."


def why_no_retry(now: Situation) -> str | None:
    if now.marked:
        return None
    if now.job is None:
        return "No job is highlighted."
    return None if now.job.can_retry else f"Job {now.job.id} is {now.job.state}: there is nothing to retry."


def needs_row(now: Situation) -> str | None:
    return None if now.row is not None and not now.row.is_heading else "Nothing is highlighted."
