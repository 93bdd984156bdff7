"""Uploading one file with a plain PUT, and the digest of exactly the bytes that were sent."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult

from noeira_tui.core.errors import NetworkError, TransferError
from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES, UrlSource
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.dial import Line
from noeira_tui.transfer.facts import ALONE, FileStamp, TransferContext, Uploaded
from noeira_tui.transfer.http import MAX_REDIRECTS, Answer, Client, put_headers, redirected
from noeira_tui.transfer.retry import Attempts, SharedUrl, asks_for_fresh_url, refusal, retry_after_s
from noeira_tui.transfer.sending import STORED, STORING_TAKES_LONGER, SentFile, send_chunk
from noeira_tui.transfer.stall import StallGuard

SINGLE_PUT_LIMIT_BYTES = MAX_SINGLE_PUT_BYTES
_BUFFER_BYTES = 1 << 20
_SMALL_BYTES = 256 << 10


def upload(
    path: Path,
    target: UrlSource,
    *,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    context: TransferContext = ALONE,
    connections: Connections | None = None,
) -> Uploaded:
    """PUT a file to a presigned URL, with its length and no header the URL was not signed for.

    A retry opens the file again. `connections` are kept open from one upload to the next.

    Raises SourceChangedError when the file changed meanwhile: what was sent must not be completed then. Raises
    StorageRefusedError, NetworkError, CancelledError, TransferError for a file that is too large for one PUT or cannot
    be read.
    """
    cancel = cancel or CancelToken()
    if connections is None:
        with Client(context.patience, cancel) as client:
            return _Upload(path, target, progress or Progress(), cancel, context, client).run()
    with connections.one() as client:
        return _Upload(path, target, progress or Progress(), cancel, context, client).run()


class Connections:
    """Connections to object stores that stay open between uploads; each upload has one for itself.

    May be shared between threads. `cancel` is the token of all uploads that use them.
    """

    def __init__(self, cancel: CancelToken, context: TransferContext = ALONE) -> None:
        self._cancel = cancel
        self._context = context
        self._idle: list[Client] = []

    @contextmanager
    def one(self) -> Iterator[Client]:
        """A connection nobody else uses."""
        try:
            client = self._idle.pop()
        except IndexError:
            client = Client(self._context.patience, self._cancel)
        try:
            yield client
        except BaseException:
            client.close()
            raise
        self._idle.append(client)

    def close(self) -> None:
        """Close those that nobody uses now."""
        while self._idle:
            self._idle.pop().close()


def too_large(path: Path, size_bytes: int, limit_bytes: int = SINGLE_PUT_LIMIT_BYTES) -> TransferError:
    """The error for a file over the limit of one PUT where there is no other way up for it."""
    return TransferError(
        f"{path} has {size_bytes:,} bytes; one PUT may carry {limit_bytes:,}.",
        title="Too large for one PUT",
        hint="Split it into several files.",
    )


@dataclass(frozen=True)
class _Sent:
    answer: Answer
    digest: str
    stamp: FileStamp


class _Upload:
    def __init__(
        self,
        path: Path,
        target: UrlSource,
        progress: Progress,
        cancel: CancelToken,
        context: TransferContext,
        client: Client,
    ) -> None:
        self._path = path
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._url = SharedUrl(target)
        self._attempts = Attempts(context.patience)
        self._client = client
        self._former_requests = client.requests
        self._buffer = memoryview(b"")
        self._bytes_transferred = 0

    def run(self) -> Uploaded:
        began = time.monotonic()
        try:
            size = self._path.stat().st_size
            if size > self._context.single_put_limit_bytes:
                raise too_large(self._path, size, self._context.single_put_limit_bytes)
            self._progress.expect(size_bytes=size)
            self._progress.enter("uploading")
            self._buffer = memoryview(bytearray(max(1, min(_BUFFER_BYTES, size))))
            while (done := self._try()) is None:
                self._progress.restart()
        except OSError as err:
            raise TransferError(f"{self._path} cannot be read: {err.strerror or err}.") from err
        return Uploaded(
            sha256=done.digest,
            size_bytes=done.stamp.size_bytes,
            bytes_transferred=self._bytes_transferred,
            requests=self._client.requests - self._former_requests,
            elapsed_s=time.monotonic() - began,
        )

    def _try(self) -> _Sent | None:
        """One PUT of the whole file; None when it has to be tried again."""
        presigned, generation = self._url.get()
        ticket = self._attempts.ticket()
        try:
            sent = self._put(presigned.url)
        except NetworkError as err:
            self._attempts.failed(err, ticket)
            self._attempts.wait(self._cancel)
            return None
        answer = sent.answer
        body = "" if answer.status in STORED else answer.text()
        answer.close()
        if answer.status in STORED:
            return sent
        error = refusal(answer, body)
        if asks_for_fresh_url(answer, body):
            self._url.refused(generation, error)
            return None
        self._attempts.failed(error, ticket, retry_after_s=retry_after_s(answer.header("Retry-After")))
        self._attempts.wait(self._cancel)
        return None

    def _put(self, url: str) -> _Sent:
        for _ in range(MAX_REDIRECTS + 1):
            sent = self._put_once(url)
            if sent.answer.status not in {307, 308} or sent.answer.header("Location") is None:
                return sent
            sent.answer.close()
            url = redirected(url, sent.answer)
            self._progress.restart()
        raise NetworkError(f"{sent.answer.shown_url} redirects more than {MAX_REDIRECTS} times.", retryable=False)

    def _put_once(self, url: str) -> _Sent:
        with self._path.open("rb", buffering=0) as stream:
            body = SentFile(self._path, stream.fileno(), FileStamp.of(os.fstat(stream.fileno())))

            def send(line: Line, parts: SplitResult) -> None:
                # Sent a second time when a connection that was kept open turns out to be dead.
                body.digest = hashlib.sha256()
                self._progress.restart()
                put_headers(line, parts, "PUT", {"Content-Length": str(body.stamp.size_bytes)})
                line.connection.endheaders()
                body.complete = self._send_body(line, body)

            answer = self._client.send(url, send, self._context.patience.answer_s * STORING_TAKES_LONGER)
            if answer.status in STORED and not (body.complete and body.is_unchanged(self._cancel)):
                answer.close()
                raise body.changed()
        return _Sent(answer, body.digest.hexdigest(), body.stamp)

    def _send_body(self, line: Line, body: SentFile) -> bool:
        """Send exactly the announced bytes, hashing each chunk while it is sent; False after an early answer."""
        sock = line.connection.sock
        guard = StallGuard(self._context.patience)
        offset = 0
        sock.setblocking(False)
        if body.stamp.size_bytes <= _SMALL_BYTES:
            # A thread would cost more than it saves.
            chunk = body.read(self._buffer, 0) if body.stamp.size_bytes else memoryview(b"")
            self._context.limit.take(len(chunk), self._cancel)
            body.digest.update(chunk)
            if len(chunk) < body.stamp.size_bytes or not self._send_chunk(sock, chunk, guard):
                return False
            self._bytes_transferred += len(chunk)
            self._progress.advance(len(chunk))
            return True
        with ThreadPoolExecutor(1, thread_name_prefix="hash") as hasher:
            while offset < body.stamp.size_bytes:
                self._cancel.check()
                chunk = body.read(self._buffer, offset)
                self._context.limit.take(len(chunk), self._cancel)
                hashing = hasher.submit(body.digest.update, chunk)
                try:
                    if not self._send_chunk(sock, chunk, guard):
                        return False
                finally:
                    hashing.result()
                offset += len(chunk)
                self._bytes_transferred += len(chunk)
                self._progress.advance(len(chunk))
        return True

    def _send_chunk(self, sock: socket.socket, chunk: memoryview, guard: StallGuard) -> bool:
        return send_chunk(sock, chunk, guard, self._context.patience, self._cancel)
