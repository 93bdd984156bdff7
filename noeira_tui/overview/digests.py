"""Digests for a glance: what is known already, and what can be hashed without making anybody wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from noeira_tui.core.errors import NoeiraError, StateError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.facts import FileStamp
from noeira_tui.transfer.hashcache import HashCache
from noeira_tui.transfer.hashing import YOUNG_NS, hash_file

GLANCE_BYTES = 256 * 1000**2
"""A glance hashes at most this much: under half a second of one core. The rest stays `unverified`."""


_KEEP_EVERY_S = 2.0


class GlanceDigests:
    """Gives the known digest of a file, and hashes unknown ones while its budget lasts. One instance a look."""

    def __init__(self, hashes: HashCache, budget_bytes: int | None = GLANCE_BYTES) -> None:
        """With no budget (None) every file is hashed that has to be."""
        self._hashes = hashes
        self._left = budget_bytes
        self._looked_up: dict[Path, str | None] = {}
        self._found: list[tuple[FileStamp, str]] = []
        self._kept_at = time.monotonic()
        self.progress = Progress()
        self.cancel = CancelToken()

    def look_up(self, paths: Iterable[Path]) -> None:
        """Look up many files that will be asked for, in one go: a file at a time costs a query each."""
        paths = list(paths)
        self._looked_up.update(dict.fromkeys(paths))
        self._looked_up.update(self._known(paths))

    def of(self, path: Path) -> str | None:
        """The file's digest; None when it is not known and too large for what is left of the budget."""
        known = self._looked_up[path] if path in self._looked_up else self._known([path]).get(path)
        if known is not None:
            return known
        try:
            size = path.stat().st_size
            if not path.is_file() or (self._left is not None and size > self._left):
                return None
            if self._left is not None:
                self._left -= size
            return self._hash(path)
        except (OSError, NoeiraError):
            # Vanished, unreadable or being written: it cannot be compared now.
            self.cancel.check()
            return None

    def keep(self) -> None:
        """Remember what was hashed, in one transaction: one for each of five thousand files took over a minute."""
        self._hashes.remember_many(self._found)
        self._found, self._kept_at = [], time.monotonic()

    def _hash(self, path: Path) -> str:
        began_ns = time.time_ns()
        found, stamp = hash_file(path, progress=self.progress, cancel=self.cancel)
        if began_ns - max(stamp.mtime_ns, stamp.ctime_ns) >= YOUNG_NS:
            self._found.append((stamp, found))
        if time.monotonic() - self._kept_at > _KEEP_EVERY_S:
            # Somebody may lose patience with a large box: the next look goes on from here.
            self.keep()
        return found

    def _known(self, paths: list[Path]) -> dict[Path, str]:
        try:
            return self._hashes.lookup_many(paths)
        except StateError:
            return {}


Digests = Callable[[Path], str | None]
