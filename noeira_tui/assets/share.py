"""One piece of work's share of a larger progress: what a transfer counts goes to the whole, and can be taken back."""

from __future__ import annotations

from noeira_tui.core.progress import Progress


class Share(Progress):
    """Counts for itself and for the whole it is a part of. Parts come one after the other, not at the same time."""

    def __init__(self, whole: Progress) -> None:
        super().__init__()
        self._whole = whole
        self._before = whole.snapshot().bytes_done

    def already(self, size_bytes: int) -> None:
        super().already(size_bytes)
        self._whole.already(size_bytes)

    def advance(self, size_bytes: int) -> None:
        super().advance(size_bytes)
        self._whole.advance(size_bytes)

    def restart(self) -> None:
        super().restart()
        self._whole.rewind_to(self._before)

    def rewind_to(self, size_bytes: int) -> None:
        super().rewind_to(size_bytes)
        self._whole.rewind_to(self._before + size_bytes)

    def enter(self, phase: str) -> None:
        super().enter(phase)
        self._whole.enter(phase)

    def attempt(self, number: int) -> None:
        super().attempt(number)
        self._whole.attempt(number)
