"""Object keys that are noted as ones to remove before anything is stored under them, until a row names them.

An outside store is not listed, as it may be someone else's too: without the note, the copy of an upload whose service
was killed before it was published would stay for ever.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta

from noeira_tui.service.database import Database
from noeira_tui.service.doomed import doom
from noeira_tui.service.store import fresh_object_key
from noeira_tui.service.tables import now

_FRESH_S = 3600.0
_MOST = 64


@dataclass
class _Lot:
    made_at: float
    size: int
    keys: list[str] = field(default_factory=list)


class ReservedKeys:
    """Fresh keys that are removed `grace` after they were noted, if no row names them then. Thread-safe.

    The busier it gets, the more are noted by one transaction; those that nobody took within an hour are given up.
    """

    def __init__(self, database: Database, grace: timedelta) -> None:
        self._database = database
        self._grace = grace
        self._lock = threading.Lock()
        self._lots: dict[str, _Lot] = {}

    def take(self, like: str) -> str:
        """A key with the suffix of another one. Raises SQLAlchemy's DBAPIError."""
        suffix = fresh_object_key(like)[40:]
        with self._lock:
            moment = time.monotonic()
            lot = self._lots.get(suffix)
            if lot is not None and moment - lot.made_at > _FRESH_S:
                lot = None
            if lot is None or not lot.keys:
                self._lots = {name: one for name, one in self._lots.items() if moment - one.made_at <= _FRESH_S}
                size = min(_MOST, 2 * lot.size) if lot is not None else 1
                lot = self._lots[suffix] = _Lot(moment, size, self._note(like, size))
            return lot.keys.pop()

    def _note(self, like: str, count: int) -> list[str]:
        keys = [fresh_object_key(like) for _ in range(count)]
        until = now() + self._grace
        with self._database.write() as session:
            doom(session, keys, until)
        return keys
