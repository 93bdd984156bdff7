"""The sha256 of files, with the stamp that tells whether they changed meanwhile."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from noeira_tui.core.errors import SourceChangedError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import FileStamp

CHUNK_BYTES = 1 << 20


def hash_file(
    path: Path, *, progress: Progress | None = None, cancel: CancelToken | None = None
) -> tuple[str, FileStamp]:
    """The lower-case hex sha256 of a file and its stamp.

    `progress` advances by the bytes read. Raises SourceChangedError when the file changed or was replaced while it was
    read, OSError when it cannot be read, CancelledError.
    """
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with path.open("rb", buffering=0) as stream:
        before = FileStamp.of(os.fstat(stream.fileno()))
        while count := stream.readinto(buffer):
            if cancel is not None:
                cancel.check()
            digest.update(buffer[:count])
            if progress is not None:
                progress.advance(count)
        after = FileStamp.of(os.fstat(stream.fileno()))
    if not before == after == FileStamp.of(path.stat()):
        raise SourceChangedError(f"{path} changed while it was read.", hint="Try again when nothing writes to it.")
    return digest.hexdigest(), before
