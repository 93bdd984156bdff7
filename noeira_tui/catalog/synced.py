"""What this box and a service last had in common, file by file of a recording: the third digest of every comparison."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import StateError
from noeira_tui.core.statedb import StateDb, or_without, storable
from noeira_tui.transfer.facts import FileStamp

_SCHEMA = """
CREATE TABLE IF NOT EXISTS mirrors (
  id INTEGER PRIMARY KEY, service_url TEXT NOT NULL, project TEXT NOT NULL, dataset TEXT NOT NULL, folder TEXT NOT NULL,
  signature TEXT, service_row TEXT, manifest TEXT, at REAL NOT NULL,
  UNIQUE (service_url, project, dataset, folder)
);
CREATE TABLE IF NOT EXISTS mirror_files (
  mirror INTEGER NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE, path TEXT NOT NULL, sha256 TEXT NOT NULL,
  device TEXT, inode TEXT, size_bytes INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,
  PRIMARY KEY (mirror, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mirror_offers (
  mirror INTEGER NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE, path TEXT NOT NULL, sha256 TEXT NOT NULL,
  PRIMARY KEY (mirror, path, sha256)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mirror_copies (
  mirror INTEGER NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE, path TEXT NOT NULL,
  inode TEXT NOT NULL, mtime_ns INTEGER NOT NULL, PRIMARY KEY (mirror, path)
) WITHOUT ROWID;
"""
_WHERE = "service_url = ? AND project = ? AND dataset = ? AND folder = ?"


@dataclass(frozen=True)
class SyncedFile:
    """Contents that both sides had. `stamp` is the file's when it had them; None when it was too young to tell."""

    path: str
    sha256: str
    stamp: FileStamp | None = None


@dataclass(frozen=True)
class WholeSync:
    """A moment at which everything was equal: the local tree's signature, the service's row as text, and the manifest
    that was committed, each None when there was none."""

    signature: str | None = None
    service_row: str | None = None
    manifest: str | None = None


class SyncedFiles:
    """The memory of one recording in one folder with one service.

    Where the state folder cannot be used it is kept for the run only: `warn` is told once, and the work goes on.
    """

    def __init__(
        self,
        db: StateDb,
        service_url: str,
        project: str,
        dataset: str,
        folder: Path,
        warn: Callable[[StateError], None] | None = None,
    ) -> None:
        self._db = db
        where = str(folder).encode("utf-8", "surrogateescape").decode("latin-1")
        self._key = (service_url, storable(project), storable(dataset), where)
        self._warn = warn
        self._files: dict[str, SyncedFile] | None = None
        self._offers: dict[str, set[str]] = {}
        self._copies: dict[str, tuple[int, int]] = {}
        self._whole: WholeSync | None = None
        self._warned = False

    @property
    def files(self) -> Mapping[str, SyncedFile]:
        """What both sides had, by path."""
        return self._loaded()

    @property
    def whole(self) -> WholeSync:
        """The last moment at which everything was equal; asked for alone it costs one row."""
        if self._whole is None:
            self._whole = or_without(self._load_whole, WholeSync(), self._unrecorded)
        return self._whole

    def bases(self, there: Mapping[str, str]) -> dict[str, str]:
        """The last common digest of each path, given what is `there` now (path → sha256).

        Contents that this box has offered and that are there now count: the sender may have been killed before it
        heard that they had arrived.
        """
        bases = {path: file.sha256 for path, file in self._loaded().items()}
        for path, offered in self._offers.items():
            if there.get(path) in offered:
                bases[path] = there[path]
        return bases

    def reload(self) -> None:
        """Take in what other processes of this box noted meanwhile; nothing where the state folder cannot be used."""
        if self._files is None or self._warned:
            return
        or_without(self._load, None, self._unrecorded)

    def offering(self, files: Iterable[tuple[str, str]]) -> None:
        """Note contents (path, sha256) that are about to be offered, before they are."""
        known = self._loaded()
        new = [(path, sha256) for path, sha256 in files if path not in known or known[path].sha256 != sha256]
        for path, sha256 in new:
            self._offers.setdefault(path, set()).add(sha256)
        self._write("INSERT OR IGNORE INTO mirror_offers VALUES (?, ?, ?)", new)

    def synced(self, files: Iterable[SyncedFile]) -> None:
        """Note contents that both sides have now."""
        known = self._loaded()
        new = [file for file in files if known.get(file.path) != file]
        settled = [(file.path,) for file in new if self._offers.pop(file.path, None)]
        known.update((file.path, file) for file in new)
        rows = [(file.path, file.sha256, *_columns(file.stamp)) for file in new]
        self._write("INSERT OR REPLACE INTO mirror_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._write("DELETE FROM mirror_offers WHERE mirror = ? AND path = ?", settled)

    def is_copy(self, path: str, inode: int, mtime_ns: int) -> bool:
        """Whether a file is still the one that a pull put there."""
        self._loaded()
        return self._copies.get(path) == (inode, mtime_ns)

    def copied(self, path: str, stamp: FileStamp) -> None:
        """Note that a pull put a file there: what it says of its recorder is said of one on another box."""
        self._loaded()
        self._copies[path] = (stamp.inode, stamp.mtime_ns)
        row = (path, str(stamp.inode), stamp.mtime_ns)
        self._write("INSERT OR REPLACE INTO mirror_copies VALUES (?, ?, ?, ?)", [row])

    def equal(self, whole: WholeSync) -> None:
        """Note that everything is equal now."""
        if whole == self.whole:
            return
        self._whole = whole
        self._change(
            "UPDATE mirrors SET signature = ?, service_row = ?, manifest = ?, at = ? WHERE id = ?",
            lambda mirror: [(whole.signature, whole.service_row, whole.manifest, time.time(), mirror)],
        )

    def forget(self) -> None:
        """Forget everything: the recording was removed here on purpose."""
        self._files, self._offers, self._copies, self._whole = {}, {}, {}, WholeSync()
        parts = ("mirror_files", "mirror_offers", "mirror_copies")
        for table, column in (*((part, "mirror") for part in parts), ("mirrors", "id")):
            self._change(f"DELETE FROM {table} WHERE {column} = ?", lambda mirror: [(mirror,)])

    # -- the database

    def _loaded(self) -> dict[str, SyncedFile]:
        if self._files is None:
            self._files = {}
            or_without(self._load, None, self._unrecorded)
        return self._files

    def _load_whole(self) -> WholeSync:
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute(
                f"SELECT signature, service_row, manifest FROM mirrors WHERE {_WHERE}", self._key
            ).fetchone()
        return WholeSync() if row is None else WholeSync(*tuple(row))

    def _load(self) -> None:
        assert self._files is not None
        of_mirror = f"mirror = (SELECT id FROM mirrors WHERE {_WHERE})"
        with self._db.reading(_SCHEMA) as connection:
            connection.row_factory = None
            for path, sha256, device, inode, size, mtime_ns, ctime_ns in connection.execute(
                "SELECT path, sha256, device, inode, size_bytes, mtime_ns, ctime_ns"
                f" FROM mirror_files WHERE {of_mirror}",
                self._key,
            ):
                stamp = None if device is None else FileStamp(int(device), int(inode), size, mtime_ns, ctime_ns)
                self._files[path] = SyncedFile(path, sha256, stamp)
            for path, sha256 in connection.execute(
                f"SELECT path, sha256 FROM mirror_offers WHERE {of_mirror}", self._key
            ):
                self._offers.setdefault(path, set()).add(sha256)
            for path, inode, mtime_ns in connection.execute(
                f"SELECT path, inode, mtime_ns FROM mirror_copies WHERE {of_mirror}", self._key
            ):
                self._copies[path] = (int(inode), mtime_ns)

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._change(statement, lambda mirror: [(mirror, *row) for row in rows])

    def _change(self, statement: str, rows: Callable[[int], list[tuple[object, ...]]]) -> None:
        def write() -> None:
            with self._db.transaction(_SCHEMA) as connection:
                connection.executemany(statement, rows(self._mirror(connection)))

        or_without(write, None, self._unrecorded)

    def _mirror(self, connection: sqlite3.Connection) -> int:
        found = connection.execute(f"SELECT id FROM mirrors WHERE {_WHERE}", self._key).fetchone()
        if found is None:
            connection.execute(
                "INSERT INTO mirrors (service_url, project, dataset, folder, at) VALUES (?, ?, ?, ?, ?)",
                (*self._key, time.time()),
            )
            found = connection.execute(f"SELECT id FROM mirrors WHERE {_WHERE}", self._key).fetchone()
        return int(found[0])

    def _unrecorded(self, err: StateError) -> None:
        if self._warn is not None and not self._warned:
            self._warn(err)
        self._warned = True


def _columns(stamp: FileStamp | None) -> tuple[object, ...]:
    # Device and inode numbers may use all 64 bits, more than SQLite's integers hold.
    if stamp is None:
        return (None, None, None, None, None)
    return (str(stamp.device), str(stamp.inode), stamp.size_bytes, stamp.mtime_ns, stamp.ctime_ns)
