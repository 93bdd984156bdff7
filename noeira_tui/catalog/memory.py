"""What this box remembers of a service: where each dataset went, with which contents, and its last answers."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import StateError
from noeira_tui.core.statedb import StateDb

_SCHEMA = """
CREATE TABLE IF NOT EXISTS copies (
  service_url TEXT NOT NULL, dataset_id TEXT NOT NULL, path TEXT NOT NULL,
  sha256 TEXT, size_bytes INTEGER, mtime_ns INTEGER, at REAL NOT NULL, pushed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (service_url, dataset_id, path)
);
CREATE INDEX IF NOT EXISTS copies_by_path ON copies (path);
CREATE TABLE IF NOT EXISTS answers (
  service_url TEXT NOT NULL, what TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (service_url, what)
);
"""

_NO_TIME = -1
"""The mtime_ns that no file has."""


@dataclass(frozen=True)
class RememberedCopy:
    """Where a dataset went (or came from) and what it was then.

    `sha256`, `size_bytes` and `mtime_ns` are None while its first transfer has not finished.
    """

    dataset_id: str
    path: Path
    sha256: str | None
    size_bytes: int | None
    mtime_ns: int | None
    pushed: bool


class CatalogMemory:
    """Remembered copies and answers for one service, in the state database. Every method raises StateError."""

    def __init__(self, db: StateDb, service_url: str) -> None:
        self._db = db
        self._service_url = service_url

    def begin(self, dataset_id: str, path: Path, *, pushed: bool = False) -> None:
        """Note that a transfer to (or from) `path` begins, unless an earlier one is remembered."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "INSERT INTO copies (service_url, dataset_id, path, at, pushed) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET at = excluded.at",
                (self._service_url, dataset_id, str(path), time.time(), pushed),
            )

    def synced(self, dataset_id: str, path: Path, *, sha256: str, size_bytes: int, mtime_ns: int, pushed: bool) -> None:
        """Note that the contents at `path` and on the service are the same."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO copies"
                " (service_url, dataset_id, path, sha256, size_bytes, mtime_ns, at, pushed) VALUES (?,?,?,?,?,?,?,?)",
                (self._service_url, dataset_id, str(path), sha256, size_bytes, mtime_ns, time.time(), pushed),
            )

    def synced_now(self, dataset_id: str, path: Path, sha256: str, *, pushed: bool) -> None:
        """Note the same of a file as it is now. Raises OSError when it is gone."""
        stat = path.stat()
        self.synced(dataset_id, path, sha256=sha256, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns, pushed=pushed)

    def forget(self, dataset_id: str, path: Path) -> None:
        """Forget one copy."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "DELETE FROM copies WHERE service_url = ? AND dataset_id = ? AND path = ?",
                (self._service_url, dataset_id, str(path)),
            )

    def doubt(self, path: Path) -> None:
        """Note that a file does not hold what was last synced there, although its size and time say so.

        What it should hold stays remembered; from now on its contents are compared.
        """
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "UPDATE copies SET mtime_ns = ? WHERE service_url = ? AND path = ?",
                (_NO_TIME, self._service_url, str(path)),
            )

    def copies(self) -> dict[str, RememberedCopy]:
        """The latest copy of each dataset, by dataset id."""
        return {copy.dataset_id: copy for copy in self.all_copies()}

    def all_copies(self) -> tuple[RememberedCopy, ...]:
        """Every copy that is remembered, the latest last."""
        with self._db.reading(_SCHEMA) as connection:
            rows = connection.execute(
                "SELECT * FROM copies WHERE service_url = ? ORDER BY at", (self._service_url,)
            ).fetchall()
        return tuple(
            RememberedCopy(
                row["dataset_id"],
                Path(row["path"]),
                row["sha256"],
                row["size_bytes"],
                row["mtime_ns"],
                bool(row["pushed"]),
            )
            for row in rows
        )

    def last_sync_at(self, path: Path) -> tuple[str, int, int] | None:
        """Digest, size and mtime_ns of what was last pulled to (or pushed from) a place, whatever the dataset was."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute(
                "SELECT sha256, size_bytes, mtime_ns FROM copies WHERE path = ? AND sha256 IS NOT NULL"
                " ORDER BY at DESC LIMIT 1",
                (str(path),),
            ).fetchone()
        return None if row is None else (row["sha256"], row["size_bytes"], row["mtime_ns"])

    def remember_answer(self, what: str, body: object) -> None:
        """Keep an answer of the service, as JSON, under a name."""
        with self._db.transaction(_SCHEMA) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO answers (service_url, what, body, at) VALUES (?, ?, ?, ?)",
                (self._service_url, what, json.dumps(body), time.time()),
            )

    def answer(self, what: str) -> tuple[object, float] | None:
        """A kept answer and its time (seconds since the epoch); None when there is none."""
        with self._db.reading(_SCHEMA) as connection:
            row = connection.execute(
                "SELECT body, at FROM answers WHERE service_url = ? AND what = ?", (self._service_url, what)
            ).fetchone()
        if row is None:
            return None
        try:
            return json.loads(row["body"]), row["at"]
        except ValueError as err:
            raise StateError(f"The remembered answer {what!r} is damaged: {err}.") from err
