"""The `.part` beside a destination: claiming it, resuming from it, and giving way to another process that writes it.

Safety does not rest on locks, which lie on some file systems: a record of host, process and start time decides who may
write, and every writer publishes only what it has verified. A second process takes a `.part` of its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.core.errors import DestinationError
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.journal import Journal, read_journal, silent_s, write_journal
from noeira_tui.transfer.owner import Owner

_PLACE_HINT = "Check the folder's permissions, or name another place."


def part_path(dest: Path) -> Path:
    """Where the bytes of an unfinished download are."""
    return dest.with_name(f"{dest.name}.part")


def journal_path(part: Path) -> Path:
    """The journal of a `.part`."""
    return part.with_name(f"{part.name}.journal")


def partial_bytes(dest: Path) -> int | None:
    """How much of an interrupted download lies beside `dest`, as its journal says; None when there is nothing."""
    part = part_path(dest)
    try:
        size = part.stat().st_size
    except OSError:
        return None
    journal = read_journal(journal_path(part))
    return None if journal is None else min(journal.done_bytes, size)


@dataclass
class Part:
    """A claimed `.part`, open for writing. `done` are the byte ranges that may be resumed from."""

    path: Path
    fd: int
    journal: Journal

    @property
    def done(self) -> tuple[tuple[int, int], ...]:
        return self.journal.done

    def record(self, done: tuple[tuple[int, int], ...], size_bytes: int | None = None) -> None:
        """Write down what is done. Also the sign of life that other hosts look for."""
        size = self.journal.size_bytes if size_bytes is None else size_bytes
        self.journal = replace(self.journal, done=done, size_bytes=size)
        write_journal(journal_path(self.path), self.journal)

    def is_ours(self) -> bool:
        """Whether nobody took it over, taking us for dead."""
        found = read_journal(journal_path(self.path))
        return found is not None and found.owner.token == self.journal.owner.token

    def restart(self) -> None:
        """Forget everything that was written."""
        os.ftruncate(self.fd, 0)
        self.record(())

    def release(self) -> None:
        """Let go of it; what was written stays for the next run, of this process or another one."""
        if self.fd < 0:
            return
        owner = replace(self.journal.owner, pid=0, start="")
        try:
            if self.is_ours():
                write_journal(journal_path(self.path), replace(self.journal, owner=owner))
        finally:
            self.close()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def discard(self) -> None:
        """Remove it and its journal."""
        self.close()
        self.path.unlink(missing_ok=True)
        journal_path(self.path).unlink(missing_ok=True)

    def forget_journal(self) -> None:
        """Remove the journal after the file was published."""
        self.close()
        journal_path(self.path).unlink(missing_ok=True)


def claim(dest: Path, wanted: Wanted) -> Part:
    """Make the folder, claim the `.part` or, when a living process writes it, one of our own.

    Raises DestinationError when the place cannot be written.
    """
    me = Owner.me()
    part = part_path(dest)
    try:
        dest.parent.mkdir(parents=True, exist_ok=True)
        claimed = _try_claim(part, wanted, me)
        if claimed is None:
            own = part.with_name(f"{part.name}.{me.pid}-{me.token[:6]}")
            claimed = _try_claim(own, wanted, me)
    except OSError as err:
        raise place_error(dest, err) from err
    if claimed is None:
        raise DestinationError(f"{part} cannot be claimed.", hint=_PLACE_HINT)
    return claimed


def place_error(dest: Path, err: OSError) -> DestinationError:
    """What it means that a file could not be made or written, other than a full disk."""
    reason = err.strerror or str(err)
    if err.errno == errno.EFBIG:
        return DestinationError(f"{dest}: {reason}.", hint="This file system cannot hold a file of that size.")
    if err.errno in {errno.ENOTDIR, errno.EEXIST}:
        return DestinationError(f"{dest.parent} is not a folder.", hint="Name another place.")
    return DestinationError(f"{dest} cannot be written: {reason}.", hint=_PLACE_HINT)


def _try_claim(part: Path, wanted: Wanted, me: Owner) -> Part | None:
    """The claimed part, or None when a living process has it."""
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        found = read_journal(journal_path(part))
        if not _may_take(fd, part, found):
            os.close(fd)
            return None
        stat = os.fstat(fd)
        if stat.st_nlink > 1:
            # A second name for somebody's file: writing here would write there.
            os.close(fd)
            part.unlink()
            fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            found = None
            stat = os.fstat(fd)
        done = _resumable(stat.st_size, found, wanted)
        claimed = Part(part, fd, Journal(wanted.sha256, wanted.size_bytes, me, done))
        if not done:
            os.ftruncate(fd, 0)
        claimed.record(done)
        return claimed
    except BaseException:
        os.close(fd)
        raise


def _may_take(fd: int, part: Path, found: Journal | None) -> bool:
    locked = False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        locked = False
    except OSError:
        # No locks on this file system: the record alone decides.
        locked = True
    on_disk = part.stat(follow_symlinks=False)
    if (on_disk.st_dev, on_disk.st_ino) != (os.fstat(fd).st_dev, os.fstat(fd).st_ino):
        return False
    if found is not None and not found.owner.is_gone(silent_s(journal_path(part))):
        return locked and found.owner.pid == os.getpid() and found.owner.start == Owner.me().start
    # A lock without a living owner in the record: a process that is just beginning, or a lie. Not worth a wait.
    return locked


def _resumable(size: int, found: Journal | None, wanted: Wanted) -> tuple[tuple[int, int], ...]:
    if found is None:
        # Another tool's, or the journal was lost: perhaps a good beginning, which hashing will tell.
        return ((0, size),) if size else ()
    if found.sha256 != wanted.sha256:
        return ()
    if None not in (found.size_bytes, wanted.size_bytes) and found.size_bytes != wanted.size_bytes:
        return ()
    return tuple((first, min(end, size)) for first, end in found.done if first < size)
