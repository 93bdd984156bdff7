"""Comparing what was stored with what was announced, by reading it where the store keeps no digest.

A request does not wait for ever for a large object: it is told to come again (503 with `Retry-After`, which clients
of the protocol obey) while the reading goes on, and finds it further, or done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES
from noeira_tui.service.contents import Contents, Upload
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.store import ObjectStore, StoredObject, fresh_object_key
from noeira_tui.service.storerefusal import StoreError

_NOTHING_STORED = "Nothing was uploaded for this registration: PUT the bytes to upload_url first"
# Clients wait half a minute for an answer.
_PATIENCE_S = 20.0
_COME_AGAIN_S = 1
_READERS = 4
_LONG_READERS = 2
_WAITING_AT_ONCE = 16
_SMALL_BYTES = 1024**2
_ASKING_AT_ONCE = 16
_SLOW_S = 5.0
_KEPT_S = 3600.0


class StillComparingError(RequestRefusedError):
    """The object is being read; whoever asks again later gets the result."""

    def __init__(self, message: str = "The stored bytes are still being compared: complete it again") -> None:
        super().__init__(503, message, retry_after_s=_COME_AGAIN_S)


@dataclass(frozen=True)
class _Settled:
    """Where an upload's bytes can no longer be replaced, and what they are."""

    key: str
    stored: StoredObject | None


@dataclass
class _Comparison:
    result: Future[_Settled]
    asked_at: float


class Comparisons:
    """The comparisons of one process. May be shared between threads.

    `fresh_key` gives the key under which an upload is settled, from the one it was uploaded to.
    """

    def __init__(
        self,
        store: ObjectStore,
        fresh_key: Callable[[str], str] = fresh_object_key,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._store = store
        self._fresh_key = fresh_key
        self._patience_s = patience_s
        self._readers = ThreadPoolExecutor(_READERS, "compare")
        self._long_readers = ThreadPoolExecutor(_LONG_READERS, "compare-long")
        self._waiting = threading.BoundedSemaphore(_WAITING_AT_ONCE)
        self._lock = threading.Lock()
        self._running: dict[tuple[str, Contents], _Comparison] = {}
        self._asked: dict[object, float] = {}
        self._closed: Future[None] = Future()

    def deadline(self) -> float:
        """Until when (of `time.monotonic`) a request that begins now waits for its comparisons."""
        return time.monotonic() + self._patience_s

    def look_at_upload(
        self, object_keys: Sequence[str], contents: Contents, former_key: str | None, deadline: float | None = None
    ) -> Upload:
        """Compare uploaded objects with what was announced, and take the first that fits.

        `former_key` names equal contents that were stored before: if that object was lost, the new one takes its place.
        Refuses with 422 when none fits; raises StillComparingError at the deadline, StoreError.
        """
        refused: RequestRefusedError | None = None
        for object_key in object_keys:
            settled = self._look(object_key, contents, deadline or self.deadline())
            try:
                check_stored(settled.stored, contents)
            except RequestRefusedError as err:
                refused = refused or err
                self._drop(object_key, settled.key)
                continue
            lost = former_key if former_key is not None and not self._is_whole(former_key, contents) else None
            return Upload(object_key, settled.key, contents, lost)
        raise refused or RequestRefusedError(422, _NOTHING_STORED)

    def close(self) -> None:
        """Begin no further reading, and let nobody wait for what is read: the next service begins anew."""
        if not self._closed.done():
            self._closed.set_result(None)
        for readers in (self._readers, self._long_readers):
            readers.shutdown(wait=False, cancel_futures=True)

    def _look(self, object_key: str, contents: Contents, deadline: float) -> _Settled:
        with self._lock:
            self._forget_old()
            running = self._running.get((object_key, contents))
        if running is None:
            with self._asking():
                stored = self._store.head(object_key)
                if stored is None or stored.size_bytes != contents.size_bytes:
                    return _Settled(object_key, stored)
                if time.monotonic() > deadline:
                    raise StillComparingError
                if stored.size_bytes <= _SMALL_BYTES:
                    return self._settle(object_key, contents)
            running = self._begin(object_key, contents)
        return self._wait(object_key, contents, running, deadline)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """A place among the requests that wait for the store's own answers.

        A store that hangs would otherwise hold every thread there is, and with them all that needs no store.
        """
        moment, mine = time.monotonic(), object()
        with self._lock:
            oldest = next(iter(self._asked.values()), moment)
            if len(self._asked) >= _ASKING_AT_ONCE and moment - oldest > _SLOW_S:
                raise StillComparingError("The object store is slow to answer: complete it again")
            self._asked[mine] = moment
        try:
            yield
        finally:
            with self._lock:
                del self._asked[mine]

    def _settle(self, object_key: str, contents: Contents) -> _Settled:
        """Put an upload where nobody can replace it, and look at it there: what is looked at is what is published."""
        key = self._fresh_key(object_key)
        if not self._store.settle(object_key, key, contents.size_bytes):
            return _Settled(object_key, None)
        try:
            stored = self._store.settled(key, contents.size_bytes)
            if stored is not None and self._is_to_be_read(stored, contents):
                stored = self._store.read_through(key)
            if stored is None:
                raise StoreError("The store has not what it said it had copied.")
        except StoreError:
            self._drop(object_key, key)
            raise
        return _Settled(key, stored)

    def _is_to_be_read(self, stored: StoredObject, contents: Contents) -> bool:
        if stored.sha256 is not None or stored.size_bytes != contents.size_bytes:
            return False
        return stored.size_bytes <= self._store.hash_up_to_bytes

    def _begin(self, object_key: str, contents: Contents) -> _Comparison:
        key = (object_key, contents)
        with self._lock:
            running = self._running.get(key)
            if running is None:
                # What is read for hours does not stand in the way of the others.
                readers = self._readers if contents.size_bytes <= MAX_SINGLE_PUT_BYTES else self._long_readers
                try:
                    result = readers.submit(self._settle, object_key, contents)
                except RuntimeError:
                    raise StillComparingError from None
                running = self._running[key] = _Comparison(result, time.monotonic())
        return running

    def _wait(self, object_key: str, contents: Contents, running: _Comparison, deadline: float) -> _Settled:
        running.asked_at = time.monotonic()
        if not running.result.done():
            # Those who wait hold a thread each: some are left for requests that need not wait.
            if not self._waiting.acquire(blocking=False):
                raise StillComparingError
            try:
                patience_s = max(0.0, deadline - time.monotonic())
                ends: list[Future[Any]] = [running.result, self._closed]
                wait(ends, patience_s, return_when=FIRST_COMPLETED)
            finally:
                self._waiting.release()
            if not running.result.done():
                raise StillComparingError
        if running.result.cancelled():
            raise StillComparingError
        with self._lock:
            is_ours = self._running.pop((object_key, contents), None) is running
        if not is_ours:
            # Another request for the same upload goes on with this very object, and may publish it.
            raise StillComparingError
        return running.result.result()

    def _is_whole(self, object_key: str, contents: Contents) -> bool:
        stored = self._store.head(object_key)
        return stored is not None and stored.size_bytes == contents.size_bytes

    def _drop(self, object_key: str, settled_key: str) -> None:
        if settled_key != object_key:
            self._store.discard([settled_key])

    def _forget_old(self) -> None:
        """Let go of what nobody asked for any more: the sweeper does not wait for it for ever."""
        moment = time.monotonic()
        for key, one in list(self._running.items()):
            if one.result.done() and moment - one.asked_at > _KEPT_S:
                del self._running[key]
                if not one.result.cancelled() and one.result.exception() is None:
                    self._drop(key[0], one.result.result().key)


def check_stored(stored: StoredObject | None, contents: Contents) -> None:
    """Refuse with 422 unless the stored object can be the contents that were announced."""
    if stored is None:
        raise RequestRefusedError(422, _NOTHING_STORED)
    if stored.size_bytes != contents.size_bytes:
        raise RequestRefusedError(422, f"The stored object has {stored.size_bytes} bytes, not {contents.size_bytes}")
    if stored.sha256 is not None and stored.sha256 != contents.sha256:
        raise RequestRefusedError(422, f"The stored object has the sha256 {stored.sha256}, not {contents.sha256}")
