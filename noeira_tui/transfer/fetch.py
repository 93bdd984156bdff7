"""Filling a `.part` from a URL over as many connections as pay, hashing it on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from noeira_tui.core.presigned import UrlSource
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import TransferContext, Wanted
from noeira_tui.transfer.follow import FrontHash, FrontReader, PageCacheKeeper
from noeira_tui.transfer.halt import Halt, StoppedError
from noeira_tui.transfer.part import Part, PartLostError
from noeira_tui.transfer.plan import MIN_PIECE_BYTES, Plan
from noeira_tui.transfer.ramp import MAX_CONNECTIONS, Ramp
from noeira_tui.transfer.retry import Attempts, SharedUrl
from noeira_tui.transfer.scribe import Scribe
from noeira_tui.transfer.worker import RestartError, Shared, Tap, Worker

SMALL_BYTES = 2 * MIN_PIECE_BYTES
"""Smaller files are fetched in the caller's thread: starting others would take longer than the file."""

_TICK_S = 0.03


class Fetch:
    """Brings a part to its full size; may be run again after the part was restarted. Counts requests and body bytes."""

    def __init__(
        self,
        source: UrlSource,
        wanted: Wanted,
        progress: Progress,
        cancel: CancelToken,
        context: TransferContext,
        tap: Tap | None = None,
    ) -> None:
        self._tap = tap
        self._wanted = wanted
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._url = SharedUrl(source)
        self._attempts = Attempts(context.patience)
        self._whole = False
        self._restarted = False
        self._furthest = 0
        self._workers: list[Worker] = []
        self._lock = threading.Lock()

    @property
    def requests(self) -> int:
        return sum(worker.client.requests for worker in self._workers)

    @property
    def bytes_transferred(self) -> int:
        return sum(worker.received for worker in self._workers)

    def run(self, part: Part) -> str:
        """Fetch what is missing and return the sha256 of everything that is in the part then."""
        while True:
            plan = Plan(self._wanted.size_bytes, part.done)
            self._progress.expect(size_bytes=plan.size)
            self._progress.already(sum(end - first for first, end in plan.written()))
            attempt = self._attempt(part, plan)
            try:
                return attempt.run()
            except RestartError as restart:
                self._note_restart(restart, plan)
            part.restart()
            self._progress.restart()

    def add_worker(self, shared: Shared) -> Worker:
        """A new connection, counted."""
        worker = Worker(shared)
        with self._lock:
            self._workers.append(worker)
        return worker

    def _attempt(self, part: Part, plan: Plan) -> _Attempt:
        halt = Halt(self._cancel)
        ramp = Ramp(time.monotonic())
        shared = Shared(
            part=part,
            plan=plan,
            wanted=self._wanted,
            url=self._url,
            attempts=self._attempts,
            progress=self._progress,
            halt=halt,
            context=self._context,
            ranges_work=lambda: ramp.ranges_work(time.monotonic(), plan.moved),
            stumbled=lambda: ramp.stumbled(time.monotonic()),
            whole=self._whole,
            tap=self._tap,
        )
        return _Attempt(shared, ramp, lambda: self.add_worker(shared))

    def _note_restart(self, restart: RestartError, plan: Plan) -> None:
        """Raise the error behind a restart when another one would only repeat it."""
        if restart.whole:
            self._whole = True
            further = plan.moved > self._furthest
            self._furthest = max(self._furthest, plan.moved)
            self._attempts.failed(restart.error, self._attempts.ticket(), brought=int(further))
            self._progress.enter("starting again: the server sends only whole files")
        elif self._restarted:
            raise restart.error
        self._restarted = self._restarted or not restart.whole


class _Attempt:
    """One run of connections, hash and page cache over one plan; ends with all of its threads."""

    def __init__(self, shared: Shared, ramp: Ramp, new_worker: Callable[[], Worker]) -> None:
        self._s = shared
        self._ramp = ramp
        self._new_worker = new_worker
        self._front = FrontHash(shared.part.fd, shared.plan, shared.halt)
        self._live = 0
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor
        shared.halt.when_over(shared.plan.stop)

    def run(self) -> str:
        """Fetch and hash everything; whatever ends it, the journal says what was written."""
        self._s.progress.enter("downloading")
        try:
            return self._run()
        finally:
            # What ended it is worth more than a note that cannot be written any more.
            with suppress(OSError, PartLostError):
                self._s.part.record(self._s.plan.written, self._s.plan.size)

    def _run(self) -> str:
        size = self._s.plan.size
        if size is not None and size <= SMALL_BYTES:
            return self._run_small()
        keeper = PageCacheKeeper(self._s.part.fd, self._front)
        tap = self._s.tap
        with ThreadPoolExecutor(MAX_CONNECTIONS + 2, thread_name_prefix="transfer") as self._pool:
            try:
                self._start(self._front.run)
                # What is tapped is read once more and then thrown away: it stays in memory.
                self._start(keeper.run if tap is None else lambda: tap(FrontReader(self._s.part.fd, self._s.plan)))
                self._steer()
            finally:
                keeper.finish()
                self._s.halt.finish()
        if self._s.halt.error is not None:
            raise self._s.halt.error
        return self._front.hexdigest()

    def _run_small(self) -> str:
        """All in the caller's thread, but for the journal where the link turns out to be slow."""
        self._live = 1
        with Scribe(self._s.part, self._s.plan, self._s.halt), suppress(StoppedError):
            self._new_worker().run(lambda: 0 if self._s.whole else 1)
            self._front.run()
        if self._s.halt.error is not None:
            raise self._s.halt.error
        return self._front.hexdigest()

    def _steer(self) -> None:
        """Start and retire connections, and keep the journal, until all is hashed or something failed."""
        plan, halt, front = self._s.plan, self._s.halt, self._front
        scribe = Scribe(self._s.part, plan, halt)
        while not halt.is_over and not (plan.complete and front.hashed == plan.size):
            if halt.user.is_cancelled:
                halt.user.check()
            now = time.monotonic()
            if plan.complete:
                self._s.progress.enter("verifying")
            self._ramp.observe(now, plan.moved, plan.written_bytes - front.hashed)
            self._fill_up()
            scribe.note(now)
            halt.wait(_TICK_S)

    def _fill_up(self) -> None:
        with self._lock:
            missing = min(self._ramp.target, self._useful()) - self._live
            self._live += max(0, missing)
        for _ in range(missing):
            self._start(partial(self._work, self._new_worker()))

    def _useful(self) -> int:
        """How many connections there is work for."""
        plan = self._s.plan
        if plan.complete:
            return 0
        return max(1, self._live + -(-plan.waiting_bytes // MIN_PIECE_BYTES))

    def _work(self, worker: Worker) -> None:
        try:
            worker.run(self._share)
        finally:
            with self._lock:
                self._live -= 1

    def _share(self) -> int:
        """Between how many connections the rest is divided: 0 for one that takes all, -1 when there are too many."""
        if self._s.whole:
            return 0
        return -1 if self._live > self._ramp.target else self._ramp.target

    def _start(self, action: Callable[[], None]) -> None:
        def settle(done: Future[None]) -> None:
            if (error := done.exception()) is not None:
                self._s.halt.fail(error)

        self._pool.submit(action).add_done_callback(settle)
