"""The rows of the jobs list: what moves, how far, how fast, how long still; and why what failed did."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.cells import cell_len

from noeira_tui.tui import figures, ingest_rows
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.pace import Moment, Pace, sparkline
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, Piece, clean, cut, cut_line, fit
from noeira_tui.tui.thing_rows import direction, is_watch

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord

KEEP_ENDED_S = 24 * 3600.0
"""Jobs that ended longer ago than this are not listed unless they can be retried and nothing newer mended it."""

MAX_ENDED = 50

MIN_BAR_CELLS = 8
"""A bar shorter than this tells nothing."""

SPARK_CELLS = 12
"""How many of the last seconds a row draws."""

_LOOKS: dict[str, str] = {
    "queued": "quiet",
    "running": "live",
    "paused": "attention",
    "done": "good",
    "failed": "trouble",
    "cancelled": "quiet",
    "interrupted": "attention",
}
_ORDER: dict[str, int] = {"running": 0, "paused": 1, "queued": 2, "failed": 3, "interrupted": 3}


_LAST_SENT = re.compile(r"last sent (\d\d):(\d\d):(\d\d)$")
"""How a watch ends the line about itself; the job's process has this box's clock."""


def listed_jobs(jobs: Iterable[JobRecord], now: float) -> tuple[JobRecord, ...]:
    """The jobs worth a row: live ones, then failed ones that nothing newer replaced, then what ended lately."""
    newest_first = sorted(jobs, key=lambda job: job.id, reverse=True)
    live = [job for job in newest_first if job.is_live]
    ended: list[JobRecord] = []
    seen = {(job.spec.kind, job.spec.target) for job in live}
    for job in newest_first:
        same = (job.spec.kind, job.spec.target)
        if job.is_live or same in seen:
            continue
        seen.add(same)
        if now - (job.finished_at or job.created_at) <= KEEP_ENDED_S:
            ended.append(job)
    return tuple(sorted([*live, *ended[:MAX_ENDED]], key=lambda job: (_ORDER.get(job.state, 4), -job.id)))


def job_rows(jobs: Iterable[JobRecord], now: float, glyphs: Glyphs, pace: Pace, slots: int) -> tuple[Row, ...]:
    """One row a job; `slots` is how many transfers run at once on this box."""
    jobs = tuple(jobs)
    waits = waiting_for(jobs, slots, glyphs)
    return tuple(_job_row(job, now, glyphs, pace.of(job), waits.get(job.id, "")) for job in listed_jobs(jobs, now))


def waiting_for(jobs: Iterable[JobRecord], slots: int, glyphs: Glyphs) -> dict[int, str]:
    """What each queued or paused job waits for, in words, by its id."""
    live = sorted((job for job in jobs if job.is_live), key=lambda job: job.id)
    busy = sum(job.state == "running" and job.spec.takes_slot for job in live)
    told: dict[int, str] = {}
    line = 0
    for job in live:
        if job.state == "paused":
            told[job.id] = f"paused {glyphs.dot} {glyphs.key('pause')} goes on"
        elif job.state == "queued" and job.request == "pause":
            told[job.id] = f"held back {glyphs.dot} {glyphs.key('pause')} lets it go on"
        elif job.state == "queued" and job.spec.takes_slot:
            line += 1
            free = max(0, slots - busy)
            taken = f"waits for a slot: {busy} of {slots} busy"
            before = f" {glyphs.dot} {line - 1} before it" if line > 1 else ""
            told[job.id] = "starting" if line <= free else f"{taken}{before}"
    return told


def _job_row(job: JobRecord, now: float, glyphs: Glyphs, moment: Moment, waits: str) -> Row:
    # What works on several packs is named by its title, which counts them.
    several = job.spec.kind == "assets-pull" and ", " in job.spec.target
    name = clean(job.spec.title.removeprefix("pull ") if several else job.spec.target or job.spec.title, glyphs)
    if job.spec.kind == ingest_rows.KIND:
        # Its target is a whole address.
        name = clean(job.spec.title.removeprefix("ingest "), glyphs)
    return Row(
        key=f"job:{job.id}",
        place=Place.JOBS,
        name=name,
        subject=job,
        symbol=direction(job, glyphs),
        word=job.state.value,
        look=_LOOKS[job.state],
        note=watch_text(job, now, glyphs) if is_watch(job) and job.state == "running" else waits or _age(job, now),
        haystack=f"{name.lower()} {job.state} {job.spec.kind} {clean(job.spec.title).lower()}",
        size_bytes=job.progress.bytes_total,
        moment=moment if job.state == "running" else None,
    )


def paint_job(row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
    """A job in at most `width` cells; the parts that matter least go first when it is narrow."""
    from noeira_tui.jobs.records import JobRecord

    job = row.subject
    assert isinstance(job, JobRecord)
    name_width = min(columns.name, max(12, width // 3))
    lead: list[Piece] = [(f"{row.symbol} ", row.look), (fit(row.name, name_width, glyphs), "")]
    room = width - name_width - 2
    if job.state == "running" and is_watch(job):
        return cut_line([*lead, ("  ", ""), (cut(row.note, room - 2, glyphs), "quiet")], width, glyphs)
    if job.state == "running":
        return cut_line([*lead, *_running(job, row.moment or Moment(), room, glyphs)], width, glyphs)
    told = _told(job, row.note, glyphs)
    return cut_line([*lead, ("  ", ""), (cut(told, room - 2, glyphs), row.look)], width, glyphs)


def watch_text(job: JobRecord, now: float, glyphs: Glyphs) -> str:
    """What a watch says of itself, with the age of what it sent last instead of the time of day."""

    def aged(found: re.Match[str]) -> str:
        hour, minute, second = (int(part) for part in found.groups())
        today = time.localtime(now)
        age_s = (today.tm_hour - hour) * 3600 + (today.tm_min - minute) * 60 + (today.tm_sec - second)
        age_s %= 86400
        # Told every second at first, then in steps: each is a repaint.
        return f"last sent {figures.ago(now - (age_s if age_s < 10 else age_s // 5 * 5), now)}"

    told = _LAST_SENT.sub(aged, job.progress.phase)
    told = told.replace(" \u00b7 ", f" {glyphs.dot} ")
    return clean(told, glyphs) or "starting"


def _running(job: JobRecord, moment: Moment, room: int, glyphs: Glyphs) -> list[Piece]:
    progress = job.progress
    fraction = progress.fraction
    phase = clean(progress.phase, glyphs)
    if fraction is None:
        moved = figures.size(progress.bytes_done, glyphs) if progress.bytes_done else ""
        return [("  " + "  ".join(part for part in (phase or "starting", moved) if part), "quiet")]
    # In the order of display, each with how readily it gives way: what tells most stays longest.
    parts: list[tuple[int, Piece]] = [(0, (figures.percent(fraction), "strong"))]
    if progress.bytes_total is not None:
        parts.append((3, (figures.of_total(progress.bytes_done, progress.bytes_total, glyphs).rjust(17), "")))
    elif progress.items_total is not None:
        parts.append((3, (f"{progress.items_done:,} of {progress.items_total:,}".rjust(17), "")))
    if job.spec.kind == ingest_rows.KIND:
        parts.append((1, (ingest_rows.episodes_rate(progress).rjust(14), "accent")))
        parts.append((2, (ingest_rows.bytes_read(progress, glyphs).rjust(12), "quiet")))
    else:
        parts += _speed(moment, phase, glyphs)
    tries = attempts(job)
    if tries > 1:
        parts.append((4, (f"attempt {tries}", "attention")))
    while len(parts) > 1 and room - 2 - _cells(parts) < MIN_BAR_CELLS:
        parts.remove(max(parts, key=lambda part: part[0]))
    bar_width = min(40, room - 2 - _cells(parts))
    pieces: list[Piece] = [("  ", "")]
    if bar_width >= MIN_BAR_CELLS:
        pieces += bar(fraction, bar_width, glyphs)
    for _, piece in parts:
        pieces += [("  ", ""), piece]
    return pieces


def _speed(moment: Moment, phase: str, glyphs: Glyphs) -> list[tuple[int, Piece]]:
    """How fast a job is, how long still, and how it went; of one that stands, what it does or waits for."""
    if moment.stalled_s:
        return [(2, (f"waits for the network, {figures.span(moment.stalled_s)}", "attention"))]
    if moment.rate <= 0:
        return [(2, (phase, "quiet"))] if phase else []
    parts: list[tuple[int, Piece]] = [(2, (figures.rate(moment.rate, glyphs).rjust(9), "accent"))]
    if moment.remaining_s is not None:
        parts.append((1, (f"{figures.clock(moment.remaining_s)} left".rjust(10), "")))
    drawn = sparkline(moment.rates, SPARK_CELLS, glyphs.sparks)
    if drawn:
        parts.append((5, (drawn.rjust(SPARK_CELLS), "faint")))
    return parts


def attempts(job: JobRecord) -> int:
    """Which try at its work a job is at, from 1."""
    return job.retries + max(1, job.progress.attempts)


def _cells(parts: list[tuple[int, Piece]]) -> int:
    return sum(cell_len(text) + 2 for _, (text, _) in parts)


def bar(fraction: float, width: int, glyphs: Glyphs) -> list[Piece]:
    """A progress bar of `width` cells."""
    done = int(fraction * width)
    if done >= width:
        return [(glyphs.bar * width, "good")]
    return [(glyphs.bar * done + glyphs.bar_end, "bar"), (glyphs.track * (width - done - 1), "track")]


def _age(job: JobRecord, now: float) -> str:
    """How long ago a job ended. A part of its row, so that a row whose age grew is another one and is repainted."""
    return "" if job.finished_at is None else figures.ago(job.finished_at, now)


def _told(job: JobRecord, age: str, glyphs: Glyphs) -> str:
    """What there is to say about a job that does not run."""
    when = f" {glyphs.dot} {age}" if age else ""
    progress = job.progress
    if job.state in ("queued", "paused"):
        return age or clean(progress.phase, glyphs) or "starting"
    if job.state == "done" and is_watch(job):
        return f"the recorder has finished {glyphs.dot} {_episodes(job)}{when}"
    if job.state == "done" and job.spec.kind == ingest_rows.KIND:
        return f"done {glyphs.dot} {ingest_rows.done_text(job, glyphs)}{when}"
    if job.state == "done" and not progress.bytes_done and not progress.bytes_total:
        return f"done {glyphs.dot} nothing had to move{when}"
    if job.state == "done":
        moved = figures.size(progress.bytes_total or progress.bytes_done, glyphs)
        return f"done {glyphs.dot} {moved}{when}"
    if job.state == "cancelled" and is_watch(job):
        return f"watch off{when} {glyphs.dot} {_episodes(job)}"
    if job.state == "cancelled":
        return f"cancelled{when} {glyphs.dot} {glyphs.key('retry')} goes on from there"
    if job.failure is None:
        return f"{job.state.value}{when} {glyphs.dot} {glyphs.key('retry')} tries again"
    title, message = clean(job.failure.title, glyphs), clean(job.failure.message, glyphs)
    return f"{job.state.value}{when} {glyphs.dot} {title}: {message}"


def _episodes(job: JobRecord) -> str:
    return f"{job.progress.items_done} of {job.progress.items_total or 0} episodes sent"


def rates(jobs: Iterable[JobRecord], pace: Pace) -> tuple[float, float]:
    """Bytes a second of all running jobs together: coming in, going out."""
    running = [job for job in jobs if job.state == "running"]
    return (
        sum(pace.of(job).rate for job in running if "pull" in job.spec.kind),
        sum(pace.of(job).rate for job in running if "push" in job.spec.kind or is_watch(job)),
    )


def summary(jobs: Iterable[JobRecord], glyphs: Glyphs) -> str:
    """`2 running · 1 waiting · 1 failed`, empty when nothing is to say."""
    states: list[str] = [job.state for job in jobs]
    named = (
        (states.count("running"), "running"),
        (states.count("paused"), "paused"),
        (states.count("queued"), "waiting"),
        (states.count("failed"), "failed"),
        (states.count("interrupted"), "interrupted"),
    )
    return f" {glyphs.dot} ".join(f"{number} {word}" for number, word in named if number)
