"""Writing files so that a power cut leaves the old contents or the new ones, never a mix."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from noeira_tui.core.paths import is_file, is_folder


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


def unwritable_hint(path: Path, err: OSError) -> str:
    """What to do about a settings file that could not be written."""
    otherwise = "or set it for this shell: export NOEIRA_…=…"
    if err.errno == errno.ENOSPC:
        return "The disk is full: free some space, then try again."
    if err.errno == errno.EROFS:
        return f"Its file system can only be read: keep the setting in another file, {otherwise}."
    if isinstance(err, PermissionError):
        what = path if is_file(path) else nearest_folder(path.parent)
        return f"Make {what} writable for you (chmod u+w; ls -ld shows whose it is), {otherwise}."
    if isinstance(err, NotADirectoryError | FileExistsError):
        return f"A file stands where a folder of {path} should be: move it away, {otherwise}."
    return ""


def nearest_folder(path: Path) -> Path:
    """The nearest folder above a path that exists, itself included."""
    while not is_folder(path) and path != path.parent:
        path = path.parent
    return path
