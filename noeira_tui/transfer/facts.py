"""What a transfer is told and what it tells, as frozen facts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.ports import DiskLedger, NoLedger, NoLimit, RateLimit
from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES


@dataclass(frozen=True)
class FileStamp:
    """What tells a file from another one, or from itself after a change, without reading it."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileStamp:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@dataclass(frozen=True)
class Wanted:
    """The contents a download must have: lower-case hex sha256, and the size where it is known."""

    sha256: str
    size_bytes: int | None = None


@dataclass(frozen=True)
class Replace:
    """What may be at the destination when a download is published.

    With `anything`, whatever is there. Else only the file that `stamp` describes, unchanged; with neither, nothing.
    """

    stamp: FileStamp | None = None
    anything: bool = False


@dataclass(frozen=True)
class Patience:
    """How long a transfer bears with a bad network. Times are seconds, rates bytes a second.

    There is no limit on a whole transfer: a connection is dead when it brings less than `min_rate` over `window_s` of
    waiting, and a transfer fails after `attempts` tries in a row that brought nothing.
    """

    connect_s: float = 15.0
    answer_s: float = 60.0
    tick_s: float = 0.25
    min_rate: int = 1024
    window_s: float = 60.0
    attempts: int = 6
    backoff_s: float = 0.5
    backoff_max_s: float = 30.0
    retry_after_max_s: float = 600.0


@dataclass(frozen=True)
class TransferContext:
    """What a transfer shares with the rest of the box, how patient it is, and what one PUT may carry."""

    ledger: DiskLedger = field(default_factory=NoLedger)
    limit: RateLimit = field(default_factory=NoLimit)
    patience: Patience = field(default_factory=Patience)
    single_put_limit_bytes: int = MAX_SINGLE_PUT_BYTES


REPLACE_NOTHING = Replace()
ALONE = TransferContext()


@dataclass(frozen=True)
class Downloaded:
    """A published download. `resumed_from` is the offset that a former attempt had reached, 0 for none."""

    path: Path
    sha256: str
    size_bytes: int
    bytes_transferred: int
    resumed_from: int
    requests: int
    elapsed_s: float


@dataclass(frozen=True)
class Uploaded:
    """A finished upload; `sha256` is the digest of exactly the bytes that were sent."""

    sha256: str
    size_bytes: int
    bytes_transferred: int
    requests: int
    elapsed_s: float
