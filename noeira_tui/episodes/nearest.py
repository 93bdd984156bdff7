"""The nearest other frames of every frame, exactly: by the differences of the states, ties to the earlier frame.

Squared distances are first found as n − 2 x·y, which a matrix product does many times faster than differences, and
which rounding makes wrong by no more than can be told. Where that leaves the answer open (ties above all), the
differences themselves decide. Frames of one and the same state are answered without any distance. Long episodes are
cut into boxes, and boxes that are too far away are not looked into: neither time nor memory grows with T².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.boxes import Boxes
from noeira_tui.episodes.channels import Floats
from noeira_tui.episodes.twins import find_twins

NEIGHBOURS = 5
_DENSE = 1024
_DISTANCES = 1 << 18
_DIFFERENCES = 1 << 21
_RING = 8
_WIDEST_RING = 64
_SMALL_PRODUCT = 1 << 18
_SLACK = 1.0 + 1e-9

Indices = NDArray[np.intp]


def nearest(states: Floats) -> Indices | None:
    """The 5 nearest other frames of each of T ≥ 7 frames (T, D): (5, T), in no particular order.

    None when squared distances overflow.
    """
    if not np.isfinite(4.0 * _squares(states).max()):
        return None
    twins = find_twins(states, NEIGHBOURS)
    found = np.empty((NEIGHBOURS, len(states)), np.intp)
    found[:, twins.answered] = twins.answers
    if len(twins.met) <= _DENSE:
        step = max(_DISTANCES // len(twins.met), 1)
        for start in range(0, len(twins.asking), step):
            asked = twins.asking[start : start + step]
            query = _Query(states, asked)
            query.meet(twins.met)
            found[:, asked] = query.answer()
        return found
    boxes = Boxes(states, twins.met)
    asks = np.zeros(len(states), bool)
    asks[twins.asking] = True
    for box, members in enumerate(boxes.members):
        asked = members[asks[members]]
        if len(asked):
            found[:, asked] = _look_around(boxes, box, _Query(states, asked))
    return found


def _look_around(boxes: Boxes, box: int, query: _Query) -> Indices:
    """Meet the boxes around one, the nearest first, until the rest is too far away."""
    gaps = boxes.squared_gaps(box)
    order = np.argsort(gaps)
    start, step = 0, _RING
    while start < len(order) and gaps[order[start]] <= query.squared_radius * _SLACK:
        ring = order[start : start + step]
        within = ring[gaps[ring] <= query.squared_radius * _SLACK]
        rows = np.concatenate([boxes.members[number] for number in within])
        if start:
            rows = boxes.reached(box, rows, query.squared_radius * _SLACK)
        query.meet(np.sort(rows))
        start, step = start + step, min(2 * step, _WIDEST_RING)
    return query.answer()


class _Query:
    """What some frames have met so far: each one's 6 nearest, by distances that may be wrong by `_doubt`."""

    def __init__(self, states: Floats, asked: Indices) -> None:
        self._states, self._asked = states, asked
        self._width: int = states.shape[1]
        rows = states[asked]
        # Around their own middle the numbers are small, and so is what rounding does to them.
        self._origin = rows.mean(axis=0)
        rows -= self._origin
        self._norms = _squares(rows)
        self._asking = np.concatenate([-2.0 * rows, np.ones((len(rows), 1))], axis=1)
        self._farthest = float(self._norms.max())
        self._best: Floats | None = None
        self._frames = np.empty((0, 0), np.intp)
        self._met: list[Indices] = []

    @property
    def _doubt(self) -> float:
        """What rounding can make of the difference of two squared distances, each found in either way."""
        return 2.0 * (8 * self._width + 20) * float(np.finfo(np.float64).eps) * self._farthest

    @property
    def squared_radius(self) -> float:
        """What is farther from all the asking frames than this is none of their nearest."""
        if self._best is None:
            return np.inf
        return float((self._best[NEIGHBOURS - 1] + self._norms).max()) + self._doubt

    def meet(self, frames: Indices) -> None:
        """Look at some frames, ascending, none of which was met before."""
        if not len(frames):
            return
        self._met.append(frames)
        everyone = np.arange(len(self._asked))
        apart = self._apart(everyone, frames)
        if self._best is None:
            self._best, columns = _six_least(apart)
            self._frames = frames[columns]
            return
        nearer = np.flatnonzero(apart.min(axis=1) < self._best[NEIGHBOURS])
        if not len(nearer):
            return
        least, columns = _six_least(apart[nearer])
        both = np.concatenate([self._best[:, nearer], least])
        order = np.argsort(both, axis=0)[: NEIGHBOURS + 1]
        self._best[:, nearer] = np.take_along_axis(both, order, axis=0)
        frames_of_both = np.concatenate([self._frames[:, nearer], frames[columns]])
        self._frames[:, nearer] = np.take_along_axis(frames_of_both, order, axis=0)

    def answer(self) -> Indices:
        """The 5 nearest of all that were met, (5, asked)."""
        assert self._best is not None
        near = self._frames[:NEIGHBOURS]
        sure = self._best[NEIGHBOURS] - self._best[NEIGHBOURS - 1] > self._doubt
        waiting = [] if sure.all() else [np.flatnonzero(~sure)]
        while waiting:
            rows = waiting.pop()
            decided = self._decided(rows)
            if decided is None:
                waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
            else:
                near[:, rows] = decided
        return near

    def _apart(self, rows: Indices, frames: Indices) -> Floats:
        """Squared distances of some asking frames from others, less each asking frame's own squared norm.

        More columns than `frames` may come back; those are infinitely far. The product is taken in pieces so small that
        the linear algebra library stays in one thread: it would spend more on several than they bring.
        """
        left = self._asking[rows]
        count = len(frames)
        pieces = -(-left.size * count // _SMALL_PRODUCT)
        size = -(-count // pieces)
        points = np.zeros((pieces * size, self._width))
        np.subtract(self._states[frames], self._origin, out=points[:count])
        squares = _squares(points)
        self._farthest = max(self._farthest, float(squares.max()))
        squares[count:] = np.inf
        against = np.empty((pieces, self._width + 1, size))
        against[:, :-1] = points.reshape(pieces, size, -1).transpose(0, 2, 1)
        against[:, -1] = squares.reshape(pieces, size)
        apart = np.empty((len(left), pieces, size))
        np.matmul(left, against, out=apart.transpose(1, 0, 2))
        distances = apart.reshape(len(left), -1)
        asked = self._asked[rows]
        place = np.minimum(np.searchsorted(frames, asked), count - 1)
        own = np.flatnonzero(frames[place] == asked)
        distances[own, place[own]] = np.inf
        return distances

    def _decided(self, rows: Indices) -> Indices | None:
        """The 5 nearest of rows that are in doubt, by the differences, then by the frame's number.

        None when that would be too many differences at once.
        """
        assert self._best is not None
        bound = (self._best[NEIGHBOURS - 1, rows] + self._doubt)[:, None]
        many = max(_DIFFERENCES // self._width, 1)
        found: list[tuple[Indices, Indices]] = []
        for frames in self._met:
            row, column = np.nonzero(self._apart(rows, frames) <= bound)
            many -= len(row)
            if many < 0 and len(rows) > 1:
                return None
            found.append((row, frames[column]))
        row, frame = (np.concatenate(parts) for parts in zip(*found, strict=True))
        away = self._states[self._asked[rows[row]]] - self._states[frame]
        order = np.lexsort((frame, np.add.reduce(np.square(away, out=away), axis=1), row))
        first = np.searchsorted(row[order], np.arange(len(rows)))
        decided: Indices = frame[order[first + np.arange(NEIGHBOURS)[:, None]]]
        return decided


def _six_least(apart: Floats) -> tuple[Floats, Indices]:
    """The 6 least of each row and where they are, each (6, rows), ascending. Spoils the distances."""
    flat = apart.reshape(-1)
    base = np.arange(len(apart)) * apart.shape[1]
    least = np.empty((NEIGHBOURS + 1, len(apart)))
    columns = np.empty((NEIGHBOURS + 1, len(apart)), np.intp)
    for number in range(NEIGHBOURS + 1):
        place = np.argmin(apart, axis=1, out=columns[number]) + base
        least[number] = flat[place]
        flat[place] = np.inf
    return least, columns


def _squares(rows: Floats) -> Floats:
    """The squared norm of each row."""
    squares: Floats = np.add.reduce(np.square(rows), axis=1)
    return squares
