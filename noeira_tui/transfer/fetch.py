"""Filling a `.part` from a URL and hashing it on the way."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import dataclass

from noeira_tui.core.errors import NetworkError, TransferError, VerificationError
from noeira_tui.core.presigned import UrlSource
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import TransferContext, Wanted
from noeira_tui.transfer.http import Answer, Client
from noeira_tui.transfer.part import Part
from noeira_tui.transfer.retry import (
    Attempts,
    SharedUrl,
    asks_for_fresh_url,
    range_error,
    refusal,
    retry_after_s,
)

_BUFFER_BYTES = 1 << 20
_RECORD_EVERY_S = 1.0
_CONTENT_RANGE = re.compile(r"\s*bytes\s+(?:(\d+)-(\d+)|\*)/(\d+|\*)\s*", re.IGNORECASE)


class _RestartError(Exception):
    """What is there cannot be gone on from."""


@dataclass(frozen=True)
class _Body:
    """An answer that brings bytes from offset `first` on; `total` is the size of the whole object, where told."""

    answer: Answer
    first: int
    total: int | None


class Fetch:
    """Brings a part to its full size; may be run again after the part was restarted. Counts requests and body bytes."""

    def __init__(
        self, source: UrlSource, wanted: Wanted, progress: Progress, cancel: CancelToken, context: TransferContext
    ) -> None:
        self._wanted = wanted
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._url = SharedUrl(source)
        self._attempts = Attempts(context.patience, cancel)
        self._client = Client(context.patience, cancel)
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._restarts = 0
        self.bytes_transferred = 0

    @property
    def requests(self) -> int:
        return self._client.requests

    def run(self, part: Part) -> str:
        """Fetch what is missing and return the sha256 of everything that is in the part then."""
        with self._client:
            while True:
                try:
                    return self._run_once(part)
                except _RestartError:
                    part.restart()
                    self._progress.restart()

    def _run_once(self, part: Part) -> str:
        size = self._wanted.size_bytes
        front = part.done[0][1] if part.done and part.done[0][0] == 0 else 0
        if size is not None and front > size:
            self._restart(VerificationError("", expected=self._wanted.sha256, actual=""))
        digest = hashlib.sha256()
        self._progress.expect(size_bytes=size)
        self._rehash(part, front, digest)
        os.ftruncate(part.fd, front)
        self._progress.enter("downloading")
        complete = size is not None and front == size
        while not complete:
            before = front
            try:
                front, complete = self._stretch(part, front, digest)
                self._attempts.progressed()
            except (NetworkError, TransferError) as err:
                front = os.fstat(part.fd).st_size
                self._note_failure(err, front - before)
        part.record(((0, front),) if front else (), front)
        return digest.hexdigest()

    def _note_failure(self, err: TransferError, brought: int) -> None:
        retry_after = getattr(err, "retry_after_s", None)
        self._attempts.failed(err, retry_after, brought=brought)
        self._attempts.wait()

    def _restart(self, error: TransferError) -> None:
        self._restarts += 1
        if self._restarts > 1:
            raise error
        raise _RestartError

    def _rehash(self, part: Part, front: int, digest: hashlib._Hash) -> None:
        self._progress.enter("hashing")
        offset = 0
        while offset < front:
            self._cancel.check()
            count = os.preadv(part.fd, [self._buffer[: front - offset]], offset)
            if not count:
                break
            digest.update(self._buffer[:count])
            offset += count
            self._progress.already(count)

    def _stretch(self, part: Part, front: int, digest: hashlib._Hash) -> tuple[int, bool]:
        """Read one answer from `front` on; where that got to, and whether that is the end."""
        body = self._open(front)
        if body is None:
            return front, False
        answer, size = body.answer, self._wanted.size_bytes if self._wanted.size_bytes is not None else body.total
        if body.first != front:
            answer.close()
            raise _RestartError
        recorded = time.monotonic()
        try:
            while count := answer.read_into(self._buffer):
                self._context.limit.take(count, self._cancel)
                self._cancel.check()
                if size is not None and front + count > size:
                    self._too_long(answer, size)
                chunk = self._buffer[:count]
                _write_all(part.fd, chunk, front)
                digest.update(chunk)
                front += count
                self.bytes_transferred += count
                self._progress.advance(count)
                self._attempts.progressed()
                self._url.progressed()
                if time.monotonic() - recorded > _RECORD_EVERY_S:
                    part.record(((0, front),))
                    recorded = time.monotonic()
        finally:
            answer.close()
            part.record(((0, front),) if front else ())
        return front, size is None or front == size

    def _open(self, front: int) -> _Body | None:
        """The answer to a request for everything from `front` on; None when a fresh URL has to be tried first."""
        url, generation = self._url.get()
        headers = {"Accept-Encoding": "identity", "User-Agent": "noeira-tui"}
        if front:
            headers["Range"] = f"bytes={front}-"
        answer = self._client.get(url, headers)
        if answer.status == 200:
            if front:
                self._progress.enter("restarting: the server ignores ranges")
            return _Body(answer, 0, answer.left)
        if answer.status == 206:
            return self._partial(answer, front)
        body = answer.text()
        answer.close()
        if answer.status == 416:
            self._restart(refusal(answer, body))
        if asks_for_fresh_url(answer, body):
            self._url.refused(generation, refusal(answer, body))
            return None
        error = refusal(answer, body)
        self._attempts.failed(error, retry_after_s(answer.header("Retry-After")))
        self._attempts.wait()
        return None

    def _partial(self, answer: Answer, front: int) -> _Body:
        found = _CONTENT_RANGE.fullmatch(answer.header("Content-Range") or "")
        if found is None or found[1] is None:
            answer.close()
            raise range_error(answer, "sent a part without saying which")
        if int(found[1]) != front:
            answer.close()
            raise range_error(answer, f"sent bytes from {found[1]} on when asked for {front}")
        total = None if found[3] == "*" else int(found[3])
        if None not in (total, self._wanted.size_bytes) and total != self._wanted.size_bytes:
            answer.close()
            raise self._other_size(total)
        return _Body(answer, front, total)

    def _too_long(self, answer: Answer, size: int) -> None:
        self._client.close()
        self._restart(self._other_size(None))

    def _other_size(self, total: int | None) -> VerificationError:
        told = "more" if total is None else f"{total:,}"
        return VerificationError(
            f"The object has {told} bytes where {self._wanted.size_bytes:,} are promised.",
            expected=self._wanted.sha256,
            actual="",
            hint="The store and the catalog disagree; push the dataset again.",
        )


def _write_all(fd: int, chunk: memoryview, offset: int) -> None:
    while chunk:
        written = os.pwrite(fd, chunk, offset)
        chunk = chunk[written:]
        offset += written
