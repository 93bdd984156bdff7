"""Room on the file system: asked before a download, and explained when it runs out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from noeira_tui.core.errors import DiskFullError
from noeira_tui.core.ports import DiskLedger

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def free_bytes(folder: Path) -> int:
    """What this user may still write on the file system of `folder`. Raises OSError."""
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


def require_space(folder: Path, needed_bytes: int, ledger: DiskLedger) -> None:
    """Raise DiskFullError unless `needed_bytes` fit beside what other work on this box has announced."""
    promised = ledger.promised_bytes(folder)
    missing = needed_bytes + promised - free_bytes(folder)
    if missing > 0:
        others = f", of which other running work will take {promised:,}" if promised else ""
        raise DiskFullError(
            f"{folder} needs {needed_bytes:,} bytes more and has {free_bytes(folder):,} free{others}.",
            missing_bytes=missing,
            hint=f"Free at least {missing:,} bytes, or name a place on another disk.",
        )


def disk_full(folder: Path, remaining_bytes: int) -> DiskFullError:
    """The error for a write that found no room, with `remaining_bytes` still to be written."""
    try:
        free = free_bytes(folder)
    except OSError:
        free = 0
    missing = max(1, remaining_bytes - free)
    count = f": {missing:,} bytes are missing" if remaining_bytes > 0 else ""
    return DiskFullError(
        f"No room left in {folder}{count}.",
        missing_bytes=missing,
        hint="What was transferred is kept; make room and run it again to go on.",
    )
