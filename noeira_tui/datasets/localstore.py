"""A dataset on this box."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span, Traffic

_TICK_NS = 50_000_000


class LocalStore:
    """Files below a folder, or one file. Reads exactly what is asked for, as a remote store would."""

    can_list = True

    def __init__(self, base: Path, traffic: Traffic) -> None:
        self._base = base
        self._traffic = traffic
        self._read_as: dict[str, tuple[int, int]] = {}

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        cancel.check()
        self._traffic.add(requests=1)
        try:
            with open(self._path(path), "rb", buffering=0, opener=_unheld) as stream:
                found = os.fstat(stream.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise missing(path)
                size = found.st_size
                self._read_as.setdefault(path, (size, found.st_mtime_ns))
                start, stop = (0, size) if span is None else _bounds(span, size)
                if stop - start > max_bytes:
                    raise too_large(path, stop - start, max_bytes)
                data = _read(stream.fileno(), start, stop)
        except (OSError, ValueError) as err:
            raise _refused(err, path) from err
        self._traffic.add(size_bytes=len(data))
        return Piece(data, start, size)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self.mark(path, cancel).size_bytes

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        cancel.check()
        self._traffic.add(requests=1)
        try:
            found = self._path(path).stat()
        except (OSError, ValueError) as err:
            raise _refused(err, path) from err
        if not stat.S_ISREG(found.st_mode):
            raise missing(path)
        return FileMark(found.st_size, self._tag(path, found))

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        cancel.check()
        self._traffic.add(requests=1)
        files: dict[str, int | None] = {}
        tags: dict[str, str] = {}
        folders: list[str] = []
        try:
            with os.scandir(self._path(path)) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.name)
                    elif entry.is_file():
                        found = entry.stat()
                        files[entry.name] = found.st_size
                        tags[entry.name] = self._tag(f"{path}/{entry.name}" if path else entry.name, found)
        except (FileNotFoundError, NotADirectoryError):
            return Listing({}, ())
        except OSError as err:
            raise _refused(err, path) from err
        return Listing(dict(sorted(files.items())), tuple(sorted(folders)), tags)

    def close(self) -> None:
        """Nothing is kept open."""

    def _tag(self, path: str, found: os.stat_result) -> str:
        """The time of the last change; not while another change could still fall into the same tick of the clock, and
        not of a file that was another one when it was first read here: what is known of it may be of that one."""
        seen = self._read_as.get(path)
        if seen is not None and seen != (found.st_size, found.st_mtime_ns):
            return ""
        return f"mtime:{found.st_mtime_ns}" if abs(time.time_ns() - found.st_mtime_ns) > _TICK_NS else ""

    def _path(self, path: str) -> Path:
        return self._base / path if path else self._base


def _unheld(path: str, flags: int) -> int:
    """Opens without waiting: a pipe in place of a file would hold the reader up until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read(fd: int, start: int, stop: int) -> bytes:
    chunks: list[bytes] = []
    while start < stop:
        chunk = os.pread(fd, min(stop - start, 1 << 30), start)
        if not chunk:
            break
        chunks.append(chunk)
        start += len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _bounds(span: Span, size: int) -> tuple[int, int]:
    if span.start < 0:
        return max(0, size + span.start), size
    stop = size if span.stop is None else min(span.stop, size)
    return min(span.start, stop), stop


def missing(path: str, where: str = "") -> DatasetFileError:
    """The error for a file that is not there."""
    name = path or where or "it"
    return DatasetFileError(f"{name} is not there.", code="missing_file", file=path)


def too_large(path: str, size_bytes: int, max_bytes: int) -> DatasetFileError:
    """The error for more than anyone would want to read here."""
    return DatasetFileError(
        f"{path or 'the file'} has {size_bytes:,} bytes where at most {max_bytes:,} make sense; it was not read.",
        code="too_large",
        file=path,
    )


def _refused(err: OSError | ValueError, path: str) -> DatasetFileError:
    if isinstance(err, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return missing(path)
    if isinstance(err, PermissionError):
        return DatasetFileError(f"{path or 'it'} may not be read: permission denied.", code="denied", file=path)
    reason = err.strerror if isinstance(err, OSError) and err.strerror else str(err)
    return DatasetFileError(f"{path or 'it'} cannot be read: {reason}.", code="damaged_file", file=path)
