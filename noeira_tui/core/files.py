"""Writing files so that a power cut leaves the old contents or the new ones, never a mix."""

from __future__ import annotations

import os
from pathlib import Path


def fsync_folder(folder: Path) -> None:
    """Make renames and new names in a folder durable. Does nothing on file systems that refuse it."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as err:
        # Some network file systems answer EINVAL here; the rename itself is still atomic.
        if err.errno not in {22, 95}:
            raise
    finally:
        os.close(fd)


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a small file: write beside it, fsync, rename, fsync the folder. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def write_owner_only(path: Path, text: str) -> None:
    """Replace a small text file with one that only its owner can read, whatever it was before. Raises OSError."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, mode=0o700)
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "it is write-protected", str(path))
    write_atomically(path, text.encode(), mode=0o600)
