"""Hashing a file behind the front while later parts of it still arrive, and keeping it out of the page cache."""

from __future__ import annotations

import hashlib
import os
import sys
import threading

from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.halt import StoppedError
from noeira_tui.transfer.plan import Plan

_BLOCK_BYTES = 2 << 20
_DROP_EVERY_BYTES = 16 << 20
_DROP_BEHIND_BYTES = 128 << 20
KEEP_CACHED_BYTES = 64 << 20
"""Files up to this size stay in the page cache: who pulls them will read them soon."""


class FrontHash:
    """The sha256 of the contiguous front, read back from the file: what is verified is what was written."""

    def __init__(self, fd: int, plan: Plan, halt: CancelToken) -> None:
        self._fd = fd
        self._plan = plan
        self._halt = halt
        self._digest = hashlib.sha256()
        self.hashed = 0

    def run(self) -> None:
        """Follow the front until the plan is complete or stopped. Raises OSError, CancelledError."""
        buffer = memoryview(bytearray(_BLOCK_BYTES))
        while (front := self._plan.front_beyond(self.hashed)) > self.hashed:
            while self.hashed < front:
                self._halt.check()
                count = os.preadv(self._fd, [buffer[: front - self.hashed]], self.hashed)
                if not count:
                    raise OSError(5, "the file became shorter while it was written")
                self._digest.update(buffer[:count])
                self.hashed += count

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class FrontReader:
    """The contiguous front as a file to read from while the rest still arrives: `read` waits for bytes to be there.

    What is read was not verified yet.
    """

    def __init__(self, fd: int, plan: Plan) -> None:
        self._fd = fd
        self._plan = plan
        self._at = 0

    @property
    def size_bytes(self) -> int | None:
        """The size of the whole file; None while nobody knows it."""
        return self._plan.size

    def seek(self, offset: int) -> int:
        """Go on from there."""
        self._at = offset
        return offset

    def read(self, size: int) -> bytes:
        """At most `size` bytes, empty at the end. Raises StoppedError when the attempt ends before they are there."""
        front = self._plan.front_beyond(self._at)
        if front <= self._at:
            if not self._plan.complete:
                raise StoppedError("The transfer ended before its end could be read.")
            return b""
        data = os.pread(self._fd, min(size, front - self._at), self._at)
        self._at += len(data)
        return data


class PageCacheKeeper:
    """Writes back behind the front and drops what was hashed: a large pull must not push a training job's files out."""

    def __init__(self, fd: int, follower: FrontHash) -> None:
        self._fd = fd
        self._follower = follower
        self._over = threading.Event()
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, 48, 1)  # F_NOCACHE, which the module does not name

    def run(self) -> None:
        """Follow the hash until told that it is over."""
        started = dropped = 0
        while not self._over.wait(0.02):
            hashed = self._follower.hashed
            if hashed - started >= _DROP_EVERY_BYTES:
                # For dirty pages this begins the writing; they go when they are clean, at the next pass.
                drop_pages(self._fd, started, hashed - started)
                started = hashed
            if started - dropped >= 2 * _DROP_BEHIND_BYTES:
                drop_pages(self._fd, dropped, _DROP_BEHIND_BYTES)
                dropped += _DROP_BEHIND_BYTES

    def finish(self) -> None:
        """End `run`."""
        self._over.set()


def drop_pages(fd: int, first: int = 0, length: int = 0) -> None:
    """Tell the system that a part of a file (to its end for length 0) will not be read soon: a hint, no more."""
    if sys.platform == "linux":
        os.posix_fadvise(fd, first, length, os.POSIX_FADV_DONTNEED)
