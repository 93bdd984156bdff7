"""Whether a file of a recording is complete, told by a few small reads: no video is decoded, no table loaded.

A file that is being written, or whose writer died, is told by its own structure: an mp4 whose top-level boxes do not
tile it or lack `moov` or `mdat` (ISO/IEC 14496-12, 4.2), a parquet without its footer, a JSON that does not parse.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from noeira_tui.recordings.layout import FileKind, kind_of
from noeira_tui.recordings.tree import Stamp

_MAX_BOXES = 20_000
_FIRST_BOXES = frozenset({b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"uuid"})
_MAX_JSON_BYTES = 64 * 1024 * 1024
_LFS_POINTER = b"version https://git-lfs"
_DISTRUST_S = 2.0
_MAX_REMEMBERED = 200_000

EMPTY = "empty"
CHANGING = "being written right now"
LFS_POINTER = "a Git LFS pointer, not the file"


def incompleteness(path: Path, fd: int, size_bytes: int) -> str | None:
    """Why an open file is not complete; None when it is. `path` gives its kind. Raises OSError."""
    kind = kind_of(path.name)
    if kind is FileKind.OTHER:
        return None
    if size_bytes == 0:
        return EMPTY
    if os.pread(fd, len(_LFS_POINTER), 0) == _LFS_POINTER:
        return LFS_POINTER
    if kind is FileKind.VIDEO:
        return _mp4(fd, size_bytes)
    return _parquet(fd, size_bytes) if kind is FileKind.TABLE else _json(fd, size_bytes)


def _mp4(fd: int, size_bytes: int) -> str | None:
    seen: set[bytes] = set()
    offset = 0
    for _ in range(_MAX_BOXES):
        if offset == size_bytes:
            break
        header = os.pread(fd, 16, offset)
        if len(header) < 8:
            return "ends inside a box"
        length, kind = int.from_bytes(header[:4]), header[4:8]
        if length == 1:
            length = int.from_bytes(header[8:16]) if len(header) == 16 else 0
        if not seen and kind not in _FIRST_BOXES:
            return "not an mp4"
        # A box of length 0 reaches to the end of the file, wherever that is: how a file looks while it is written.
        if length < 8:
            return "still open: a box has no length yet"
        if length > size_bytes - offset:
            return "ends inside a box"
        seen.add(kind)
        offset += length
    else:
        return "too many boxes"
    missing = [name.decode() for name in (b"moov", b"mdat") if name not in seen]
    return f"still open: no {' and no '.join(missing)} yet" if missing else None


def _parquet(fd: int, size_bytes: int) -> str | None:
    if os.pread(fd, 4, 0) != b"PAR1":
        return "not a parquet"
    tail = os.pread(fd, 8, max(0, size_bytes - 8))
    if size_bytes < 12 or tail[4:] != b"PAR1":
        return "still open: no footer yet"
    length = int.from_bytes(tail[:4], "little")
    if not 0 < length <= size_bytes - 12:
        return "its footer does not fit"
    # A footer is a Thrift struct in the compact protocol: field 1 (`version`, an i32) first, a stop byte last.
    start = size_bytes - 8 - length
    if os.pread(fd, 1, start) != b"\x15" or os.pread(fd, 1, size_bytes - 9) != b"\0":
        return "its footer cannot be read"
    return None


def _json(fd: int, size_bytes: int) -> str | None:
    if size_bytes > _MAX_JSON_BYTES:
        return f"a JSON of {size_bytes} bytes is not read"
    try:
        json.loads(os.pread(fd, size_bytes, 0))
    except (ValueError, RecursionError):
        return "does not parse (yet)"
    return None


class Verdicts:
    """Remembers for each file what was found, as long as its stamp is the same: a repaint costs a stat a file.

    A file that changed within the last two seconds is looked at again each time, because a change within one tick of
    the file system's clock leaves no trace in the stamp. May be used from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Stamp, str | None]] = {}
        self.looked_at = 0

    def reason(self, path: Path, stamp: Stamp, now: float) -> str | None:
        """Why a file is incomplete, None when it is complete; `now` is the wall clock in seconds.

        Raises OSError for a file that vanished or cannot be read.
        """
        with self._lock:
            known = self._known.get(str(path))
        if known is not None and known[0] == stamp:
            return known[1]
        fd = os.open(path, os.O_RDONLY)
        try:
            reason = incompleteness(path, fd, stamp.size_bytes)
            after = Stamp.of(os.fstat(fd))
        finally:
            os.close(fd)
        if after != stamp:
            reason = reason or CHANGING
        changed_s = max(stamp.mtime_ns, stamp.ctime_ns) / 1e9
        with self._lock:
            self.looked_at += 1
            if after == stamp and now - changed_s >= _DISTRUST_S:
                if len(self._known) >= _MAX_REMEMBERED:
                    self._known.clear()
                self._known[str(path)] = (stamp, reason)
        return reason
