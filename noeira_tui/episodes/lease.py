"""One writer at a time in a bucket that cannot refuse a second PUT of a key: turns are taken as at a baker's counter.

Source of the algorithm: L. Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem" (1974). It needs no
atomic operation, only that what was written is seen by who reads later, which S3 and what speaks like it promise. A
ticket is written again and again while its writer lives; who waits takes away one that did not change for a while.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from noeira_tui.core.errors import NoeiraError, TransferError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.place import BucketPlace

FOLDER = "lease"
DEAD_AFTER_S = 30.0
_BEAT_EVERY_S = 5.0
_LOOK_EVERY_S = 0.1


class Lease:
    """The right to write to one catalog. Not for two threads at once."""

    def __init__(
        self,
        place: BucketPlace,
        say: Callable[[str], None],
        *,
        dead_after_s: float = DEAD_AFTER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = place
        self._say = say
        self._dead_after_s = dead_after_s
        self._clock = clock
        self._seen: dict[str, tuple[str, float]] = {}
        self._renewed_at = 0.0

    @contextmanager
    def held(self, cancel: CancelToken) -> Iterator[None]:
        """Wait for the turn, and keep it while the context is open. Raises CancelledError, NetworkError and its kin."""
        ticket = self._draw()
        stop = threading.Event()
        beat = threading.Thread(target=self._beat, args=(ticket, stop), daemon=True, name="lease")
        beat.start()
        try:
            self._wait(ticket, cancel)
            yield
        finally:
            stop.set()
            beat.join()
            self._place.remove(f"{FOLDER}/{ticket}")

    def check(self) -> None:
        """Raise TransferError when the lease was not renewed in time, as after a suspended laptop."""
        if self._clock() - self._renewed_at > self._dead_after_s / 2:
            raise TransferError("The lease on the catalog could not be renewed in time.", retryable=True)

    def _draw(self) -> str:
        """A ticket with a higher number than all there are. While it is drawn, others wait for it."""
        owner = f"{socket.gethostname()}-{secrets.token_hex(6)}"
        choosing = f"choosing-{owner}"
        self._write(choosing, 0)
        try:
            numbers = [_number(name) for name in self._place.marks(FOLDER) if name.startswith("ticket-")]
            ticket = f"ticket-{max(numbers, default=0) + 1:010d}-{owner}"
            self._write(ticket, 0)
        finally:
            self._place.remove(f"{FOLDER}/{choosing}")
        return ticket

    def _wait(self, ticket: str, cancel: CancelToken) -> None:
        told = False
        # Who draws a ticket from now on sees this one, and draws a higher number.
        drawing = {name for name in self._living(ticket) if name.startswith("choosing-")}
        while True:
            before = [name for name in self._living(ticket) if name in drawing or "ticket-" < name < ticket]
            if not before:
                return
            if not told:
                self._say(f"waiting for another ingest ({_host(before[0])}) to finish its turn on the catalog")
                told = True
            cancel.sleep(_LOOK_EVERY_S)

    def _living(self, own: str) -> list[str]:
        """The tickets of others; those that nobody renews are taken away."""
        now = self._clock()
        marks = {name: tag for name, tag in self._place.marks(FOLDER).items() if name != own}
        self._seen = {
            name: (tag, now) if self._seen.get(name, ("", 0.0))[0] != tag else self._seen[name]
            for name, tag in marks.items()
        }
        dead = [name for name, (_, since) in self._seen.items() if now - since > self._dead_after_s]
        for name in dead:
            self._place.remove(f"{FOLDER}/{name}")
        return sorted(name for name in marks if name not in dead)

    def _beat(self, ticket: str, stop: threading.Event) -> None:
        count = 0
        while not stop.wait(_BEAT_EVERY_S):
            count += 1
            try:
                self._write(ticket, count)
            except NoeiraError as err:
                self._say(f"the lease on the catalog cannot be renewed: {err.message}")

    def _write(self, name: str, count: int) -> None:
        # Always of one length: some stores send a key that is just replaced cut to the length it had.
        self._place.write(f"{FOLDER}/{name}", f"renewed {count:012d}".encode())
        self._renewed_at = self._clock()


class NoLease:
    """For places that keep two commits apart by themselves."""

    @contextmanager
    def held(self, cancel: CancelToken) -> Iterator[None]:
        with nullcontext():
            yield

    def check(self) -> None:
        """Nothing can be lost."""


def _number(ticket: str) -> int:
    text = ticket.split("-")[1]
    return int(text) if text.isdigit() else 0


def _host(ticket: str) -> str:
    """Whose ticket it is: `ticket-NUMBER-HOST-WORD`, or `choosing-HOST-WORD` while it is drawn."""
    kind, _, rest = ticket.partition("-")
    return (rest.partition("-")[2] if kind == "ticket" else rest).rpartition("-")[0]


def honours_conditional_put(place: BucketPlace) -> bool:
    """Whether a store refuses the second of two PUTs that each want to be the first: tried with a key of its own."""
    name = f"probe-{secrets.token_hex(8)}"
    try:
        return place.write_new(name, b"1") and not place.write_new(name, b"2")
    finally:
        place.remove(name)
