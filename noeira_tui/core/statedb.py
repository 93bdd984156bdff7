"""The state database: one SQLite file for jobs, hash cache and remembered transfers. Losing it loses memory, no data.

It must also hold on a network home folder: no write-ahead log, a busy timeout, and errors that name the path.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from noeira_tui.core.errors import StateError

_BUSY_TIMEOUT_S = 20.0
_T = TypeVar("_T")


class StateDb:
    """Short-lived connections to `state.db`; every caller brings the schema of its own tables.

    Schemas are `CREATE … IF NOT EXISTS` scripts and run once for each instance and schema. Instances may be shared
    between threads.
    """

    def __init__(self, state_dir: Path) -> None:
        self.folder = state_dir
        self.path = state_dir / "state.db"
        self._prepared: set[str] = set()

    @contextmanager
    def transaction(self, schema: str) -> Iterator[sqlite3.Connection]:
        """A connection inside one immediate transaction: committed at the end, rolled back on any error.

        Raises StateError, naming the path, when the file cannot be opened, locked or written.
        """
        connection = self._open(schema)
        try:
            with self._translated():
                # As safe as deleting the journal, without a file to make and remove at each commit: with four jobs
                # that write four times a second a commit took 2-5 ms instead of 20-30, and readers wait as long.
                connection.execute("PRAGMA journal_mode = PERSIST")
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            with self._translated():
                connection.commit()
        except sqlite3.Error as err:
            raise self._error(err) from err
        finally:
            # Takes back what was not committed; a rollback of its own could hide the error with another one.
            connection.close()

    @contextmanager
    def reading(self, schema: str) -> Iterator[sqlite3.Connection]:
        """A connection to read with. Raises StateError, naming the path, when that is not possible."""
        connection = self._open(schema)
        try:
            yield connection
        except sqlite3.Error as err:
            raise self._error(err) from err
        finally:
            connection.close()

    def _open(self, schema: str) -> sqlite3.Connection:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as err:
            raise StateError(
                f"The folder {self.folder} cannot be made: {err.strerror or err}.",
                hint="Name a writable folder with NOEIRA_STATE.",
            ) from err
        with self._translated():
            connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            try:
                connection.row_factory = sqlite3.Row
                if schema not in self._prepared or not self.path.stat().st_size:
                    connection.executescript(schema)
                    self._prepared.add(schema)
            except BaseException:
                connection.close()
                raise
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as err:
            raise self._error(err) from err

    def _error(self, err: Exception) -> StateError:
        hint = "Check the disk and its permissions, or name another folder with NOEIRA_STATE."
        if type(err) is sqlite3.DatabaseError:  # not a database, or a damaged one; its subclasses mean other things
            hint = f"Move it and {self.path.name}-journal away: it holds no data, and a new one is made."
        return StateError(f"{self.path} cannot be used: {err}.", hint=hint)


def or_without(action: Callable[[], _T], fallback: _T, warn: Callable[[StateError], None] | None = None) -> _T:
    """What `action` gives, or `fallback` where the state folder cannot be used: memory is lost, the work goes on."""
    try:
        return action()
    except StateError as err:
        if warn is not None:
            warn(err)
        return fallback


def storable(text: str) -> str:
    """A name as SQLite takes it: bytes that are not UTF-8 come from the file system as lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
