"""Stopping all threads of one transfer at once, by the user or because one of them failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken

_TICK_S = 0.25


class StoppedError(CancelledError):
    """Another thread of the same transfer ended it. Never leaves this package."""


class Halt(CancelToken):
    """Pauses and cancels with the user's token, and stops by itself once `fail` was called or the work is done."""

    def __init__(self, user: CancelToken) -> None:
        super().__init__()
        self._user = user
        self._lock = threading.Lock()
        self._on_stop: list[Callable[[], None]] = []
        self._over = threading.Event()
        self.error: BaseException | None = None

    def when_over(self, action: Callable[[], None]) -> None:
        """Have `action` called once it is over, to wake those who wait."""
        self._on_stop.append(action)

    def fail(self, error: BaseException) -> None:
        """The first error ends the transfer; what other threads meet because of that is no news."""
        with self._lock:
            if self.error is None and not isinstance(error, StoppedError):
                self.error = error
        self.finish()

    def finish(self) -> None:
        """No thread has anything left to do."""
        self._over.set()
        for action in self._on_stop:
            action()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def check(self) -> None:
        if self._over.is_set():
            raise StoppedError("Another connection ended the transfer.")
        while self._user.is_paused and not self._over.is_set():
            time.sleep(_TICK_S)
        self._user.check()

    def sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            self.check()
            self._user.sleep(min(left_s, _TICK_S))
        self.check()

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than until it is over."""
        self._over.wait(seconds)

    @property
    def user(self) -> CancelToken:
        return self._user
