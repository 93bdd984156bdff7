"""Putting one cached file at one place: a hard link, or a verified copy where no link can be. Never a symbolic link."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import PackError
from noeira_tui.core.progress import CancelToken

_NO_LINK = frozenset(
    {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
)
_PIECE_BYTES = 1 << 20
TEMPORARY = ".noeira-tmp"


@dataclass(frozen=True)
class Wanted:
    """One file that an install must have: its path below the destination, and the cached file it is made from."""

    path: str
    source: str
    size_bytes: int
    mtime_ns: int
    sha256: str


@dataclass
class Placer:
    """Links or copies files, and counts which it was."""

    cancel: CancelToken
    linked: int = 0
    copied: int = 0
    _other_device: bool = False

    def place(self, file: Wanted, target: str) -> None:
        """Put a file at a free place. Raises FileExistsError when it is not free, OSError, PackError."""
        if not self._other_device:
            try:
                os.link(file.source, target, follow_symlinks=False)
            except FileExistsError:
                raise
            except OSError as err:
                if err.errno not in _NO_LINK:
                    raise
                # One file may have too many links already; another file system will not change.
                self._other_device = err.errno == errno.EXDEV
            else:
                self.linked += 1
                return
        self._copy(file, target)
        self.copied += 1

    def replace(self, file: Wanted, target: str) -> None:
        """Put a file at a place whatever is there, in one step."""
        folder, _, name = target.rpartition("/")
        beside = f"{folder}/.{name[:100]}.{secrets.token_hex(4)}{TEMPORARY}"
        self.place(file, beside)
        try:
            # Renaming one name of a file over another name of it does nothing, and leaves both.
            Path(beside).rename(target)
        finally:
            Path(beside).unlink(missing_ok=True)

    def _copy(self, file: Wanted, target: str) -> None:
        source = os.open(file.source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode = os.fstat(source).st_mode & 0o555
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            try:
                self._pour(file, source, fd)
                os.utime(fd, ns=(file.mtime_ns, file.mtime_ns))
            except BaseException:
                Path(target).unlink()
                raise
            finally:
                os.close(fd)
        finally:
            os.close(source)

    def _pour(self, file: Wanted, source: int, fd: int) -> None:
        digest = hashlib.sha256()
        while piece := os.read(source, _PIECE_BYTES):
            self.cancel.check()
            digest.update(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
        if digest.hexdigest() != file.sha256:
            raise PackError(
                f"The cached file {file.source} is damaged.",
                hint="Pull again: a damaged file of the cache is fetched anew.",
                retryable=True,
            )
