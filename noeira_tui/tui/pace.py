"""How fast jobs move, calmly: figures that change at most once a second, and how they went over the last while."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord

EVERY_S = 1.0
"""Figures that jitter are renewed this often: they can be read, and are not sent over a slow link again and again."""
KEPT = 60
"""So many rates are kept of a job."""
STALLED_S = 10.0
"""Without a byte for so long, a transfer is said to wait for the network."""
_MOVING_PHASES = ("downloading", "uploading", "uploading in parts")


@dataclass(frozen=True)
class Moment:
    """What is shown of a job's speed: bytes a second, seconds left, the rates before, and how long nothing moved."""

    rate: float = 0.0
    remaining_s: float | None = None
    rates: tuple[float, ...] = ()
    stalled_s: float = 0.0


@dataclass
class _Track:
    at: float
    moved_at: float
    bytes_done: int
    rates: deque[float]
    moment: Moment


class Pace:
    """Follows the running jobs. `clock` is in seconds; when it is set back, what is shown begins anew."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._tracks: dict[int, _Track] = {}

    def take(self, jobs: Iterable[JobRecord]) -> None:
        """Take up how far the jobs are now."""
        now = self._clock()
        running = {job.id: job for job in jobs if job.state == "running"}
        self._tracks = {job_id: track for job_id, track in self._tracks.items() if job_id in running}
        for job in running.values():
            self._follow(job, now)

    def of(self, job: JobRecord) -> Moment:
        """What to show of a job; of one that was not followed, what its row says."""
        track = self._tracks.get(job.id)
        return track.moment if track is not None else Moment(job.progress.rate, job.progress.remaining_s)

    def _follow(self, job: JobRecord, now: float) -> None:
        progress = job.progress
        track = self._tracks.get(job.id)
        if track is None or now < track.at:
            first = Moment(progress.rate, progress.remaining_s)
            track = self._tracks[job.id] = _Track(now, now, progress.bytes_done, deque(maxlen=KEPT), first)
            if progress.rate > 0:
                track.rates.append(progress.rate)
            return
        if progress.bytes_done != track.bytes_done or not progress.phase.startswith(_MOVING_PHASES):
            track.moved_at, track.bytes_done = now, progress.bytes_done
        just_began = track.moment.rate == 0 < progress.rate
        if now - track.at < EVERY_S and not just_began:
            return
        track.at = now
        track.rates.append(progress.rate)
        stalled_s = now - track.moved_at
        track.moment = Moment(
            progress.rate,
            progress.remaining_s,
            tuple(track.rates),
            stalled_s // 5 * 5 if stalled_s >= STALLED_S else 0.0,
        )


def sparkline(rates: Iterable[float], width: int, signs: str) -> str:
    """The last rates as signs of growing height, the newest last; empty for less than three."""
    shown = list(rates)[-width:]
    most = max(shown, default=0.0)
    if len(shown) < 3 or most <= 0:
        return ""
    top = len(signs) - 1
    return "".join(signs[round(top * rate / most)] for rate in shown)
