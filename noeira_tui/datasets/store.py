"""Where a dataset's files are: what every kind of place must answer, and what reading from it has cost."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from noeira_tui.core.progress import CancelToken


@dataclass(frozen=True)
class Span:
    """Bytes of a file from `start` up to, not with, `stop`. A negative `start` without `stop` means the last bytes;
    no `stop` means to the end."""

    start: int
    stop: int | None = None


WHOLE: Span | None = None
"""Not a range: the whole file, in one plain request."""


@dataclass(frozen=True)
class Piece:
    """Bytes that were read, beginning at `start`, and the size of the whole file where the answer told it. `following`
    is where a list goes on that comes in pages."""

    data: bytes
    start: int
    total: int | None
    following: str | None = None


@dataclass(frozen=True)
class FileMark:
    """What shows that a file changed: its size, and a `tag`, which is an ETag, a digest or the time of its last change;
    empty where the place tells none, and then nobody can say whether it changed."""

    size_bytes: int | None
    tag: str = ""


@dataclass(frozen=True)
class Listing:
    """The names directly in a folder; `files` with their sizes (None where unknown), `tags` as in a `FileMark`."""

    files: dict[str, int | None]
    folders: tuple[str, ...]
    tags: dict[str, str] = field(default_factory=dict)

    @classmethod
    def among(cls, members: Iterable[tuple[str, int]], prefix: str) -> Listing:
        """What lies directly below `prefix`, which is empty or ends in a slash, among an archive's members."""
        files: dict[str, int | None] = {}
        folders: dict[str, None] = {}
        for name, size_bytes in members:
            if name.startswith(prefix):
                head, _, rest = name[len(prefix) :].partition("/")
                if rest:
                    folders[head] = None
                else:
                    files[head] = size_bytes
        return cls(files, tuple(folders))


@dataclass(frozen=True)
class Cost:
    """What was read so far: body bytes, and requests (reads, on a disk); of a deep check `files_checked` of
    `files_to_check`, 0 where none goes on or nobody can tell."""

    bytes_read: int = 0
    requests: int = 0
    files_checked: int = 0
    files_to_check: int = 0


class Traffic:
    """Counts what is read. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes_read = 0
        self._requests = 0
        self._checked = 0
        self._to_check = 0

    def add(self, *, size_bytes: int = 0, requests: int = 0) -> None:
        with self._lock:
            self._bytes_read += size_bytes
            self._requests += requests

    def begin_check(self, files: int) -> None:
        """A deep check of so many files begins."""
        with self._lock:
            self._checked, self._to_check = 0, files

    def checked(self) -> None:
        """One file more was looked at."""
        with self._lock:
            self._checked += 1

    @property
    def cost(self) -> Cost:
        with self._lock:
            return Cost(self._bytes_read, self._requests, self._checked, self._to_check)


class Store(Protocol):
    """A folder of files, or one file (whose path is then empty), somewhere.

    Paths are relative, with `/`. Every method raises DatasetFileError (`missing_file`, `denied`, `no_ranges`, …),
    DatasetError for a place that cannot be used at all, NetworkError or CancelledError; none caches a listing.
    """

    @property
    def can_list(self) -> bool:
        """Whether `listing` answers here."""
        ...

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        """A span of a file, or the whole of it. More than `max_bytes` is refused with `too_large`, unread."""
        ...

    def size(self, path: str, cancel: CancelToken) -> int | None:
        """A file's size in bytes; None when it is there and its size is not told."""
        ...

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        """What shows whether a file changed, without reading it."""
        ...

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        """What is directly in a folder, asked anew each time; empty for one that does not exist."""
        ...

    def close(self) -> None: ...
