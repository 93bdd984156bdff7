"""Digests of files that did not change since they were hashed.

A row is keyed by device, inode, size, mtime and ctime. Two edits within the clock's grain leave the same times, so a
file that is younger than two seconds when it is hashed is not remembered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Hashable, Iterable, Iterator
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
_SCAN_FACTOR = 8
_KEYS_A_QUERY = 400
_Name = TypeVar("_Name", bound=Hashable)


class HashCache:
    """The digests this box remembers. Without a usable state database, files are hashed again."""

    def __init__(self, db: StateDb) -> None:
        self._db = db

    def lookup(self, path: Path) -> str | None:
        """The digest, if it is known for the file as it is now; never reads its contents. None also without a file."""
        return self.lookup_many([path]).get(path)

    def lookup_many(self, paths: Iterable[Path]) -> dict[Path, str]:
        """The digests that are known, asked for in one go; files that are not there are left out."""
        stats: dict[Path, os.stat_result] = {}
        for path in paths:
            try:
                stats[path] = path.stat()
            except OSError:
                continue
        return self._known(stats)

    def lookup_tree(self, folder: Path) -> dict[str, str]:
        """The known digests of all files below a folder, by path; symbolic links are left out.

        Made for trees of ten thousand files: paths stay strings, and one query serves all.
        """
        stats: dict[str, os.stat_result] = {}
        for entry in _files_below(os.fspath(folder)):
            try:
                stats[entry.path] = entry.stat(follow_symlinks=False)
            except OSError:
                continue
        return self._known(stats)

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

    def _known(self, stats: dict[_Name, os.stat_result]) -> dict[_Name, str]:
        if not stats:
            return {}
        none: dict[tuple[int, int], tuple[int, int, int, str]] = {}
        rows = or_without(lambda: self._rows(stats.values()), none)
        known: dict[_Name, str] = {}
        for name, stat in stats.items():
            row = rows.get((_signed(stat.st_dev), _signed(stat.st_ino)))
            if row is not None and row[:3] == (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns):
                known[name] = row[3]
        return known

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

    def _rows(self, stats: Collection[os.stat_result]) -> dict[tuple[int, int], tuple[int, int, int, str]]:
        """(device, inode) → (size, mtime, ctime, digest): of these files, or of all when that is the shorter way."""
        with self._db.reading(_SCHEMA) as connection:
            connection.row_factory = None
            [count] = connection.execute("SELECT count(*) FROM file_hashes").fetchone()
            if count <= _SCAN_FACTOR * len(stats):
                found = connection.execute("SELECT * FROM file_hashes").fetchall()
            else:
                found = []
                keys = [(_signed(stat.st_dev), _signed(stat.st_ino)) for stat in stats]
                for start in range(0, len(keys), _KEYS_A_QUERY):
                    some = keys[start : start + _KEYS_A_QUERY]
                    marks = ",".join(["(?,?)"] * len(some))
                    query = f"SELECT * FROM file_hashes WHERE (device, inode) IN (VALUES {marks})"
                    found += connection.execute(query, [number for key in some for number in key]).fetchall()
        return {row[:2]: row[2:] for row in found}


def _files_below(folder: str) -> Iterator[os.DirEntry[str]]:
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry


def _is_old(stamp: FileStamp, now_ns: int) -> bool:
    return now_ns - max(stamp.mtime_ns, stamp.ctime_ns) >= YOUNG_NS


def _signed(number: int) -> int:
    """SQLite's integers are signed; device and inode numbers may use all 64 bits."""
    return number - _SIGN if number >= _SIGN // 2 else number
