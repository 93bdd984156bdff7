"""Rate limits: how many requests one key may make, and how many wrong keys one address may try, in this process."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

_FORGET_AT = 10_000


class Buckets:
    """Token buckets by name: `per_second` tokens flow in, at most `burst` are kept; 0 a second is no limit."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = max(float(burst), 1.0)
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}
        self._forget_at = _FORGET_AT

    def take(self, name: str) -> int:
        """Take a token: 0 when there was one, else in how many whole seconds there will be."""
        if not self._per_second:
            return 0
        with self._lock:
            moment = self._clock()
            level, before = self._levels.get(name, (self._burst, moment))
            level = min(self._burst, level + (moment - before) * self._per_second)
            if level < 1:
                self._levels[name] = (level, moment)
                return max(1, math.ceil((1 - level) / self._per_second))
            if len(self._levels) >= self._forget_at:
                self._forget(moment)
            self._levels[name] = (level - 1, moment)
            return 0

    def _forget(self, moment: float) -> None:
        """Drop the full ones: a bucket that is not there is full."""
        self._levels = {
            name: (level, before)
            for name, (level, before) in self._levels.items()
            if level + (moment - before) * self._per_second < self._burst
        }
        # Looking through them all must stay rare, however many are left.
        self._forget_at = max(_FORGET_AT, 2 * len(self._levels))
