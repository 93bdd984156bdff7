"""What was installed where: the manifest of every install, keyed by its absolute destination, in the state database."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.core.errors import StateError
from noeira_tui.core.statedb import StateDb, or_without

_COLUMNS = """
  dest BLOB PRIMARY KEY, pack TEXT NOT NULL, version TEXT NOT NULL, sha256 TEXT NOT NULL, manifest BLOB NOT NULL,
  installed_at REAL NOT NULL, paths BLOB NOT NULL, sizes BLOB NOT NULL, mtimes BLOB NOT NULL, digests BLOB NOT NULL
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS asset_installs ({_COLUMNS});
CREATE TABLE IF NOT EXISTS asset_moves ({_COLUMNS}, staged BLOB NOT NULL, device BLOB NOT NULL, inode BLOB NOT NULL);
"""
_ROW = "dest, pack, version, sha256, manifest, installed_at, paths, sizes, mtimes, digests"
_DIGEST_BYTES = 32
DIFFERS = -1
"""No file has this time: one whose size and time say nothing, and whose contents were hashed and are others."""


@dataclass(frozen=True)
class Install:
    """One installed pack: its files' paths relative to `dest`, and size, mtime and digest of each, in one order.

    `dest` is resolved; `sha256` is that of the archive; `digests` holds 32 bytes a file. The time of a file that turned
    out to have other contents is `DIFFERS`.
    """

    dest: Path
    pack: str
    version: str
    sha256: str
    manifest: Path
    installed_at: float
    paths: tuple[str, ...]
    sizes: Sequence[int]
    mtimes_ns: Sequence[int]
    digests: bytes

    def digest(self, number: int) -> str:
        """The digest of the file of that number."""
        return self.digests[number * _DIGEST_BYTES : (number + 1) * _DIGEST_BYTES].hex()

    def with_mtimes(self, mtimes_ns: Sequence[int]) -> Install:
        """The same after its files were compared: these times mean these contents."""
        return replace(self, mtimes_ns=mtimes_ns)


@dataclass(frozen=True)
class Move:
    """An install that is being put in its place. `staged` is the tree that is swapped in, told by device and inode.

    Where there is none, the files are put in place one by one.
    """

    install: Install
    staged: Path | None = None
    device: int = 0
    inode: int = 0

    def is_in_place(self) -> bool:
        """Whether the swap has happened."""
        try:
            stat = os.lstat(self.install.dest)
        except OSError:
            return False
        return self.staged is not None and (stat.st_dev, stat.st_ino) == (self.device, self.inode)


class Installs:
    """The remembered installs. Without a usable state database nothing is remembered and nothing fails."""

    def __init__(self, db: StateDb, warn: Callable[[StateError], None] | None = None) -> None:
        self._db = db
        self._warn = warn

    def all(self) -> dict[Path, Install]:
        """Every install by its destination, those included whose swap happened and was not noted any more."""
        none: dict[Path, Install] = {}
        return or_without(self._all, none, self._warn)

    def moves(self) -> dict[Path, Move]:
        """The installs that were begun and not ended."""
        none: dict[Path, Move] = {}
        return or_without(self._moves, none, self._warn)

    def get(self, dest: Path) -> Install | None:
        """What is installed at a resolved destination, as far as it is noted."""

        def read() -> Install | None:
            with self._db.reading(_SCHEMA) as connection:
                row = connection.execute(f"SELECT {_ROW} FROM asset_installs WHERE dest = ?", (_bytes(dest),))
                found = row.fetchone()
            return None if found is None else _install(found)

        return or_without(read, None, self._warn)

    def move(self, dest: Path) -> Move | None:
        """The unfinished install at a resolved destination."""
        return self.moves().get(dest)

    def begin(self, move: Move) -> None:
        """Note an install that is about to be put in its place."""

        def write() -> None:
            values = (
                *_values(move.install),
                b"" if move.staged is None else _bytes(move.staged),
                str(move.device).encode(),
                str(move.inode).encode(),
            )
            with self._db.transaction(_SCHEMA) as connection:
                connection.execute(f"INSERT OR REPLACE INTO asset_moves VALUES ({_marks(13)})", values)

        or_without(write, None, self._warn)

    def commit(self, install: Install) -> None:
        """Note an install as done, and its move as over."""

        def write() -> None:
            with self._db.transaction(_SCHEMA) as connection:
                connection.execute(f"INSERT OR REPLACE INTO asset_installs VALUES ({_marks(10)})", _values(install))
                connection.execute("DELETE FROM asset_moves WHERE dest = ?", (_bytes(install.dest),))

        or_without(write, None, self._warn)

    def note_times(self, install: Install) -> None:
        """Note the times of an install's files, unless something else was installed there meanwhile."""

        def write() -> None:
            mtimes = array("q", install.mtimes_ns).tobytes()
            with self._db.transaction(_SCHEMA) as connection:
                connection.execute(
                    "UPDATE asset_installs SET mtimes = ? WHERE dest = ? AND installed_at = ? AND sha256 = ?",
                    (mtimes, _bytes(install.dest), install.installed_at, install.sha256),
                )

        or_without(write, None, self._warn)

    def drop_move(self, dest: Path) -> None:
        """Forget an install that was begun and never took place."""

        def write() -> None:
            with self._db.transaction(_SCHEMA) as connection:
                connection.execute("DELETE FROM asset_moves WHERE dest = ?", (_bytes(dest),))

        or_without(write, None, self._warn)

    def _all(self) -> dict[Path, Install]:
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute(f"SELECT {_ROW} FROM asset_installs").fetchall()
        found = {install.dest: install for install in map(_install, rows)}
        found.update({dest: move.install for dest, move in self._moves().items() if move.is_in_place()})
        return found

    def _moves(self) -> dict[Path, Move]:
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute(f"SELECT {_ROW}, staged, device, inode FROM asset_moves").fetchall()
        return {
            install.dest: Move(
                install,
                Path(os.fsdecode(row["staged"])) if row["staged"] else None,
                int(row["device"]),
                int(row["inode"]),
            )
            for row, install in ((row, _install(row)) for row in rows)
        }


def real_dest(dest: Path) -> Path:
    """A destination as the file system resolves it: what installs are keyed by."""
    return Path(os.path.realpath(dest))


def _bytes(path: Path) -> bytes:
    return os.fsencode(path)


def _marks(count: int) -> str:
    return ",".join("?" * count)


def _values(install: Install) -> tuple[object, ...]:
    return (
        _bytes(install.dest),
        install.pack.encode("utf-8", "replace").decode(),
        install.version.encode("utf-8", "replace").decode(),
        install.sha256,
        _bytes(install.manifest),
        install.installed_at,
        b"\0".join(map(os.fsencode, install.paths)),
        array("q", install.sizes).tobytes(),
        array("q", install.mtimes_ns).tobytes(),
        install.digests,
    )


def _install(row: sqlite3.Row) -> Install:
    sizes, mtimes = array("q"), array("q")
    sizes.frombytes(row["sizes"])
    mtimes.frombytes(row["mtimes"])
    return Install(
        dest=Path(os.fsdecode(row["dest"])),
        pack=row["pack"],
        version=row["version"],
        sha256=row["sha256"],
        manifest=Path(os.fsdecode(row["manifest"])),
        installed_at=row["installed_at"],
        paths=tuple(os.fsdecode(row["paths"]).split("\0")) if row["paths"] else (),
        sizes=sizes,
        mtimes_ns=mtimes,
        digests=row["digests"],
    )
