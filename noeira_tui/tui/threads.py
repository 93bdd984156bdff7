"""The app's own threads. All are daemons: a look that hangs on a dead network never keeps the app from quitting.

Textual's thread workers are not used: a cancelled one runs on and blocks the end of the process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.installed import PROGRAM
from noeira_tui.core.states import State
from noeira_tui.tui.messages import (
    ErrandDone,
    ErrandFailed,
    JobsFailed,
    JobsRead,
    Looked,
    LookFailed,
    LookStarted,
)
from noeira_tui.tui.ports import BoxLike

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import Overview
    from noeira_tui.tui.board import Shelved

Result = TypeVar("Result")
Post = Callable[[Message], bool]

LOOK_EVERY_S = 15.0
LIVE_EVERY_S = 3.0
LIVE_SHARE = 0.05
"""While something is recorded its episodes are counted this often, less often where looking takes more of a core."""
_SAME_ANSWER_S = 5.0
"""An answer is kept a moment before it is told."""
JOBS_EVERY_S = 0.25
JOBS_EVERY_OVER_SSH_S = 1.0


def attempt(work: Callable[[], Result], failed: Callable[[NoeiraError], None]) -> Result | None:
    """The result of `work`, or None after `failed` was told why not.

    A fault of ours (any other exception) is told as well, before it goes on to end this thread: nothing on screen may
    wait for ever for an answer that will not come.
    """
    finished = False
    try:
        result = work()
        finished = True
        return result
    except NoeiraError as err:
        finished = True
        failed(err)
        return None
    except ImportError:
        if not PROGRAM.look():
            raise
        finished = True
        failed(PROGRAM.error())
        return None
    finally:
        if not finished:
            failed(_fault(sys.exception()))


def _remembers(now: Overview, before: Overview) -> bool:
    """Whether a look that did not ask knows what the one before heard of the service: a state folder that cannot be
    written, or is full, has no answer, or an old one."""
    heard_at = before.service.answer_at
    return heard_at is None or (now.service.answer_at or 0.0) > heard_at - _SAME_ANSWER_S


def _fault(fault: BaseException | None) -> NoeiraError:
    """A fault of ours as an error; where the program was replaced while it ran, that is the fault."""
    if PROGRAM.look():
        return PROGRAM.error()
    return NoeiraError(
        f"{type(fault).__name__}: {fault}",
        title="Unexpected error",
        hint="This is a fault of the program; please report it.",
    )


class Watcher:
    """Keeps the picture fresh: looks at the box every 15 s and whenever asked, reads the jobs whenever they change."""

    def __init__(self, box: BoxLike, post: Post, shelve: Callable[[Overview], Shelved], *, over_ssh: bool) -> None:
        self._box = box
        self._post = post
        self._shelve = shelve
        self._jobs_every_s = JOBS_EVERY_OVER_SSH_S if over_ssh else JOBS_EVERY_S
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    def start(self) -> None:
        """Begin; the first look uses the last answers, so that something true is on screen at once."""
        for target, name in ((self._look_on, "noeira-look"), (self._read_jobs_on, "noeira-jobs")):
            thread = self._threads.get(name)
            if thread is None or not thread.is_alive():
                self._threads[name] = thread = threading.Thread(target=target, name=name, daemon=True)
                thread.start()

    def look_now(self) -> None:
        """Look again as soon as possible; a thread that ended by a fault begins anew."""
        self._wanted.set()
        self.start()

    def stop(self) -> None:
        """End soon; nobody needs to wait for it."""
        self._stopped.set()
        self._wanted.set()

    def _look_on(self) -> None:
        self._look(ask_service=False)
        while not self._stopped.is_set():
            self._wanted.clear()
            self._post(LookStarted())
            self._rest(self._look(ask_service=True))

    def _rest(self, last: Overview | None) -> None:
        """Wait for the next whole look; meanwhile count a live recording's episodes, without asking the service."""
        until = time.monotonic() + LOOK_EVERY_S
        cost_s = 0.0
        while not self._wanted.is_set() and (left_s := until - time.monotonic()) > 0:
            is_live = last is not None and last.service.reachable is True and State.RECORDING in last.states
            pause_s = max(LIVE_EVERY_S, cost_s / LIVE_SHARE) if is_live else left_s
            if self._wanted.wait(min(left_s, pause_s)) or not is_live or pause_s >= left_s:
                continue
            began = time.monotonic()
            last = self._look(ask_service=False, before=last)
            cost_s = time.monotonic() - began

    def _look(self, *, ask_service: bool, before: Overview | None = None) -> Overview | None:
        """One look, told. What the one `before` heard of the service, and whether the box is safe, still holds."""
        PROGRAM.look()
        overview = attempt(lambda: self._box.look(ask_service=ask_service), lambda error: self._tell(LookFailed(error)))
        if overview is not None:
            if before is not None:
                if not _remembers(overview, before):
                    return before
                overview = replace(
                    overview,
                    service=before.service,
                    safe_to_destroy=before.safe_to_destroy,
                    unsafe_because=before.unsafe_because,
                )
            self._tell(Looked(self._shelve(overview), is_whole=ask_service))
        return overview

    def _read_jobs_on(self) -> None:
        version: object = None
        known: tuple[JobRecord, ...] | None = None
        failing = ""
        while not self._stopped.is_set():
            failures: list[NoeiraError] = []

            def failed(error: NoeiraError, failures: list[NoeiraError] = failures, before: str = failing) -> None:
                failures.append(error)
                # The same failure four times a second is told once.
                if str(error) != before:
                    self._tell(JobsFailed(error))

            current = attempt(self._box.jobs_version, failed)
            if not failures and (known is None or current != version):
                jobs = attempt(self._box.jobs, failed)
                if jobs is not None:
                    version, known = current, jobs
                    self._tell(JobsRead(jobs))
            failing = str(failures[0]) if failures else ""
            if failures:
                # What is read next is told even when nothing changed: it ends the failure.
                known = None
            self._stopped.wait(self._jobs_every_s)

    def _tell(self, message: Message) -> None:
        if not self._stopped.is_set():
            self._post(message)


class Errands:
    """Runs what the user asked for, one short-lived thread each."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def run(
        self,
        work: Callable[[], Result],
        then: Callable[[Result], None],
        otherwise: Callable[[NoeiraError], None] | None = None,
    ) -> None:
        """Do `work` beside the app, then call `then` with its result in the app's thread.

        An error is given to `otherwise` there; without it, it is shown.
        """

        def errand() -> None:
            failed = False

            def tell(error: NoeiraError) -> None:
                nonlocal failed
                failed = True
                self._post(ErrandFailed(error, otherwise))

            result = attempt(work, tell)
            if not failed:
                self._post(ErrandDone(lambda: then(result)))  # type: ignore[arg-type]  # None only when it failed

        threading.Thread(target=errand, name="noeira-errand", daemon=True).start()


def is_over_ssh() -> bool:
    """Whether the terminal is at the other end of an SSH connection."""
    return bool(os.environ.get("SSH_CONNECTION"))
