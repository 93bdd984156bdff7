"""Sending the files of a recording: offered in batches, uploaded side by side, completed, and remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from noeira_tui.catalog.recordingfiles import RecordingFiles, is_refused_to_all
from noeira_tui.catalog.wire import OfferedFile
from noeira_tui.core.errors import CancelledError, NoeiraError, RefusedError, SourceChangedError, TransferError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.recordings.compare import FileComparison
from noeira_tui.recordings.files import CHANGING
from noeira_tui.recordings.large import refusal_of
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.outcome import Failure, Held
from noeira_tui.recordings.share import Share
from noeira_tui.recordings.tree import Stamp
from noeira_tui.transfer.facts import Uploaded
from noeira_tui.transfer.upload import Connections, upload

_UPLOADS = 8
_BATCHES = 3
_BATCH_FILES = 400
_BATCH_BYTES = 64 << 20


class Sender:
    """Sends files of one pass and keeps count. `stamps` are the files as they were compared.

    `bases` are what the service had then, path → sha256: what somebody else sent since is not replaced, by a service
    that can tell. Without them everything is.
    """

    def __init__(
        self, mirror: Mirror, stamps: Mapping[str, Stamp | None], bases: Mapping[str, str] | None = None
    ) -> None:
        self._mirror = mirror
        self._stamps = stamps
        self._bases = bases
        self._connections = Connections(mirror.work.cancel, mirror.work.context)
        self._lock = threading.Lock()
        self._broken: BaseException | None = None
        self.copies: Mapping[str, Path] = {}
        """Where to read some of the files instead of in the recording's folder."""
        self.sent: dict[str, str] = {}
        self.failed: list[Failure] = []
        self.held: list[Held] = []
        self.bytes_transferred = 0
        self.requests = 0

    @property
    def is_whole(self) -> bool:
        """Whether everything that was to be sent arrived."""
        return not self.failed and not self.held

    def close(self) -> None:
        """Close the connections to the object store."""
        self._connections.close()

    def send(self, files: Sequence[FileComparison]) -> None:
        """Send all of them; what fails or changes meanwhile is noted, the others go on.

        Raises UnreachableError, RefusedError for what every file would meet, CancelledError.
        """
        limit = self._mirror.work.context.single_put_limit_bytes
        lots = list(_lots([file for file in files if file.size_bytes <= limit]))
        self._send_lots(lots)
        for file in files:
            if file.size_bytes > limit:
                self._send_large(file)

    def _send_lots(self, lots: Sequence[Sequence[FileComparison]]) -> None:
        if len(lots) == 1:
            with ThreadPoolExecutor(_UPLOADS, thread_name_prefix="send") as uploads:
                self._send_lot(lots[0], uploads)
            return
        with (
            ThreadPoolExecutor(_UPLOADS, thread_name_prefix="send") as uploads,
            ThreadPoolExecutor(_BATCHES, thread_name_prefix="batch") as batches,
        ):
            for future in [batches.submit(self._send_lot, lot, uploads) for lot in lots]:
                future.result()

    def _send_large(self, file: FileComparison) -> None:
        """Send a file that one PUT cannot carry, with all connections for itself."""
        mirror, offered = self._mirror, self._offered(file)
        mirror.synced.offering([(offered.path, offered.sha256)])
        try:
            told = mirror.files.offer_large(offered)
        except RefusedError as err:
            if is_refused_to_all(err):
                raise
            self._fail(file.path, refusal_of(err))
            return
        if told.unchanged:
            mirror.work.progress.already(file.size_bytes)
            self._arrived([offered])
            return
        share, path = Share(mirror.work.progress), self._place(file.path)
        if self._sent(offered, lambda: mirror.large.send(path, told, share, mirror.work.cancel)) is not None:
            for one, error in self._complete([offered], []):
                self._fail(one.path, error)

    def _send_lot(self, lot: Sequence[FileComparison], uploads: ThreadPoolExecutor) -> None:
        try:
            self._work_on(lot, uploads)
        except BaseException as err:
            self._broken = self._broken or err
            raise

    def _work_on(self, lot: Sequence[FileComparison], uploads: ThreadPoolExecutor) -> None:
        if self._broken is not None:
            raise CancelledError("Another part of the pass failed.")
        offered = [self._offered(file) for file in lot]
        with self._lock:
            self._mirror.synced.offering((file.path, file.sha256) for file in offered)
        refused = self._send_offered(offered, uploads)
        # A store that took a file and then has none of it, or half: sent again it gets there. What is refused for
        # another reason is refused once more, most of it when it is offered.
        for file, error in self._send_offered([file for file, _ in refused], uploads) if refused else ():
            self._fail(file.path, error)

    def _send_offered(
        self, offered: Sequence[OfferedFile], uploads: ThreadPoolExecutor
    ) -> list[tuple[OfferedFile, str]]:
        """Offer, upload and publish; the files that were uploaded and not published, with what was said of them."""
        arrived: list[OfferedFile] = []
        wanted: list[tuple[OfferedFile, PresignedUrl]] = []
        for file, answer in zip(offered, self._mirror.files.offer(offered), strict=True):
            if answer.error is not None:
                self._fail(file.path, answer.error)
            elif answer.upload is None:
                arrived.append(file)
                self._mirror.work.progress.already(file.size_bytes)
            else:
                wanted.append((file, answer.upload))
        uploaded = [file for file in uploads.map(lambda pair: self._upload(*pair), wanted) if file is not None]
        return self._complete(uploaded, arrived)

    def _complete(
        self, uploaded: Sequence[OfferedFile], arrived: Sequence[OfferedFile]
    ) -> list[tuple[OfferedFile, str]]:
        """Publish what was uploaded, and note it with what had arrived already; what was refused, and why."""
        answers = self._mirror.files.complete(uploaded) if uploaded else ()
        told = list(zip(uploaded, answers, strict=True))
        self._arrived([*arrived, *(file for file, answer in told if answer.error is None)])
        return [(file, answer.error) for file, answer in told if answer.error is not None]

    def _arrived(self, files: Sequence[OfferedFile]) -> None:
        mirror = self._mirror
        with self._lock:
            mirror.synced.synced([mirror.equal(file.path, file.sha256, self._stamps.get(file.path)) for file in files])
            self.sent.update((file.path, file.sha256) for file in files)

    def _upload(self, file: OfferedFile, first: PresignedUrl) -> OfferedFile | None:
        """Send one file's bytes; None when they did not arrive, and why is noted."""
        work = self._mirror.work
        return self._sent(
            file,
            lambda: upload(
                self._place(file.path),
                _OfferedUrl(self._mirror.files, file, first),
                progress=Share(work.progress),
                cancel=work.cancel,
                context=work.context,
                connections=self._connections,
            ),
        )

    def _offered(self, file: FileComparison) -> OfferedFile:
        base = None if self._bases is None else self._bases.get(file.path, "")
        return OfferedFile(file.path, file.sha256 or "", file.size_bytes, base)

    def _place(self, path: str) -> Path:
        return self.copies.get(path) or self._mirror.folder / path

    def _sent(self, file: OfferedFile, send: Callable[[], Uploaded]) -> OfferedFile | None:
        """The file when `send` put exactly what was offered; None otherwise, and why is noted."""
        try:
            done = send()
        except _ArrivedError:
            return file
        except CancelledError:
            raise
        except SourceChangedError:
            self._hold(file.path, CHANGING)
            return None
        except TransferError as err:
            if self._place(file.path).exists():
                self._fail(file.path, f"{err.title}: {err.message}")
            else:
                self._hold(file.path, "it vanished")
            return None
        except FileNotFoundError:
            self._hold(file.path, "it vanished")
            return None
        with self._lock:
            self.bytes_transferred += done.bytes_transferred
            self.requests += done.requests
        if done.sha256 != file.sha256:
            self._hold(file.path, CHANGING)
            return None
        return file

    def _fail(self, path: str, error: str) -> None:
        with self._lock:
            self.failed.append(Failure(path, error))

    def _hold(self, path: str, reason: str) -> None:
        with self._lock:
            self.held.append(Held(path, reason))


class _ArrivedError(NoeiraError):
    """The contents arrived by another way while a fresh URL was asked for. Never leaves this module."""


class _OfferedUrl:
    """The upload URL of an offered file; a fresh one is a new offer of the same contents."""

    def __init__(self, files: RecordingFiles, file: OfferedFile, first: PresignedUrl) -> None:
        self._files = files
        self._file = file
        self._first = first

    def current(self) -> PresignedUrl:
        return self._first

    def refresh(self) -> PresignedUrl:
        fresh = self._files.fresh_upload(self._file)
        if fresh is None:
            raise _ArrivedError(f"{self._file.path} is stored already.")
        return fresh


def _lots(files: Sequence[FileComparison]) -> Iterator[Sequence[FileComparison]]:
    """Batches small enough that little is sent again after a kill, and URLs do not grow old while they wait."""
    lot: list[FileComparison] = []
    size = 0
    for file in files:
        if lot and (len(lot) >= _BATCH_FILES or size + file.size_bytes > _BATCH_BYTES):
            yield lot
            lot, size = [], 0
        lot.append(file)
        size += file.size_bytes
    if lot:
        yield lot
