"""How many connections a download uses: more as long as more of them bring more."""

from __future__ import annotations

MAX_CONNECTIONS = 32
_FEWEST = 2
_GROWTH = 4
_WINDOW_S = 0.06
_LONG_WINDOW_S = 1.0
_ENOUGH_A_CONNECTION_BYTES = 1 << 20
_WORTH_IT = 1.4
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_PAUSE_AFTER_STUMBLE_S = 5.0
_MAX_LAG_BYTES = 192 << 20


class Ramp:
    """Multiplies the connections while the rate follows, steps back when it does not, and asks again later.

    Object stores cap each connection, so there the rate nearly follows the number; where the link, the disk or the
    hash is the limit, more connections only cost. One thread observes; the others only set numbers.
    """

    def __init__(self, now: float) -> None:
        self.target = 1
        self._ranges_work = False
        self._since = now
        self._moved = 0
        self._before = 0.0
        self._former = 1
        self._pause_s = _FIRST_PAUSE_S
        self._held_until = 0.0
        self._stumbled_until = 0.0

    def ranges_work(self, now: float, moved: int) -> None:
        """The server answered a range: several connections can be used."""
        if not self._ranges_work:
            self._ranges_work = True
            self._restart_window(now, moved)

    def stumbled(self, now: float) -> None:
        """The server refused or dropped a request: fewer connections for a while."""
        if now < self._stumbled_until:
            return
        self._stumbled_until = now + _FIRST_PAUSE_S
        self._held_until = now + _PAUSE_AFTER_STUMBLE_S
        self._before = 0.0
        self.target = max(1, self.target // 2)

    def observe(self, now: float, moved: int, lag_bytes: int) -> None:
        """`moved` bytes arrived in all; `lag_bytes` of them are not hashed yet."""
        elapsed_s = now - self._since
        enough = moved - self._moved >= self.target * _ENOUGH_A_CONNECTION_BYTES
        if not self._ranges_work or elapsed_s < _WINDOW_S or (not enough and elapsed_s < _LONG_WINDOW_S):
            return
        rate = (moved - self._moved) / elapsed_s
        self._restart_window(now, moved)
        if now < self._held_until:
            return
        if lag_bytes > _MAX_LAG_BYTES:
            self._settle(now, self.target // 2)
        elif rate < self._before * _WORTH_IT:
            self._settle(now, self._former)
        elif self.target < MAX_CONNECTIONS:
            self._before, self._former = rate, self.target
            self.target = min(MAX_CONNECTIONS, self.target * _GROWTH)

    def _settle(self, now: float, target: int) -> None:
        self.target = min(self.target, max(_FEWEST, target))
        self._before = 0.0
        self._held_until = now + self._pause_s
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    def _restart_window(self, now: float, moved: int) -> None:
        self._since = now
        self._moved = moved
