"""Downloading one file: resume, fetch the rest, verify all of it, publish. Nothing unverified ever appears."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noeira_tui.core.errors import DestinationError, VerificationError
from noeira_tui.core.presigned import UrlSource
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import ALONE, REPLACE_NOTHING, Downloaded, Replace, TransferContext, Wanted
from noeira_tui.transfer.fetch import Fetch
from noeira_tui.transfer.follow import KEEP_CACHED_BYTES, drop_pages
from noeira_tui.transfer.hashing import hash_file
from noeira_tui.transfer.part import Part, PartLostError, claim, part_path, partial_bytes, place_error
from noeira_tui.transfer.publish import may_replace, occupied, publish
from noeira_tui.transfer.space import FULL, disk_full, require_space
from noeira_tui.transfer.worker import Tap

__all__ = ["download", "part_path", "partial_bytes"]

_MAX_CLAIMS = 3


def download(
    source: UrlSource,
    dest: Path,
    wanted: Wanted,
    *,
    replace: Replace = REPLACE_NOTHING,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    context: TransferContext = ALONE,
    tap: Tap | None = None,
) -> Downloaded:
    """Fetch `wanted` to `dest`, going on from an interrupted attempt; publish it only after its sha256 was compared.

    A file that already has the wanted contents is left as it is, with no request. Raises DestinationError (something
    that `replace` does not allow is in the way, or the place cannot be written), DiskFullError, StorageRefusedError,
    NetworkError, VerificationError, CancelledError, and what `source.refresh()` raises. Whatever it raises, the bytes
    that arrived stay in `<dest>.part` for the next attempt.

    `tap` is for a file that is only wanted for what is in it: called in a thread of its own at every attempt at a file
    that is not small, it reads the bytes as they arrive and before they are verified, and must not raise. Such a file
    is not made durable.
    """
    job = _Download(source, dest, wanted, replace, progress or Progress(), cancel or CancelToken(), context, tap)
    return job.run()


class _Download:
    def __init__(
        self,
        source: UrlSource,
        dest: Path,
        wanted: Wanted,
        replace: Replace,
        progress: Progress,
        cancel: CancelToken,
        context: TransferContext,
        tap: Tap | None,
    ) -> None:
        self._source = source
        self._dest = dest
        self._wanted = wanted
        self._replace = replace
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._began = time.monotonic()
        self._tap = tap
        self._fetch = Fetch(source, wanted, progress, cancel, context, tap)

    def run(self) -> Downloaded:
        with _writing(self._dest, self._wanted):
            if not may_replace(self._dest, self._replace):
                if self._is_wanted(self._dest):
                    return self._result(0)
                raise occupied(self._dest)
        for _ in range(_MAX_CLAIMS):
            try:
                return self._result(self._claim_and_fill())
            except PartLostError:
                self._progress.restart()
        raise DestinationError(
            f"{part_path(self._dest)} is taken away again and again.", hint="Something else removes or renames it."
        )

    def _claim_and_fill(self) -> int:
        """Have the file published; how many of its bytes a former attempt had left. Raises PartLostError."""
        with _writing(self._dest, self._wanted):
            part = claim(self._dest, self._wanted)
            try:
                resumed_from = sum(end - first for first, end in part.done)
                self._fill(part)
                self._publish(part)
            finally:
                part.release()
        return resumed_from

    def _fill(self, part: Part) -> None:
        """Have the whole verified contents in `part`, with one clean retry when they are wrong."""
        folder = self._dest.parent
        size = self._wanted.size_bytes
        needed = 0 if size is None else max(0, size - os.fstat(part.fd).st_blocks * 512)
        with self._context.ledger.reserve(folder, needed):
            require_space(folder, needed, self._context.ledger)
            actual = self._fetch.run(part)
            if actual == self._wanted.sha256:
                return
            part.restart()
            self._progress.restart()
            actual = self._fetch.run(part)
        if actual != self._wanted.sha256:
            part.restart()
            raise VerificationError(
                f"{self._dest.name} should have sha256 {self._wanted.sha256} but the store sent {actual}, twice.",
                expected=self._wanted.sha256,
                actual=actual,
                hint="Nothing was published. Push the dataset again, or ask whoever did.",
            )

    def _publish(self, part: Part) -> None:
        self._progress.enter("publishing")
        part.check_in_place()
        try:
            publish(part.path, part.fd, self._dest, self._replace, durable=self._tap is None)
        except DestinationError:
            # Another process may have published the same contents while we fetched them.
            if not self._is_wanted(self._dest):
                raise
            part.discard()
        else:
            if self._tap is None and os.fstat(part.fd).st_size > KEEP_CACHED_BYTES:
                drop_pages(part.fd)
            part.published()

    def _is_wanted(self, path: Path) -> bool:
        try:
            if not path.is_file() or self._wanted.size_bytes not in {None, path.stat().st_size}:
                return False
            return hash_file(path, cancel=self._cancel)[0] == self._wanted.sha256
        except OSError as err:
            raise place_error(self._dest, err) from err

    def _result(self, resumed_from: int) -> Downloaded:
        return Downloaded(
            path=self._dest,
            sha256=self._wanted.sha256,
            size_bytes=self._dest.stat().st_size,
            bytes_transferred=self._fetch.bytes_transferred,
            resumed_from=resumed_from,
            requests=self._fetch.requests,
            elapsed_s=time.monotonic() - self._began,
        )


@contextmanager
def _writing(dest: Path, wanted: Wanted) -> Iterator[None]:
    """Say what a failed write means."""
    try:
        yield
    except OSError as err:
        if err.errno in FULL:
            there = partial_bytes(dest) or 0
            raise disk_full(dest.parent, max(0, (wanted.size_bytes or 0) - there)) from err
        raise place_error(dest, err) from err
