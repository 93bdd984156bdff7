"""The sha256 of files, with the stamp that tells whether they changed meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from noeira_tui.core.errors import SourceChangedError, TransferError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import FileStamp

CHUNK_BYTES = 1 << 20
YOUNG_NS = 2_000_000_000
"""A file that changed less than this ago may change again without its times showing it (FAT counts in two seconds)."""


def hash_file(
    path: Path, *, progress: Progress | None = None, cancel: CancelToken | None = None
) -> tuple[str, FileStamp]:
    """The lower-case hex sha256 of a file and its stamp.

    `progress` advances by the bytes read. Raises SourceChangedError when the file changed or was replaced while it was
    read, TransferError for a pipe or device, OSError when it cannot be read, CancelledError.
    """
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0, opener=_open_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise TransferError(f"{path} is not a regular file.", title="Nothing to read")
        before = FileStamp.of(os.fstat(stream.fileno()))
        # Clearing a large buffer costs more than hashing a small file.
        buffer = memoryview(bytearray(min(CHUNK_BYTES, before.size_bytes + 1)))
        left = before.size_bytes
        # No further than its size: a file that grows as fast as it is read would never end.
        while left and (count := stream.readinto(buffer[:left])):
            left -= count
            if cancel is not None:
                cancel.check()
            digest.update(buffer[:count])
            if progress is not None:
                progress.advance(count)
        after = FileStamp.of(os.fstat(stream.fileno()))
    if not before == after == FileStamp.of(path.stat()):
        raise SourceChangedError(f"{path} changed while it was read.", hint="Try again when nothing writes to it.")
    return digest.hexdigest(), before


def _open_without_waiting(path: str, flags: int) -> int:
    """A pipe that nobody writes to would hold the opening up for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def hash_files(
    paths: Iterable[Path], *, progress: Progress | None = None, cancel: CancelToken | None = None
) -> dict[Path, tuple[str, FileStamp]]:
    """Digest and stamp of several files, hashed on all cores, largest first so that none is left alone at the end.

    Raises as `hash_file` does, for the first file that fails.
    """
    # Imported here: looking digests up, which every start of the app does, has no use for it.
    from concurrent.futures import ThreadPoolExecutor

    ordered = sorted(paths, key=_size_or_zero, reverse=True)
    with ThreadPoolExecutor(max_workers=_cores(), thread_name_prefix="hash") as pool:
        try:
            hashed = pool.map(lambda path: hash_file(path, progress=progress, cancel=cancel), ordered)
            return dict(zip(ordered, hashed, strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _size_or_zero(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
