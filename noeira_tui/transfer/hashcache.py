"""Digests of files that did not change since they were hashed.

A row is keyed by device, inode, size, mtime and ctime. Two edits within the clock's grain leave the same times, so a
file that is younger than two seconds when it is hashed is not remembered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb, or_without
from noeira_tui.transfer.facts import FileStamp
from noeira_tui.transfer.hashing import YOUNG_NS, hash_file, hash_files

_SCHEMA = """
CREATE TABLE IF NOT EXISTS file_hashes (
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (device, inode)
) WITHOUT ROWID;
"""
_SIGN = 1 << 64
_Name = TypeVar("_Name", bound=Hashable)


class HashCache:
    """The digests this box remembers. Without a usable state database, files are hashed again."""

    def __init__(self, db: StateDb) -> None:
        self._db = db

    def lookup(self, path: Path) -> str | None:
        """The digest, if it is known for the file as it is now; never reads its contents. None also without a file."""
        return self.lookup_many([path]).get(path)

    def lookup_many(self, paths: Iterable[Path]) -> dict[Path, str]:
        """The digests that are known, asked for in one go: a tree of ten thousand files costs one query."""
        stamps: dict[Path, FileStamp] = {}
        for path in paths:
            try:
                stamps[path] = FileStamp.of(path.stat())
            except OSError:
                continue
        return self._known(stamps)

    def lookup_tree(self, folder: Path) -> dict[Path, str]:
        """The known digests of all files below a folder, however deep; symbolic links are left out."""
        stamps: dict[str, FileStamp] = {}
        for name in _files_below(os.fspath(folder)):
            try:
                stamps[name] = FileStamp.of(os.lstat(name))
            except OSError:
                continue
        return {Path(name): digest for name, digest in self._known(stamps).items()}

    def digest(self, path: Path, *, progress: Progress | None = None, cancel: CancelToken | None = None) -> str:
        """The digest, looked up or else hashed and remembered. Raises as `hash_file` does."""
        known = self.lookup(path)
        if known is not None:
            if progress is not None:
                progress.already(path.stat().st_size)
            return known
        began_ns = time.time_ns()
        found, stamp = hash_file(path, progress=progress, cancel=cancel)
        if _is_old(stamp, began_ns):
            self._store_many([(stamp, found)])
        return found

    def digest_many(
        self, paths: Iterable[Path], *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> dict[Path, str]:
        """The digests of several files; those not known are hashed on all cores. Raises as `hash_file` does."""
        wanted = list(dict.fromkeys(paths))
        found = self.lookup_many(wanted)
        if progress is not None:
            progress.already(sum(path.stat().st_size for path in found))
        began_ns = time.time_ns()
        hashed = hash_files([path for path in wanted if path not in found], progress=progress, cancel=cancel)
        self._store_many([(stamp, digest) for digest, stamp in hashed.values() if _is_old(stamp, began_ns)])
        return {path: found[path] if path in found else hashed[path][0] for path in wanted}

    def remember(self, path: Path, digest: str, stamp: FileStamp) -> None:
        """Keep a digest that was found while the file had this stamp, unless it changed in the last two seconds."""
        if time.time_ns() - stamp.mtime_ns < YOUNG_NS:
            return
        try:
            unchanged = FileStamp.of(path.stat()) == stamp
        except OSError:
            return
        if unchanged:
            self._store_many([(stamp, digest)])

    def remember_many(self, found: Iterable[tuple[FileStamp, str]]) -> None:
        """Keep digests of files that had these stamps before and after they were hashed just now, in one go.

        Those that changed in the last two seconds are left out.
        """
        now_ns = time.time_ns()
        self._store_many([(stamp, digest) for stamp, digest in found if _is_old(stamp, now_ns)])

    def _known(self, stamps: dict[_Name, FileStamp]) -> dict[_Name, str]:
        if not stamps:
            return {}
        none: dict[FileStamp, str] = {}
        rows = or_without(lambda: self._rows(list(stamps.values())), none)
        found = {name: rows.get(stamp) for name, stamp in stamps.items()}
        return {name: digest for name, digest in found.items() if digest is not None}

    def _store_many(self, rows: list[tuple[FileStamp, str]]) -> None:
        def write() -> None:
            with self._db.transaction(_SCHEMA) as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO file_hashes VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (
                            _signed(stamp.device),
                            _signed(stamp.inode),
                            stamp.size_bytes,
                            stamp.mtime_ns,
                            stamp.ctime_ns,
                            digest,
                        )
                        for stamp, digest in rows
                    ],
                )

        if rows:
            or_without(write, None)

    def _rows(self, stamps: list[FileStamp]) -> dict[FileStamp, str]:
        with self._db.reading(_SCHEMA) as connection:
            found: dict[FileStamp, str] = {}
            for start in range(0, len(stamps), 400):
                some = stamps[start : start + 400]
                marks = ",".join("(?,?)" for _ in some)
                keys = [_signed(number) for stamp in some for number in (stamp.device, stamp.inode)]
                for row in connection.execute(
                    f"SELECT * FROM file_hashes WHERE (device, inode) IN (VALUES {marks})", keys
                ):
                    device, inode, size, mtime_ns, ctime_ns, digest = tuple(row)
                    found[FileStamp(device % _SIGN, inode % _SIGN, size, mtime_ns, ctime_ns)] = digest
            return found


def _files_below(folder: str) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path


def _is_old(stamp: FileStamp, now_ns: int) -> bool:
    return now_ns - max(stamp.mtime_ns, stamp.ctime_ns) >= YOUNG_NS


def _signed(number: int) -> int:
    """SQLite's integers are signed; device and inode numbers may use all 64 bits."""
    return number - _SIGN if number >= _SIGN // 2 else number
