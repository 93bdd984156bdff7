"""Points cut into boxes of neighbours, so that most of them need not be looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.channels import Floats

Indices = NDArray[np.intp]

_MOST = 128


class Boxes:
    """The chosen rows of points (T, D), halved along their widest dimension until at most 128 are in a box.

    `members` are the rows in each of B boxes; `lowest` and `highest` (B, D) are its corners.
    """

    def __init__(self, points: Floats, chosen: Indices) -> None:
        self._points = points
        self.members: list[Indices] = []
        corners: list[tuple[Floats, Floats]] = []
        waiting = [chosen]
        while waiting:
            rows = waiting.pop()
            inside = points[rows]
            lowest, highest = inside.min(axis=0), inside.max(axis=0)
            if len(rows) <= _MOST:
                self.members.append(rows)
                corners.append((lowest, highest))
                continue
            middle = len(rows) // 2
            order = np.argpartition(inside[:, int(np.argmax(highest - lowest))], middle)
            waiting += [rows[order[middle:]], rows[order[:middle]]]
        self.lowest = np.stack([low for low, _ in corners])
        self.highest = np.stack([high for _, high in corners])

    def squared_gaps(self, box: int) -> Floats:
        """The squared distance of every box from this one, shape (B,); 0 where they touch."""
        return _squared(self.lowest - self.highest[box], self.lowest[box] - self.highest)

    def reached(self, box: int, rows: Indices, squared_radius: float) -> Indices:
        """Those of some rows that are within a distance of a box."""
        inside = self._points[rows]
        return rows[_squared(inside - self.highest[box], self.lowest[box] - inside) <= squared_radius]


def _squared(over: Floats, under: Floats) -> Floats:
    """The squared length of how far each row is over or under, whichever is more, and not within."""
    gap = np.maximum(over, under, out=over)
    np.maximum(gap, 0.0, out=gap)
    squared: Floats = np.einsum("ij,ij->i", gap, gap)
    return squared
