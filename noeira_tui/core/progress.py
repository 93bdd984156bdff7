"""Progress that workers own and displays read as frozen snapshots, and the token that stops or pauses work."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from noeira_tui.core.errors import CancelledError

_RATE_WINDOW_S = 5.0
_SAMPLE_EVERY_S = 0.1
_WAIT_SLICE_S = 0.5


@dataclass(frozen=True)
class ProgressSnapshot:
    """The counters at one moment. Totals are None while unknown; `rate` is bytes a second over the last seconds."""

    bytes_done: int = 0
    bytes_total: int | None = None
    items_done: int = 0
    items_total: int | None = None
    rate: float = 0.0
    phase: str = ""
    attempts: int = 1
    elapsed_s: float = 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds left at the present rate; None while it cannot be told."""
        if self.bytes_total is None or self.rate <= 0:
            return None
        return max(0, self.bytes_total - self.bytes_done) / self.rate

    @property
    def fraction(self) -> float | None:
        """Done of total, 0 to 1; by bytes where their total is known, else by items."""
        if self.bytes_total:
            return min(1.0, self.bytes_done / self.bytes_total)
        if self.items_total:
            return min(1.0, self.items_done / self.items_total)
        return None


class Progress:
    """Locked counters that one piece of work owns. Every method may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._started = clock()
        self._bytes_done = 0
        self._bytes_total: int | None = None
        self._items_done = 0
        self._items_total: int | None = None
        self._phase = ""
        self._attempts = 1
        self._moved = 0
        self._samples: deque[tuple[float, int]] = deque([(self._started, 0)])

    def expect(self, *, size_bytes: int | None = None, items: int | None = None) -> None:
        """Set the totals that are known."""
        with self._lock:
            if size_bytes is not None:
                self._bytes_total = size_bytes
            if items is not None:
                self._items_total = items

    def already(self, size_bytes: int) -> None:
        """Count bytes that were here before: done, but not part of the rate."""
        with self._lock:
            self._bytes_done += size_bytes

    def advance(self, size_bytes: int) -> None:
        """Count bytes that just moved."""
        with self._lock:
            self._bytes_done += size_bytes
            self._moved += size_bytes
            now = self._clock()
            if now - self._samples[-1][0] >= _SAMPLE_EVERY_S:
                self._samples.append((now, self._moved))
                while len(self._samples) > 2 and now - self._samples[0][0] > _RATE_WINDOW_S:
                    self._samples.popleft()

    def restart(self) -> None:
        """Take back the bytes counted so far: the transfer starts again from nothing."""
        with self._lock:
            self._bytes_done = 0

    def rewind_to(self, size_bytes: int) -> None:
        """Set the done bytes to an offset: part of what was counted has to be fetched again."""
        with self._lock:
            self._bytes_done = size_bytes

    def item_done(self, count: int = 1) -> None:
        """Count finished items (files, episodes, packs)."""
        with self._lock:
            self._items_done += count

    def enter(self, phase: str) -> None:
        """Say in a word or two what is being done now: `hashing`, `downloading`, `waiting for a slot`."""
        with self._lock:
            self._phase = phase

    def attempt(self, number: int) -> None:
        """Say which try this is, from 1."""
        with self._lock:
            self._attempts = number

    def snapshot(self) -> ProgressSnapshot:
        """The counters now, as a frozen picture."""
        with self._lock:
            now = self._clock()
            while len(self._samples) > 1 and now - self._samples[0][0] > _RATE_WINDOW_S:
                self._samples.popleft()
            since, moved = self._samples[0]
            span = max(now - since, 1e-3)
            rate = max(0.0, (self._moved - moved) / span) if now - since > 0 else 0.0
            return ProgressSnapshot(
                bytes_done=self._bytes_done,
                bytes_total=self._bytes_total,
                items_done=self._items_done,
                items_total=self._items_total,
                rate=rate,
                phase=self._phase,
                attempts=self._attempts,
                elapsed_s=now - self._started,
            )


class CancelToken:
    """Asks a piece of work to stop or to stand still; the work checks it at every chunk."""

    def __init__(self) -> None:
        # Reentrant, and waited on in slices: a signal handler may call `cancel` in the very thread that waits here.
        self._changed = threading.Condition(threading.RLock())
        self._cancelled = False
        self._paused = False

    def cancel(self) -> None:
        """Ask the work to stop at its next chunk; paused work too. It cannot be taken back."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def pause(self) -> None:
        """Ask the work to stand still at its next chunk."""
        with self._changed:
            self._paused = True

    def resume(self) -> None:
        """Let paused work go on."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled

    @property
    def is_paused(self) -> bool:
        return self._paused and not self._cancelled

    def check(self) -> None:
        """Stand still while paused; raise CancelledError when asked to stop."""
        if self.is_paused:
            with self._changed:
                while self.is_paused:
                    self._changed.wait(_WAIT_SLICE_S)
        if self._cancelled:
            raise CancelledError("Stopped on request.", hint="What was transferred is kept; run it again to go on.")

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until cancelled; then raise CancelledError."""
        until = time.monotonic() + seconds
        with self._changed:
            while not self._cancelled and (left_s := until - time.monotonic()) > 0:
                self._changed.wait(min(left_s, _WAIT_SLICE_S))
        self.check()
