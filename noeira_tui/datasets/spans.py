"""Episodes told by nothing but their lengths, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from noeira_tui.datasets.facts import Episode


@dataclass(frozen=True)
class Lengths:
    """Episodes in the order of `counts`; `names` is where each is kept, empty where all are in one place."""

    counts: tuple[int, ...]
    data_file: str | None = None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.counts)

    def page(self, offset: int, limit: int) -> tuple[Episode, ...]:
        return tuple(self._episode(row) for row in range(max(0, offset), min(len(self), offset + limit)))

    def find(self, index: int) -> Episode | None:
        return self._episode(index) if 0 <= index < len(self) else None

    @property
    def lengths(self) -> Sequence[int]:
        return self.counts

    def bounds(self, index: int) -> tuple[int, int]:
        """First frame of an episode in the whole, and the one behind its last."""
        start = sum(self.counts[:index])
        return start, start + self.counts[index]

    def _episode(self, row: int) -> Episode:
        return Episode(row, self.counts[row], data_file=self.names[row] if self.names else self.data_file)
