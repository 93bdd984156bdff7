"""Writing down, while a file arrives, what of it is there: a killed process loses half a second, at any size."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from noeira_tui.transfer.halt import Halt
from noeira_tui.transfer.part import Part, PartLostError
from noeira_tui.transfer.plan import Plan

_EVERY_S = 0.5
_HEARTBEAT_S = 10.0


class Scribe:
    """Keeps the journal of one attempt: by calls of `note`, or by itself as a context.

    It also gives the sign of life by which another host tells a paused transfer from a dead one.
    """

    def __init__(self, part: Part, plan: Plan, halt: Halt) -> None:
        self._part = part
        self._plan = plan
        self._halt = halt
        self._over = threading.Event()
        self._noted_s = self._beat_s = time.monotonic()
        self._known = plan.moved
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def note(self, now: float) -> None:
        """Write the journal when it is time and there is news. Raises PartLostError, OSError."""
        if now - self._noted_s < _EVERY_S:
            return
        self._noted_s = now
        if self._plan.moved != self._known or now - self._beat_s > _HEARTBEAT_S:
            self._known, self._beat_s = self._plan.moved, now
            self._part.record(self._plan.written, self._plan.size)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            try:
                self.note(time.monotonic())
            except (OSError, PartLostError) as err:
                self._halt.fail(err)
                return
