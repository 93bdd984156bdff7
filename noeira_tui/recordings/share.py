"""One file's share in the progress of a whole mirror."""

from __future__ import annotations

from noeira_tui.core.progress import Progress


class Share(Progress):
    """Counters of one transfer that pass bytes on to the whole, and take them back when it begins again."""

    def __init__(self, whole: Progress) -> None:
        super().__init__()
        self._whole = whole
        self._given = 0

    def advance(self, size_bytes: int) -> None:
        self._given += size_bytes
        self._whole.advance(size_bytes)

    def already(self, size_bytes: int) -> None:
        self._given += size_bytes
        self._whole.already(size_bytes)

    def restart(self) -> None:
        self.rewind_to(0)

    def rewind_to(self, size_bytes: int) -> None:
        if size_bytes != self._given:
            self._whole.already(size_bytes - self._given)
            self._given = size_bytes
