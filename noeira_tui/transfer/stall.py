"""Telling a slow connection from a dead one."""

from __future__ import annotations

from noeira_tui.core.errors import NetworkError
from noeira_tui.transfer.facts import Patience


class StalledError(NetworkError):
    """A connection that brought too little for too long. Counts as a failed attempt whatever it brought."""


class StallGuard:
    """Raises StalledError when less than `min_rate` bytes a second moved over `window_s` seconds of waiting.

    Its clock counts only the seconds spent waiting for the network, so that it stands while the work is paused,
    hashing, held back by a rate limit or waiting for the disk.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._enough = max(1, int(patience.min_rate * patience.window_s))
        self._moved = 0
        self._waited_s = 0.0

    def moved(self, size_bytes: int) -> None:
        """Count bytes; enough of them begin a new window."""
        self._moved += size_bytes
        if self._moved >= self._enough:
            self._moved = 0
            self._waited_s = 0.0

    def waited(self, seconds: float) -> None:
        """Count time spent waiting. Raises StalledError when the window is over and too little moved."""
        self._waited_s += seconds
        if self._waited_s >= self._patience.window_s:
            raise StalledError(
                f"Only {self._moved:,} bytes moved in {self._waited_s:.0f} s.",
                title="Connection starved",
                hint="Run it again to go on from where it stopped.",
            )
