"""Digests for a glance: what is known already, and what can be hashed without making anybody wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from noeira_tui.core.errors import NoeiraError, StateError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.hashcache import HashCache

GLANCE_BYTES = 256 * 1000**2
"""A glance hashes at most this much: under half a second of one core. The rest stays `unverified`."""


class GlanceDigests:
    """Gives the known digest of a file, and hashes unknown ones while its budget lasts. One instance a look."""

    def __init__(self, hashes: HashCache, budget_bytes: int | None = GLANCE_BYTES) -> None:
        """With no budget (None) every file is hashed that has to be."""
        self._hashes = hashes
        self._left = budget_bytes
        self._looked_up: dict[Path, str | None] = {}
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
            return self._hashes.digest(path, progress=self.progress, cancel=self.cancel)
        except (OSError, NoeiraError):
            # Vanished, unreadable or being written: it cannot be compared now.
            self.cancel.check()
            return None

    def _known(self, paths: list[Path]) -> dict[Path, str]:
        try:
            return self._hashes.lookup_many(paths)
        except StateError:
            return {}


Digests = Callable[[Path], str | None]
