"""What a kind of job is given to work with: settings, progress, cancel, and what it shares with the rest of the box."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from noeira_tui.core.errors import StateError
from noeira_tui.core.ports import NoLimit, RateLimit
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import parse_size
from noeira_tui.core.settings import MAX_RATE, Settings
from noeira_tui.jobs.records import LIVE
from noeira_tui.jobs.store import JobStore
from noeira_tui.transfer.facts import TransferContext

if TYPE_CHECKING:
    from noeira_tui.recordings.watch import WatchEvent

_RECOUNT_EVERY_S = 1.0


@dataclass(frozen=True)
class Work:
    """What one piece of work is given. `say` writes a line to the job's log (or to stderr in the foreground).

    `tell` hears of events that a script may want to follow.
    """

    settings: Settings
    progress: Progress = field(default_factory=Progress)
    cancel: CancelToken = field(default_factory=CancelToken)
    context: TransferContext = field(default_factory=TransferContext)
    say: Callable[[str], None] = lambda line: None
    tell: Callable[[WatchEvent], None] = lambda event: None


class BoxLedger:
    """The disk ledger of this box: running jobs tell in their rows how much they will still write, and where."""

    def __init__(self, store: JobStore, job_id: int | None) -> None:
        self._store = store
        self._job_id = job_id

    def reserve(self, folder: Path, size_bytes: int) -> AbstractContextManager[None]:
        """A job's own row is its reservation: its total, less what is done."""
        return nullcontext()

    def promised_bytes(self, folder: Path) -> int:
        """Bytes that other running jobs will still write on the file system of `folder`; 0 without a state folder."""
        try:
            records = self._store.list()
        except StateError:
            return 0
        device = _device(folder)
        promised = 0
        for record in records:
            total = record.progress.bytes_total
            if record.id == self._job_id or record.state not in LIVE or not record.spec.folder or total is None:
                continue
            if _device(Path(record.spec.folder)) == device:
                promised += max(0, total - record.progress.bytes_done)
        return promised


def _device(folder: Path) -> int | None:
    for candidate in (folder, *folder.parents):
        try:
            return candidate.stat().st_dev
        except OSError:
            continue
    return None


class SharedRate:
    """NOEIRA_MAX_RATE, shared evenly between the transfers that run on this box."""

    def __init__(self, rate: float, running: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        """`rate` is bytes a second for the box; `running` counts the transfers that share it, this one included."""
        self._rate = rate
        self._running = running
        self._clock = clock
        self._lock = Lock()
        self._free_at = clock()
        self._counted_at = float("-inf")
        self._share = rate

    def take(self, size_bytes: int, cancel: CancelToken) -> None:
        """Wait until `size_bytes` more may move. Raises CancelledError when cancelled meanwhile."""
        with self._lock:
            now = self._clock()
            if now - self._counted_at > _RECOUNT_EVERY_S:
                self._share = self._rate / max(1, self._running())
                self._counted_at = now
            start = max(now, self._free_at)
            self._free_at = start + size_bytes / self._share
        if start > now:
            cancel.sleep(start - now)
        else:
            cancel.check()


def shared_context(settings: Settings, store: JobStore, job_id: int | None) -> TransferContext:
    """The transfer context of a job: the box's ledger, and its rate limit where one is set."""

    def running() -> int:
        try:
            return store.count_running()
        except StateError:
            return 1

    rate = settings.get(MAX_RATE)
    limit: RateLimit = NoLimit() if rate is None else SharedRate(parse_size(rate, MAX_RATE), running)
    return TransferContext(ledger=BoxLedger(store, job_id), limit=limit)
