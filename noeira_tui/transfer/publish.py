"""Giving a verified file its final name: durable, and never over something that was not to be replaced."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from noeira_tui.core.errors import DestinationError
from noeira_tui.core.files import fsync_folder
from noeira_tui.core.renaming import UNSUPPORTED, rename_exclusively
from noeira_tui.transfer.facts import FileStamp, Replace


def may_replace(dest: Path, allowed: Replace) -> bool:
    """Whether what is at `dest` now, if anything, may be replaced."""
    try:
        found = dest.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    if dest.is_dir():
        return False
    if allowed.anything:
        return True
    return allowed.stamp is not None and allowed.stamp in {FileStamp.of(found), _stamp_behind(dest)}


def occupied(dest: Path) -> DestinationError:
    """The error for a destination that must not be replaced."""
    if dest.is_dir():
        return DestinationError(f"{dest} is a folder.", hint="Name a file.")
    return DestinationError(
        f"{dest} exists and is not what was last pulled there; it was left as it is.",
        hint="Move it away, or replace it with --force.",
    )


def publish(part: Path, fd: int, dest: Path, allowed: Replace, *, durable: bool = True) -> None:
    """Sync the file open as `fd`, rename `part` to `dest`, sync the folder; without `durable` only rename it.

    Raises DestinationError when something at `dest` is in the way, also something that appeared only now; OSError.
    """
    if durable:
        os.fsync(fd)
    if not may_replace(dest, allowed):
        raise occupied(dest)
    if allowed.anything or (allowed.stamp is not None and dest.exists()):
        part.replace(dest)
    else:
        try:
            rename_to_free_name(part, dest)
        except FileExistsError:
            raise occupied(dest) from None
    if durable:
        fsync_folder(dest.parent)


def rename_to_free_name(source: Path, dest: Path) -> None:
    """Rename, failing with FileExistsError when `dest` exists, in one step where the system can."""
    code = rename_exclusively(source, dest)
    if code == 0:
        return
    if code not in UNSUPPORTED:
        raise OSError(code, os.strerror(code), str(dest))
    try:
        os.link(source, dest)
    except FileExistsError:
        raise
    except OSError:
        # No hard links either (FAT, some network folders): the moment between these two lines is all that is left.
        if dest.exists() or dest.is_symlink():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(dest)) from None
        source.replace(dest)
        return
    source.unlink()


def _stamp_behind(path: Path) -> FileStamp | None:
    try:
        return FileStamp.of(path.stat())
    except OSError:
        return None
