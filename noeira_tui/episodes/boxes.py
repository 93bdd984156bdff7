"""Points cut into boxes of neighbours, so that most of them need not be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.channels import Floats
from noeira_tui.episodes.frames import Numbers

Indices = NDArray[np.intp]

_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Boxes:
    """Some rows of points (T, D), in B boxes of at most S.

    `rows` (B, S) are their numbers, −1 where a box has fewer; `points` (B, D, S) their coordinates, there the first's.
    """

    rows: Indices
    points: Floats

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """Where there is no row."""
        return self.rows < 0

    @cached_property
    def _corners(self) -> tuple[Floats, Floats]:
        return self.points.min(axis=2), self.points.max(axis=2)

    @property
    def squared_size(self) -> float:
        """The mean of the squared diagonals."""
        lowest, highest = self._corners
        return float(np.square(highest - lowest).sum() / len(self.rows))

    def squared_gaps(self, box: int) -> Floats:
        """The squared distance of every box from this one, shape (B,); 0 where they touch."""
        lowest, highest = self._corners
        gap = np.maximum(lowest - highest[box], lowest[box] - highest)
        np.maximum(gap, 0.0, out=gap)
        squared: Floats = np.einsum("ij,ij->i", gap, gap)
        return squared


def boxed(points: Numbers, chosen: Indices, in_time: int, in_space: int) -> Boxes:
    """The chosen rows in the tighter of two kinds of boxes: of at most `in_time` that follow each other, which is best
    where points move along a path, or of at most `in_space` that are near each other."""
    size = in_order(points, chosen, in_time).squared_size
    found = halved(points, chosen, in_space)
    return in_order(points, chosen, in_time) if size <= found.squared_size else found


def in_order(points: Numbers, chosen: Indices, most: int) -> Boxes:
    """The chosen rows as they come, in boxes of about equal size."""
    count = -(-len(chosen) // most)
    size = -(-len(chosen) // count)
    rows = np.full(count * size, -1)
    rows[: len(chosen)] = chosen
    return _filled(points, rows.reshape(count, size))


def halved(points: Numbers, chosen: Indices, most: int) -> Boxes:
    """The chosen rows halved along their widest dimension until at most `most` are together."""
    parts: list[Indices] = []
    waiting = [chosen]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            parts.append(rows)
            continue
        middle = len(rows) // 2
        order = np.argpartition(points[rows, _widest(points, rows)], middle)
        waiting += [rows[order[middle:]], rows[order[:middle]]]
    rows = np.full((len(parts), max(map(len, parts))), -1)
    for number, part in enumerate(parts):
        rows[number, : len(part)] = part
    return _filled(points, rows)


def _widest(points: Numbers, rows: Indices) -> int:
    lowest = np.full(points.shape[1], np.inf)
    highest = -lowest
    step = max(_AT_ONCE // points.shape[1], 1)
    for start in range(0, len(rows), step):
        some = points[rows[start : start + step]]
        np.minimum(lowest, some.min(axis=0), out=lowest)
        np.maximum(highest, some.max(axis=0), out=highest)
    return int(np.argmax(highest - lowest))


def _filled(points: Numbers, rows: Indices) -> Boxes:
    filled = np.empty((len(rows), points.shape[1], rows.shape[1]))
    there = np.where(rows < 0, rows[:, :1], rows)
    step = max(_AT_ONCE // filled[0].size, 1)
    for start in range(0, len(rows), step):
        filled[start : start + step] = points[there[start : start + step]].transpose(0, 2, 1)
    return Boxes(rows, filled)
