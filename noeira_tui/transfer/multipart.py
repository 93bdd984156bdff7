"""Uploading a file in parts with the box's own S3 credentials, where one PUT cannot carry it."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult

from noeira_tui.core.errors import NetworkError, StorageRefusedError, TransferError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.boxs3 import ObjectInParts, PartStored
from noeira_tui.transfer.dial import Line
from noeira_tui.transfer.facts import ALONE, FileStamp, TransferContext, Uploaded
from noeira_tui.transfer.halt import Halt, StoppedError
from noeira_tui.transfer.http import Answer, Client, put_headers
from noeira_tui.transfer.prompt import promptly
from noeira_tui.transfer.retry import Attempts, refusal, retry_after_s
from noeira_tui.transfer.sending import STORED, STORING_TAKES_LONGER, SentFile, send_chunk
from noeira_tui.transfer.stall import StallGuard

MAX_PARTS = 10_000
"""S3 takes no more ("Amazon S3 multipart upload limits", S3 User Guide)."""

PART_BYTES = 8 << 20
_MIB = 1 << 20
_MEMORY_BYTES = 48 << 20
_MAX_AT_ONCE = 4
_SLICE_BYTES = 1 << 20
_ABORT_WAIT_S = 10.0

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


def upload_in_parts(
    path: Path,
    target: ObjectInParts,
    *,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    context: TransferContext = ALONE,
) -> Uploaded:
    """Put a file into the store in parts, several at a time, and tell the digest of exactly the bytes sent.

    Each part is read once: what is sent, and sent again after a failure, is what was hashed. Whatever ends it before
    the end, the store is told to forget the parts.

    Raises SourceChangedError when the file changed meanwhile, StorageRefusedError, NetworkError, CancelledError,
    TransferError for a file that cannot be read.
    """
    began = time.monotonic()
    try:
        with path.open("rb", buffering=0) as stream:
            file = SentFile(path, stream.fileno(), FileStamp.of(os.fstat(stream.fileno())))
            job = _InParts(file, target, progress or Progress(), cancel or CancelToken(), context)
            return job.run(began)
    except OSError as err:
        raise TransferError(f"{path} cannot be read: {err.strerror or err}.") from err


def part_size(size_bytes: int) -> int:
    """The size of the parts of a file: whole MiB, and no more parts than a store takes."""
    smallest = -(-size_bytes // MAX_PARTS)
    return max(PART_BYTES, -(-smallest // _MIB) * _MIB)


@dataclass(frozen=True)
class _Tried:
    """The answer to a PUT, the first words of its body, and how much was sent before it came."""

    answer: Answer
    told: str
    sent_bytes: int


class _InParts:
    def __init__(
        self, file: SentFile, target: ObjectInParts, progress: Progress, cancel: CancelToken, context: TransferContext
    ) -> None:
        self._file = file
        self._target = target
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._halt = Halt(cancel)
        self._part_bytes = part_size(file.stamp.size_bytes)
        self._at_once = max(1, min(_MAX_AT_ONCE, _MEMORY_BYTES // self._part_bytes - 1))
        self._lock = threading.Lock()
        self._idle: list[Client] = []
        self._requests = 0
        self._bytes_transferred = 0

    def run(self, began: float) -> Uploaded:
        self._progress.expect(size_bytes=self._file.stamp.size_bytes)
        self._progress.enter("uploading in parts")
        upload_id = self._promptly(self._target.begin, self._target.abort)
        try:
            parts = self._send_all(upload_id)
            if not self._file.is_unchanged(self._cancel):
                raise self._file.changed()
            self._promptly(lambda: self._target.finish(upload_id, parts))
        except BaseException:
            self._abort(upload_id)
            raise
        return Uploaded(
            sha256=self._file.digest.hexdigest(),
            size_bytes=self._file.stamp.size_bytes,
            bytes_transferred=self._bytes_transferred,
            requests=self._requests + 2,
            elapsed_s=time.monotonic() - began,
        )

    def _send_all(self, upload_id: str) -> list[PartStored]:
        """Read and hash the parts in order while others are on their way."""
        free: queue.SimpleQueue[memoryview] = queue.SimpleQueue()
        for _ in range(self._at_once + 1):
            free.put(memoryview(bytearray(min(self._part_bytes, self._file.stamp.size_bytes))))
        sending: list[Future[PartStored]] = []
        with ExitStack() as stack:
            stack.callback(self._close_idle)
            pool = stack.enter_context(ThreadPoolExecutor(self._at_once, thread_name_prefix="part"))
            stack.callback(self._halt.finish)
            try:
                for number, offset in enumerate(range(0, self._file.stamp.size_bytes, self._part_bytes), 1):
                    buffer = self._next_free(free)
                    part = self._read(buffer, offset)
                    future = pool.submit(self._send_part, upload_id, number, part)
                    future.add_done_callback(partial(self._settled, free, buffer))
                    sending.append(future)
                    self._file.digest.update(part)
                return [future.result() for future in sending]
            except StoppedError:
                if self._halt.error is None:
                    raise
                raise self._halt.error from None

    def _settled(self, free: queue.SimpleQueue[memoryview], buffer: memoryview, done: Future[PartStored]) -> None:
        if (error := done.exception()) is not None:
            self._halt.fail(error)
        free.put(buffer)

    def _next_free(self, free: queue.SimpleQueue[memoryview]) -> memoryview:
        while True:
            self._halt.check()
            try:
                return free.get(timeout=self._context.patience.tick_s)
            except queue.Empty:
                continue

    def _read(self, buffer: memoryview, offset: int) -> memoryview:
        """One whole part."""
        length = min(len(buffer), self._file.stamp.size_bytes - offset)
        filled = 0
        while filled < length:
            filled += len(self._file.read(buffer[filled:length], offset + filled))
        return buffer[:length]

    def _send_part(self, upload_id: str, number: int, part: memoryview) -> PartStored:
        attempts = Attempts(self._context.patience)
        while True:
            attempts.wait(self._halt)
            ticket = attempts.ticket()
            try:
                tried = self._put(self._target.part_url(upload_id, number), part)
            except NetworkError as err:
                attempts.failed(err, ticket)
                continue
            answer = tried.answer
            etag = answer.header("ETag")
            if answer.status in STORED and etag and tried.sent_bytes == len(part):
                return PartStored(number, etag)
            self._take_back(tried.sent_bytes)
            error: NetworkError | StorageRefusedError = refusal(answer, tried.told)
            if answer.status in STORED:
                error = NetworkError(f"{answer.shown_url} did not take part {number} as a part.")
            attempts.failed(error, ticket, retry_after_s=retry_after_s(answer.header("Retry-After")))

    def _put(self, url: str, part: memoryview) -> _Tried:
        """One PUT of a part. Raises NetworkError, with nothing of it counted as done."""
        sent = 0

        def send(line: Line, parts: SplitResult) -> None:
            nonlocal sent
            # Sent a second time when a connection that was kept open turns out to be dead.
            self._take_back(sent)
            sent = 0
            put_headers(line, parts, "PUT", {"Content-Length": str(len(part))})
            line.connection.endheaders()
            guard = StallGuard(self._context.patience)
            line.connection.sock.setblocking(False)
            for at in range(0, len(part), _SLICE_BYTES):
                piece = part[at : at + _SLICE_BYTES]
                self._context.limit.take(len(piece), self._halt)
                if not send_chunk(line.connection.sock, piece, guard, self._context.patience, self._halt):
                    return
                sent += len(piece)
                self._count(len(piece))

        client = self._client()
        before = client.requests
        try:
            answer = client.send(url, send, self._context.patience.answer_s * STORING_TAKES_LONGER)
            told = answer.text()
            answer.close()
        except NetworkError:
            self._take_back(sent)
            raise
        finally:
            with self._lock:
                self._requests += client.requests - before
                self._idle.append(client)
        return _Tried(answer, told, sent)

    def _count(self, size_bytes: int) -> None:
        with self._lock:
            self._bytes_transferred += size_bytes
        self._progress.advance(size_bytes)

    def _take_back(self, size_bytes: int) -> None:
        """What was sent in vain is not done."""
        self._progress.already(-size_bytes)

    def _client(self) -> Client:
        with self._lock:
            return self._idle.pop() if self._idle else Client(self._context.patience, self._halt)

    def _close_idle(self) -> None:
        for client in self._idle:
            client.close()

    def _promptly(self, action: Callable[[], _T], abandoned: Callable[[_T], object] | None = None) -> _T:
        return promptly(action, self._cancel, self._context.patience.tick_s, abandoned)

    def _abort(self, upload_id: str) -> None:
        """Parts that nobody asks for cost their owner money until they are forgotten."""

        def abort() -> None:
            if (error := self._target.abort(upload_id)) is not None:
                _log.warning("Unfinished parts stay in the store: %s", error)

        thread = threading.Thread(target=abort, name="abort", daemon=True)
        thread.start()
        thread.join(_ABORT_WAIT_S)
