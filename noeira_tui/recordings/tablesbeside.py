"""Recordings' tables read in a process of its own: an app that stays open need not hold Arrow for what it reads once.

One process a look, and none at all while every table is known.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.beside import Beside
from noeira_tui.core.errors import BesideError
from noeira_tui.recordings.info import Info
from noeira_tui.recordings.read import RECORDER_QUIET_S, RECORDER_SILENT_S, read_recording
from noeira_tui.recordings.tables import TableFacts, TableReader, read_table
from noeira_tui.recordings.tree import scan

ANSWER_S = 20.0
"""A table takes milliseconds. This long is a disk that does not answer, or a box without room for another process."""

REST_S = 60.0
"""After such an end nothing is tried again for a while: looks go on, without the tables that are not known."""

ROWS_S = 120.0
"""Every data file of a recording is opened for its rows: on a slow disk thousands take their time."""

NICENESS = 10
WITHOUT = ("numpy",)
"""Arrow makes lists of a few columns without it, and importing it is half of what the process costs."""

_MAX_CRASHES = 3


@dataclass
class _Look:
    """The process of the looks that go on, and how many do."""

    beside: Beside
    users: int = 0
    crashes: int = 0


class TablesBeside:
    """Reads tables for looks, and remembers them from look to look. May be used from several threads."""

    def __init__(self, *, answer_s: float = ANSWER_S, rest_s: float = REST_S) -> None:
        self._answer_s = answer_s
        self._rest_s = rest_s
        self.reader = TableReader(self._read)
        self._lock = threading.Lock()
        self._look: _Look | None = None
        self._rows: dict[Path, tuple[object, Mapping[str, str]]] = {}
        self._failure = ""
        self._rests_until = 0.0

    @contextmanager
    def open(self) -> Iterator[TableReader]:
        """For one look: the process that it needed, if it needed one, ends with it."""
        with self._lock:
            look = self._look = self._look or _Look(Beside(niceness=NICENESS, without=WITHOUT))
            look.users += 1
        try:
            yield self.reader
        finally:
            with self._lock:
                look.users -= 1
                if not look.users:
                    self._look = None
                    look.beside.close()

    def row_faults(self, folder: Path) -> Mapping[str, str]:
        """What is wrong with the rows of a recording's data files, by path; read anew when a file of it changed, or may
        not be written any more. Raises BesideError."""
        tree = scan(folder)
        quiet_s = time.time() - max((stamp.mtime_ns for stamp in tree.files.values()), default=0) / 1e9
        key = (tree.signature(), quiet_s > RECORDER_QUIET_S, quiet_s > RECORDER_SILENT_S)
        known = self._rows.get(folder)
        if known is not None and known[0] == key:
            return known[1]
        with Beside(without=WITHOUT) as beside:
            faults = beside.call(_row_faults, folder, timeout_s=ROWS_S)
        self._rows[folder] = (key, faults)
        return faults

    def _read(self, path: Path, info: Info) -> TableFacts:
        look = self._look
        assert look is not None, "tables are read during a look"
        if time.monotonic() < self._rests_until:
            raise BesideError(self._failure)
        try:
            return look.beside.call(read_table, path, info, timeout_s=self._answer_s)
        except BesideError as err:
            look.crashes += err.is_crash
            if err.is_crash and look.crashes <= _MAX_CRASHES:
                # Its own fault, and remembered as such; the others have a process again.
                return TableFacts(error=f"cannot be read: {err.why}")
            self._failure, self._rests_until = err.why, time.monotonic() + self._rest_s
            raise


def _row_faults(folder: Path) -> Mapping[str, str]:
    from noeira_tui.recordings.rows import row_faults

    return row_faults(read_recording(folder, time.time(), tables=TableReader()))
