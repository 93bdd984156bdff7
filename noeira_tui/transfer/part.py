"""The `.part` beside a destination: claiming it, resuming from it, and giving way to another process that writes it.

Safety does not rest on locks, which lie on some file systems: a record of host, process and start time decides who may
write, and every writer publishes only what it has verified. A second process takes a `.part` of its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from noeira_tui.core.errors import DestinationError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.journal import Journal, heartbeat_age_s, read_journal, write_journal
from noeira_tui.transfer.ranges import Range, Ranges

_PLACE_HINT = "Check the folder's permissions, or name another place."
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def part_path(dest: Path) -> Path:
    """Where the bytes of an unfinished download are."""
    return dest.with_name(f"{dest.name}.part")


def journal_path(part: Path) -> Path:
    """The journal of a `.part`."""
    return part.with_name(f"{part.name}.journal")


def partial_bytes(dest: Path) -> int | None:
    """How much of an interrupted download lies beside `dest`, as its journal says; None when there is nothing."""
    part = part_path(dest)
    journal = read_journal(journal_path(part))
    try:
        size = part.stat().st_size
    except OSError:
        return None
    return None if journal is None else sum(end - first for first, end in Ranges(journal.done).below(size))


class PartLostError(Exception):
    """Another process took the `.part` over, or somebody removed it. Never leaves this package."""


class Part:
    """A claimed `.part`, open for writing. `done` are the byte ranges that may be resumed from."""

    def __init__(self, path: Path, fd: int, journal: Journal) -> None:
        self.path = path
        self.fd = fd
        self._journal = journal
        self._lock = threading.Lock()

    @property
    def done(self) -> tuple[Range, ...]:
        return self._journal.done

    def record(self, done: Callable[[], tuple[Range, ...]], size_bytes: int | None = None) -> None:
        """Write down what is done; also the sign of life that other hosts look for.

        `done` is asked under the lock, so that a later note never tells less than an earlier one.

        Raises PartLostError when another process took the part over, taking us for dead.
        """
        with self._lock:
            self._check_ours()
            size = self._journal.size_bytes if size_bytes is None else size_bytes
            self._journal = replace(self._journal, done=done(), size_bytes=size)
            write_journal(journal_path(self.path), self._journal)

    def restart(self) -> None:
        """Forget everything that was written."""
        self.record(tuple)
        _empty(self.fd)

    def check_in_place(self) -> None:
        """Raise PartLostError unless the name still means the file we write, and the claim is still ours."""
        self._check_ours()
        try:
            named, held = self.path.lstat(), os.fstat(self.fd)
        except FileNotFoundError:
            raise PartLostError from None
        if (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino):
            raise PartLostError

    def release(self) -> None:
        """Let go of it; what was written stays for the next run. Of an empty one nothing stays."""
        if self.fd < 0:
            return
        try:
            with self._lock:
                self._check_ours()
                if self._journal.done:
                    write_journal(journal_path(self.path), replace(self._journal, owner=None))
                else:
                    self.discard()
        except (OSError, PartLostError):
            # On a full disk the last journal stays: this process will then have to end before others take over.
            return
        finally:
            self._close()

    def discard(self) -> None:
        """Remove it and its journal."""
        self._close()
        self.path.unlink(missing_ok=True)
        journal_path(self.path).unlink(missing_ok=True)

    def published(self) -> None:
        """Remove the journal after the file got its final name."""
        self._close()
        journal_path(self.path).unlink(missing_ok=True)

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _check_ours(self) -> None:
        found = read_journal(journal_path(self.path))
        if found is not None and found.token != self._journal.token:
            raise PartLostError


def claim(dest: Path, wanted: Wanted) -> Part:
    """Make the folder, claim the `.part` or, when a living process writes it, one of our own.

    Raises DestinationError when the place cannot be written, OSError when the disk is full.
    """
    token = secrets.token_hex(8)
    part = part_path(dest)
    own = part.with_name(f"{part.name}.{os.getpid()}-{token[:6]}")
    try:
        dest.parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise place_error(dest, err) from err
    claimed = _try_claim(part, wanted, token) or _make_own(own, wanted, token)
    _sweep(part, claimed.path)
    return claimed


def place_error(dest: Path, err: OSError) -> DestinationError:
    """What it means that a file could not be made or written, other than a full disk."""
    reason = err.strerror or str(err)
    if err.errno == errno.EFBIG:
        return DestinationError(f"{dest}: {reason}.", hint="This file system cannot hold a file of that size.")
    if err.errno in {errno.ENOTDIR, errno.EEXIST}:
        return DestinationError(f"{dest.parent} is not a folder.", hint="Name another place.")
    if err.errno in {errno.ELOOP, errno.EISDIR}:
        return DestinationError(f"{part_path(dest)} is not a plain file.", hint="Move it away.")
    return DestinationError(f"{dest} cannot be written: {reason}.", hint=_PLACE_HINT)


def _try_claim(part: Path, wanted: Wanted, token: str) -> Part | None:
    """The claimed part, or None when a living process has it."""
    fd = os.open(part, _FLAGS, 0o666)
    try:
        found = read_journal(journal_path(part))
        if not _may_take(fd, part, found):
            os.close(fd)
            return None
        if os.fstat(fd).st_nlink > 1:
            # A second name of somebody's file: writing here would write there.
            os.close(fd)
            part.unlink()
            fd, found = os.open(part, _FLAGS | os.O_EXCL, 0o666), None
        done = _resumable(os.fstat(fd).st_size, found, wanted)
        if not done:
            _empty(fd)
        journal = Journal(wanted.sha256, wanted.size_bytes, token, ProcessOwner.me(), done)
        write_journal(journal_path(part), journal)
    except BaseException:
        os.close(fd)
        raise
    return Part(part, fd, journal)


def _empty(fd: int) -> None:
    """Take everything out of a file. One that is empty is let be: ext4 writes a truncated one out when it is closed,
    a second a GiB, which a file that is unpacked and removed then has no use for."""
    if os.fstat(fd).st_size:
        os.ftruncate(fd, 0)


def _make_own(part: Path, wanted: Wanted, token: str) -> Part:
    """A part under a name of our own. Its journal comes first: whatever kills us, the next run can tell whose it is."""
    journal = Journal(wanted.sha256, wanted.size_bytes, token, ProcessOwner.me())
    write_journal(journal_path(part), journal)
    return Part(part, os.open(part, _FLAGS | os.O_EXCL, 0o666), journal)


def _may_take(fd: int, part: Path, found: Journal | None) -> bool:
    locked = _lock(fd)
    on_disk = part.stat(follow_symlinks=False)
    if (on_disk.st_dev, on_disk.st_ino) != (os.fstat(fd).st_dev, os.fstat(fd).st_ino):
        return False
    if found is None or found.owner is None:
        # A lock without an owner: a process that is just beginning, or a lie. Neither is worth a wait.
        return locked
    if found.owner == ProcessOwner.me():
        return locked
    # A record is worth more than a lock: locks outlive processes on some network file systems.
    return found.owner.is_gone(heartbeat_age_s(journal_path(part)))


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # No locks on this file system: the record alone decides.
        return True
    return True


def _resumable(size: int, found: Journal | None, wanted: Wanted) -> tuple[Range, ...]:
    if wanted.size_bytes is not None and size > wanted.size_bytes:
        return ()
    if found is None:
        # Another tool's, or the journal was lost: perhaps a good beginning, which hashing will tell.
        return ((0, size),) if size else ()
    if found.sha256 != wanted.sha256:
        return ()
    if None not in (found.size_bytes, wanted.size_bytes) and found.size_bytes != wanted.size_bytes:
        return ()
    return Ranges(found.done).below(size)


def _sweep(part: Path, ours: Path) -> None:
    """Remove what killed processes left: parts of their own, and journals that never got their name."""
    for name in _strays(part.parent):
        if not name.startswith(f"{part.name}."):
            continue
        found = part.with_name(name)
        rest = name.removeprefix(f"{part.name}.")
        if rest.startswith("journal.") or ("-" in rest.partition(".")[0] and ".journal." in rest):
            # Whose it is may not be in it yet; a living process writes it again.
            found.unlink(missing_ok=True)
        elif "-" in rest and rest.endswith(".journal"):
            _sweep_own(found, ours)


def _sweep_own(journal: Path, ours: Path) -> None:
    """Remove another process's own part when that process is gone."""
    own = journal.with_name(journal.name.removesuffix(".journal"))
    found = read_journal(journal)
    if own == ours or found is None:
        return
    if found.owner is None or found.owner.is_gone(heartbeat_age_s(journal)):
        own.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)


_LARGE_FOLDER = 200
_KNOWN_FOR_S = 2.0
_listed: dict[Path, tuple[float, tuple[str, ...]]] = {}


def _strays(folder: Path) -> tuple[str, ...]:
    """The names in a folder that unfinished downloads may have left beside their parts. A large folder is not listed
    for each of thousands of files: what came since is swept by a later one."""
    now = time.monotonic()
    known = _listed.get(folder)
    if known is not None and now - known[0] < _KNOWN_FOR_S:
        return known[1]
    names = os.listdir(folder)  # noqa: PTH208  a path object for each of thousands of names is the slow part
    strays = tuple(name for name in names if ".part." in name)
    _listed.clear()
    if len(names) > _LARGE_FOLDER:
        _listed[folder] = now, strays
    return strays
