"""One connection of a download: takes pieces, fetches them, writes them in place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from noeira_tui.core.errors import NetworkError, StorageRefusedError, VerificationError
from noeira_tui.core.progress import Progress
from noeira_tui.transfer.body import (
    Decoder,
    OddAnswerError,
    check_part,
    content_range,
    decoder_for,
    other_size,
)
from noeira_tui.transfer.facts import TransferContext, Wanted
from noeira_tui.transfer.follow import FrontReader
from noeira_tui.transfer.halt import Halt
from noeira_tui.transfer.http import Answer, Client
from noeira_tui.transfer.part import Part
from noeira_tui.transfer.plan import Piece, Plan
from noeira_tui.transfer.retry import Attempts, SharedUrl, asks_for_fresh_url, refusal, retry_after_s

BUFFER_BYTES = 512 << 10
Tap = Callable[[FrontReader], None]
"""Somebody who reads the file while it arrives."""
_PROGRESS_BYTES = 64 << 10
"""So much in one go forgives earlier failures; what a starved connection dribbles does not."""


class RestartError(Exception):
    """What was written cannot be gone on from. `whole`: the server sends everything whatever it is asked for."""

    def __init__(self, error: NetworkError | StorageRefusedError | VerificationError, *, whole: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.whole = whole


@dataclass(frozen=True)
class Shared:
    """What the connections of one attempt have in common."""

    part: Part
    plan: Plan
    wanted: Wanted
    url: SharedUrl
    attempts: Attempts
    progress: Progress
    halt: Halt
    context: TransferContext
    ranges_work: Callable[[], None]
    stumbled: Callable[[], None]
    """Told of a request that brought nothing."""
    whole: bool = False
    tap: Tap | None = None


class Worker:
    """Runs in a thread of its own, or in the caller's for a small file."""

    def __init__(self, shared: Shared) -> None:
        self._s = shared
        self.client = Client(shared.context.patience, shared.halt)
        self.received = 0
        self._unpraised = 0

    def run(self, connections: Callable[[], int]) -> None:
        """Fetch pieces until none are left, or `connections` says by -1 that there are too many.

        Raises TransferError, RestartError, OSError, CancelledError.
        """
        buffer = memoryview(bytearray(BUFFER_BYTES))
        with self.client:
            while True:
                self._s.attempts.wait(self._s.halt)
                share = connections()
                piece = self._s.plan.take(share) if share >= 0 else None
                if piece is None:
                    return
                self._try(piece, buffer)

    def _try(self, piece: Piece, buffer: memoryview) -> None:
        """Fetch one piece, or some of it."""
        ticket = self._s.attempts.ticket()
        self._unpraised = 0
        try:
            self._fetch(piece, buffer)
        except NetworkError as err:
            if self._s.plan.size is None and piece.brought:
                # What follows cannot be asked for, and what is hashed must not be written again.
                raise RestartError(err, whole=True) from None
            self._note(err, ticket, piece)
            return
        except _BusyError as busy:
            self._note(busy.error, ticket, piece, busy.retry_after_s)
            return
        finally:
            self._s.plan.landed(piece)
        if not piece.brought:
            return
        self._progressed()
        if not self._s.plan.complete:
            self._s.part.record(self._s.plan.written, self._s.plan.size)

    def _note(
        self,
        error: NetworkError | StorageRefusedError,
        ticket: int,
        piece: Piece,
        retry_after_s: float | None = None,
    ) -> None:
        self._s.attempts.failed(error, ticket, brought=piece.brought, retry_after_s=retry_after_s)
        if not piece.brought:
            self._s.stumbled()

    def _fetch(self, piece: Piece, buffer: memoryview) -> None:
        answer = self._open(piece)
        if answer is None:
            return
        try:
            decoder = decoder_for(answer, self._s.wanted.size_bytes) if answer.status == 200 else None
            if decoder is not None:
                self._decode(answer, piece, buffer, decoder)
            else:
                self._copy(answer, piece, buffer)
        finally:
            answer.close()

    def _copy(self, answer: Answer, piece: Piece, buffer: memoryview) -> None:
        while piece.end is None or piece.at < piece.end:
            room = buffer if piece.end is None else buffer[: piece.end - piece.at]
            count = answer.read_into(room)
            if not count:
                break
            self.received += count
            self._write(piece, room[:count])
            self._hold_back(count)
        if piece.end is None:
            self._s.plan.ended(piece)
        elif piece.at < piece.end:
            raise NetworkError(f"{answer.shown_url} ended {piece.end - piece.at:,} bytes early.")
        elif answer.status == 200 and answer.left != 0 and answer.read_into(buffer):
            self.client.close()
            raise RestartError(other_size(self._s.wanted, None))

    def _decode(self, answer: Answer, piece: Piece, buffer: memoryview, decoder: Decoder) -> None:
        """Take off an encoding that a proxy put on. Such a body is never resumed: its offsets mean nothing."""
        try:
            while not decoder.finished:
                count = answer.read_into(buffer)
                if not count:
                    raise NetworkError(f"{answer.shown_url} ended in the middle of its encoding.")
                self.received += count
                self._hold_back(count)
                chunk = decoder.take(bytes(buffer[:count]), BUFFER_BYTES)
                while chunk:
                    if piece.end is not None and piece.at + len(chunk) > piece.end:
                        raise RestartError(other_size(self._s.wanted, None))
                    self._write(piece, memoryview(chunk))
                    chunk = decoder.take(b"", BUFFER_BYTES) if decoder.pending else b""
        except NetworkError as err:
            raise RestartError(err, whole=True) from None
        if piece.end is None:
            self._s.plan.ended(piece)
        elif piece.at < piece.end:
            raise RestartError(other_size(self._s.wanted, piece.at), whole=True)

    def _hold_back(self, count: int) -> None:
        self._s.context.limit.take(count, self._s.halt)
        self._s.halt.check()

    def _write(self, piece: Piece, chunk: memoryview) -> None:
        offset = piece.at
        left = chunk
        while left:
            written = os.pwrite(self._s.part.fd, left, offset)
            left = left[written:]
            offset += written
        self._s.plan.wrote(piece, len(chunk))
        self._s.progress.advance(len(chunk))
        self._unpraised += len(chunk)
        if self._unpraised >= _PROGRESS_BYTES:
            self._progressed()

    def _progressed(self) -> None:
        self._unpraised = 0
        self._s.attempts.progressed()
        self._s.url.progressed()

    def _open(self, piece: Piece) -> Answer | None:
        """The answer that brings `piece`; None when a fresh URL has to be tried first.

        Raises RestartError, _BusyError.
        """
        presigned, generation = self._s.url.get()
        answer = self.client.get(presigned.url, self._headers(piece), presigned.authorization)
        try:
            if self._accept(answer, piece):
                return answer
            self._refused(answer, generation)
        except _OtherSizeError as other:
            # A mirror, or an object that was replaced: a fresh URL may lead to the promised one.
            self._s.url.refused(generation, other.error)
        except BaseException:
            answer.close()
            raise
        answer.close()
        return None

    def _headers(self, piece: Piece) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": "noeira-tui"}
        everything = piece.at == 0 and (self._s.whole or (piece.end is not None and piece.end == self._s.plan.size))
        if not everything:
            headers["Range"] = f"bytes={piece.at}-{'' if piece.end is None else piece.end - 1}"
        return headers

    def _accept(self, answer: Answer, piece: Piece) -> bool:
        size = self._s.wanted.size_bytes
        if answer.status == 206:
            found = check_part(answer, piece.at)
            if found.end is not None and decoder_for(answer, found.end - piece.at) is not None:
                self.client.close()
                encoded = OddAnswerError(f"{answer.shown_url} sends parts with an encoding that was not asked for.")
                raise RestartError(encoded, whole=True)
            if found.total is not None and size not in {None, found.total}:
                raise _OtherSizeError(other_size(self._s.wanted, found.total))
            if found.total is None and self._s.plan.size is None:
                raise OddAnswerError(f"{answer.shown_url} does not tell the size of the object.")
            if found.total is not None:
                self._s.plan.learn_size(found.total)
            self._s.ranges_work()
            return True
        if answer.status == 200:
            self._accept_whole(answer, piece, size)
            return True
        found_range = content_range(answer) if answer.status == 416 else None
        if found_range is not None and found_range.total == 0 and size in {None, 0}:
            self._s.plan.learn_size(0)
            return True
        return False

    def _accept_whole(self, answer: Answer, piece: Piece, size: int | None) -> None:
        if piece.at or self._s.plan.moved or self._s.plan.written():
            self.client.close()
            ignored = OddAnswerError(f"{answer.shown_url} ignores ranges and sends everything from the beginning.")
            raise RestartError(ignored, whole=True)
        encoded = decoder_for(answer, size) is not None
        if not encoded and answer.left is not None:
            if size not in {None, answer.left}:
                self.client.close()
                raise _OtherSizeError(other_size(self._s.wanted, answer.left))
            self._s.plan.learn_size(answer.left)
        self._s.plan.whole(piece)

    def _refused(self, answer: Answer, generation: int) -> None:
        body = answer.text()
        error = refusal(answer, body)
        if answer.status == 416:
            raise RestartError(error)
        if asks_for_fresh_url(answer, body):
            self._s.url.refused(generation, error)
            return
        raise _BusyError(error, retry_after_s(answer.header("Retry-After")))


class _OtherSizeError(Exception):
    def __init__(self, error: VerificationError) -> None:
        super().__init__(error.message)
        self.error = error


class _BusyError(Exception):
    """The server answered that it cannot now, or not at all."""

    def __init__(self, error: StorageRefusedError, retry_after_s: float | None) -> None:
        super().__init__(error.message)
        self.error = error
        self.retry_after_s = retry_after_s
