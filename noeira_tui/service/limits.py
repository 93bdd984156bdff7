"""Rate limits: how many requests one key may make, and how many wrong keys one address may try.

Counted in this process, or, where several worker processes answer on one port, in a small file that all of them map:
which of them a connection meets is chance, and the limit is the box's.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

_FORGET_AT = 10_000
_SLOT = struct.Struct("<16sdd")
_SLOTS = 16_384
_NEIGHBOURS = 8
_LOCK_TRIES = 500


class Limit(Protocol):
    """Token buckets by name."""

    def take(self, name: str) -> int:
        """Take a token: 0 when there was one, else in how many whole seconds there will be."""
        ...


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
            level = self._level(*self._levels.get(name, (self._burst, moment)), moment)
            if level < 1:
                self._levels[name] = (level, moment)
                return self._wait_s(level)
            if len(self._levels) >= self._forget_at:
                self._forget(moment)
            self._levels[name] = (level - 1, moment)
            return 0

    def _level(self, level: float, before: float, moment: float) -> float:
        return min(self._burst, level + max(0.0, moment - before) * self._per_second)

    def _wait_s(self, level: float) -> int:
        return max(1, math.ceil((1 - level) / self._per_second))

    def _forget(self, moment: float) -> None:
        """Drop the full ones: a bucket that is not there is full."""
        self._levels = {
            name: (level, before)
            for name, (level, before) in self._levels.items()
            if self._level(level, before, moment) < self._burst
        }
        # Looking through them all must stay rare, however many are left.
        self._forget_at = max(_FORGET_AT, 2 * len(self._levels))


class SharedBuckets(Buckets):
    """The same buckets for all processes that open one file, which `make` makes anew at the start of a service.

    A slot of the file is the digest of a name, its level and the moment of that: the clock is the box's own. There are
    16,384; where a name finds its neighbourhood taken, it gets the slot of the fullest bucket there.
    """

    def __init__(
        self, path: Path, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(per_second, burst, clock)
        # An open file of its own: that is what a lock belongs to.
        self._file = os.open(path, os.O_RDWR)
        self._map = mmap.mmap(self._file, _SLOTS * _SLOT.size)

    @staticmethod
    def make(path: Path) -> None:
        """Make a file of full buckets."""
        path.unlink(missing_ok=True)
        with path.open("xb") as stream:
            stream.truncate(_SLOTS * _SLOT.size)

    def take(self, name: str) -> int:
        if not self._per_second:
            return 0
        digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).digest()
        with self._lock, self._locked():
            moment = self._clock()
            offset, level = self._find(digest, moment)
            left = level - 1 if level >= 1 else level
            _SLOT.pack_into(self._map, offset, digest, left, moment)
            return 0 if level >= 1 else self._wait_s(level)

    def close(self) -> None:
        self._map.close()
        os.close(self._file)

    def _find(self, digest: bytes, moment: float) -> tuple[int, float]:
        """The slot of a name and the level in it; one that is full (or free) when the name has none yet."""
        first = int.from_bytes(digest[:8], "little")
        fullest, most = 0, -1.0
        for step in range(_NEIGHBOURS):
            offset = (first + step) % _SLOTS * _SLOT.size
            held, level, before = _SLOT.unpack_from(self._map, offset)
            now = self._burst if held == bytes(16) else self._level(level, before, moment)
            if held == digest:
                return offset, now
            if now > most:
                fullest, most = offset, now
        return fullest, self._burst

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Held for microseconds. A process that was stopped while it held the lock must not stop the others: without
        # the lock a token may be taken twice, and that is all.
        taken = False
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                taken = True
                break
            except BlockingIOError:
                time.sleep(0)
        try:
            yield
        finally:
            if taken:
                fcntl.flock(self._file, fcntl.LOCK_UN)


class Limits:
    """The limits of one service. With a `folder`, worker processes count together in files there."""

    REQUESTS = "requests.limits"
    WRONG_KEYS = "wrong-keys.limits"

    def __init__(
        self, rate_limit: float, rate_burst: float, wrong_keys_per_minute: float, folder: Path | None = None
    ) -> None:
        def buckets(name: str, per_second: float, burst: float) -> Limit:
            return SharedBuckets(folder / name, per_second, burst) if folder else Buckets(per_second, burst)

        self.requests = buckets(self.REQUESTS, rate_limit, rate_burst)
        self.wrong_keys = buckets(self.WRONG_KEYS, wrong_keys_per_minute / 60, wrong_keys_per_minute)

    @classmethod
    def make_shared(cls, folder: Path) -> None:
        """Make the files in which worker processes count."""
        for name in (cls.REQUESTS, cls.WRONG_KEYS):
            SharedBuckets.make(folder / name)
