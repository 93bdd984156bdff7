"""Putting bytes on a connection without blocking longer than a tick, and telling whether they are still the file's."""

from __future__ import annotations

import hashlib
import os
import select
import socket
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.errors import SourceChangedError, TransferError
from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.facts import FileStamp, Patience
from noeira_tui.transfer.hashing import YOUNG_NS, hash_file
from noeira_tui.transfer.headers import wait_for
from noeira_tui.transfer.stall import StallGuard

STORED = frozenset({200, 201, 204})
"""The statuses of a PUT that was taken."""

STORING_TAKES_LONGER = 5
"""So many times the usual patience for the answer to a PUT: the store writes to its disks first."""


@dataclass
class SentFile:
    """A file as it was when it was opened, and the digest of what was sent of it so far."""

    path: Path
    fd: int
    stamp: FileStamp
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    opened_ns: int = field(default_factory=time.time_ns)
    complete: bool = False

    def read(self, buffer: memoryview, offset: int) -> memoryview:
        """What the file has at `offset`, as much as the buffer holds or one read gives.

        Raises SourceChangedError for a file that became shorter, TransferError for one that cannot be read.
        """
        try:
            count = os.preadv(self.fd, [buffer[: self.stamp.size_bytes - offset]], offset)
        except OSError as err:
            raise TransferError(f"{self.path} cannot be read: {err.strerror or err}.") from err
        if not count:
            raise self.changed()
        return buffer[:count]

    def is_unchanged(self, cancel: CancelToken) -> bool:
        """Whether the file is still what was sent. Raises OSError, SourceChangedError, CancelledError.

        A file that was changed just before it was sent may change again within the clock's grain: its stamp proves
        nothing, so it is read once more.
        """
        if not self.stamp == FileStamp.of(os.fstat(self.fd)) == FileStamp.of(self.path.stat()):
            return False
        if self.opened_ns - max(self.stamp.mtime_ns, self.stamp.ctime_ns) >= YOUNG_NS:
            return True
        return hash_file(self.path, cancel=cancel)[0] == self.digest.hexdigest()

    def changed(self) -> SourceChangedError:
        """The error for a file that is not what was sent any more."""
        return SourceChangedError(
            f"{self.path} changed while it was sent.", hint="Nothing was completed; push again when it is settled."
        )


def send_chunk(
    sock: socket.socket, chunk: memoryview, guard: StallGuard, patience: Patience, cancel: CancelToken
) -> bool:
    """Send all of `chunk` on a socket that does not block; False after an answer that came before its end.

    Raises OSError, StalledError, CancelledError.
    """
    while chunk:
        event = select.POLLOUT
        try:
            count = sock.send(chunk)
            chunk = chunk[count:]
            guard.moved(count)
            continue
        except (BlockingIOError, ssl.SSLWantWriteError):
            event = select.POLLOUT
        except ssl.SSLWantReadError:
            event = select.POLLIN
        except (BrokenPipeError, ConnectionResetError):
            # The server may have answered (a refusal) and closed; its answer is worth more than the broken pipe.
            if wait_for(sock, select.POLLIN, patience.tick_s):
                return False
            raise
        cancel.check()
        began = time.monotonic()
        wait_for(sock, event, patience.tick_s)
        guard.waited(time.monotonic() - began)
    return True
