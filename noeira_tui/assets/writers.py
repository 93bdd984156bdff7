"""Writing many files on a few threads: while one waits for the file system, another hashes.

Small files travel in batches, because handing one over costs as much as writing it; a large one goes piece by piece to
the thread that has it open.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from dataclasses import dataclass, field

from noeira_tui.assets.contents import UnpackedFile
from noeira_tui.assets.names import refused
from noeira_tui.assets.twin import Twin

THREADS = 2
_BATCH_BYTES = 2 << 20
_BATCH_FILES = 128
_WAITING = 4
_TICK_S = 0.1
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to be written below the tree."""

    path: str
    size_bytes: int
    is_executable: bool
    mtime_ns: int


@dataclass
class _Open:
    """A file that is being written."""

    new: NewFile
    fd: int = -1
    left: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)


class _StoppedError(Exception):
    """Another thread failed; its error is the one that is told."""


class Writers:
    """Writes files below one folder, and links each into the `twin` where there is one.

    Use it from one thread; `finish` gives what was written, or the first error.
    """

    def __init__(self, folder_fd: int, threads: int = THREADS, twin: Twin | None = None) -> None:
        self._folder_fd = folder_fd
        self._twin = twin
        self._written: list[UnpackedFile] = []
        self._error: BaseException | None = None
        self._queues: list[queue.Queue[list[tuple[NewFile, Bytes]] | tuple[_Open, Bytes | None] | None]] = [
            queue.Queue(_WAITING) for _ in range(threads)
        ]
        self._turn = 0
        self._batch: list[tuple[NewFile, Bytes]] = []
        self._batch_bytes = 0
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=f"write-{number}", daemon=True)
            for number, work in enumerate(self._queues)
        ]
        for thread in self._threads:
            thread.start()

    def whole(self, new: NewFile, data: Bytes) -> None:
        """Write a small file. Raises what a writer met."""
        self._batch.append((new, data))
        self._batch_bytes += len(data)
        if self._batch_bytes >= _BATCH_BYTES or len(self._batch) >= _BATCH_FILES:
            self._hand_over()

    def begin(self, new: NewFile) -> LargeFile:
        """Begin a file that is handed over piece by piece."""
        return LargeFile(self, self._next_queue(), _Open(new, left=new.size_bytes))

    def finish(self) -> list[UnpackedFile]:
        """Wait until everything is written. Raises the first error that a writer met."""
        self._hand_over()
        self._end()
        if self._error is not None:
            raise self._error
        return self._written

    def abandon(self) -> None:
        """Stop; what is half written stays as it is."""
        if self._error is None:
            self._error = _StoppedError()
        self._end()

    def put(self, number: int, item: list[tuple[NewFile, Bytes]] | tuple[_Open, Bytes | None] | None) -> None:
        """Hand work to one writer. Raises what any of them met."""
        while True:
            if self._error is not None and item is not None:
                raise self._error
            try:
                self._queues[number].put(item, timeout=_TICK_S)
            except queue.Full:
                continue
            return

    def _hand_over(self) -> None:
        if self._batch:
            batch, self._batch, self._batch_bytes = self._batch, [], 0
            self.put(self._next_queue(), batch)

    def _next_queue(self) -> int:
        """The writer with the least to do."""
        self._turn += 1
        order = range(self._turn, self._turn + len(self._queues))
        return min((number % len(self._queues) for number in order), key=lambda number: self._queues[number].qsize())

    def _end(self) -> None:
        for number in range(len(self._queues)):
            self.put(number, None)
        for thread in self._threads:
            thread.join()

    def _run(self, work: queue.Queue[list[tuple[NewFile, Bytes]] | tuple[_Open, Bytes | None] | None]) -> None:
        opened: _Open | None = None
        while (item := work.get()) is not None:
            if self._error is not None:
                continue
            try:
                if isinstance(item, list):
                    for new, data in item:
                        one = _Open(new, left=new.size_bytes)
                        opened = one
                        self._piece(one, data)
                        self._close(one)
                else:
                    opened = item[0]
                    if item[1] is not None:
                        self._piece(opened, item[1])
                    else:
                        self._close(opened)
            except BaseException as err:  # noqa: BLE001  raised again in the thread that hands the work over
                self._error = err
        if opened is not None and opened.fd >= 0:
            os.close(opened.fd)

    def _piece(self, one: _Open, data: Bytes) -> None:
        if one.fd < 0:
            # Read-only from the start, and without set-uid bits whatever the archive says.
            mode = 0o555 if one.new.is_executable else 0o444
            one.fd = os.open(one.new.path, _FLAGS, mode, dir_fd=self._folder_fd)
        one.left -= len(data)
        if one.left < 0:
            raise refused(one.new.path, "it is longer than it says")
        one.digest.update(data)
        written = os.write(one.fd, data) if data else 0
        while written < len(data):
            written += os.write(one.fd, memoryview(data)[written:])

    def _close(self, one: _Open) -> None:
        if one.left:
            raise refused(one.new.path, "it is shorter than it says")
        os.utime(one.fd, ns=(one.new.mtime_ns, one.new.mtime_ns))
        stat = os.fstat(one.fd)
        os.close(one.fd)
        one.fd = -1
        if self._twin is not None:
            self._twin.add(one.new.path, self._folder_fd)
        self._written.append(
            UnpackedFile(one.new.path, stat.st_size, stat.st_mtime_ns, stat.st_ino, one.digest.hexdigest())
        )


class LargeFile:
    """A file whose pieces go to the one writer that has it open."""

    def __init__(self, writers: Writers, number: int, one: _Open) -> None:
        self._writers = writers
        self._number = number
        self._one = one

    def write(self, data: Bytes) -> None:
        """The next piece."""
        self._writers.put(self._number, (self._one, data))

    def close(self) -> None:
        """There are no more."""
        self._writers.put(self._number, (self._one, None))
