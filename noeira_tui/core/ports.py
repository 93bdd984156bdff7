"""Small ports that upper packages implement, so that transfers learn about the rest of the box without importing it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from noeira_tui.core.progress import CancelToken


class DiskLedger(Protocol):
    """What running work on this box has announced that it will still write."""

    def reserve(self, folder: Path, size_bytes: int) -> AbstractContextManager[None]:
        """Announce `size_bytes` to be written below `folder`, for as long as the context is open."""
        ...

    def promised_bytes(self, folder: Path) -> int:
        """Bytes that others have announced, and not yet written, on the file system of `folder`."""
        ...


class RateLimit(Protocol):
    """A limit in bytes a second that may be shared with other processes."""

    def take(self, size_bytes: int, cancel: CancelToken) -> None:
        """Wait until `size_bytes` more may move. Raises CancelledError when cancelled meanwhile."""
        ...


class NoLedger:
    """A ledger for work that runs alone."""

    def reserve(self, folder: Path, size_bytes: int) -> AbstractContextManager[None]:
        return nullcontext()

    def promised_bytes(self, folder: Path) -> int:
        return 0


class NoLimit:
    """No limit at all."""

    def take(self, size_bytes: int, cancel: CancelToken) -> None:
        cancel.check()
