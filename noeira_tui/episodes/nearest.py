"""The nearest other frames of every frame, exactly: by the differences of the states, ties to the earlier frame.

Squared distances are first found as n − 2 x·y, which a matrix product does many times faster than differences, and
which rounding makes wrong by no more than can be told. Where that leaves the answer open (ties above all), the
differences themselves decide. Frames of one and the same state are answered without any distance. Long episodes are
cut into boxes, and boxes that are too far away are not looked into; nothing of the size of T² is ever kept.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.boxes import Boxes, boxed, in_order
from noeira_tui.episodes.channels import Floats
from noeira_tui.episodes.frames import Numbers
from noeira_tui.episodes.twins import find_twins

NEIGHBOURS = 5
_DENSE = 1024
"""Frames up to which each is compared with every other."""
_SMALL_PRODUCT = 1 << 18
"""Multiplications up to which the linear algebra library stays in one thread: it would spend more on several than they
bring, and the other cores have episodes of their own."""
_FEWEST, _MOST = 32, 128
_FIRST_RING, _WIDEST_RING = 1 << 8, 1 << 13
_DIFFERENCES = 1 << 21
_UNDERFLOW = 1e-300
"""Below the least numbers that are stored in full, rounding is wrong by more than its share."""
_SLACK = 1.0 + 1e-9

Indices = NDArray[np.intp]


def nearest(states: Numbers) -> Indices | None:
    """The 5 nearest other frames of each of T ≥ 7 frames (T, D): (5, T), in no particular order.

    None when squared distances overflow.
    """
    length, width = states.shape
    if not 4.0 * width * max(abs(float(states.max())), abs(float(states.min()))) < 1e150:
        return None
    twins = find_twins(states, NEIGHBOURS)
    if length <= _DENSE and len(twins.asking) == length:
        near = _at_once(states)
        if near is not None:
            return near
    found = np.empty((NEIGHBOURS, length), np.intp)
    found[:, twins.answered] = twins.answers
    asks = np.zeros(length, bool)
    asks[twins.asking] = True
    if len(twins.met) <= _DENSE:
        _all_with_all(states, twins.met, asks, found)
    else:
        _by_boxes(states, twins.met, asks, found)
    return found


def _at_once(states: Numbers) -> Indices | None:
    """All frames of a short episode at the same time; None when rounding leaves some frame's answer open."""
    length, width = states.shape
    against = np.empty((width + 1, length))
    centred = against[:-1]
    np.subtract(states.T, states.mean(axis=0, dtype=np.float64)[:, None], out=centred)
    norms = np.add.reduce(np.square(centred), axis=0, out=against[-1])
    left = np.empty((length, width + 1))
    np.multiply(centred.T, -2.0, out=left[:, :-1])
    left[:, -1] = 1.0
    apart = np.empty((length, length))
    step = max(_SMALL_PRODUCT // against.size, 8)
    for start in range(0, length, step):
        np.matmul(left[start : start + step], against, out=apart[start : start + step])
    apart.reshape(-1)[:: length + 1] = np.inf
    least, columns = _six_least(apart)
    doubt = _doubt(width, float(norms.max()))
    if float((least[NEIGHBOURS] - least[NEIGHBOURS - 1]).min()) <= doubt:
        return None
    return columns[:NEIGHBOURS]


def _doubt(width: int, farthest: float) -> float:
    """What rounding can make of the difference of two squared distances, each found in either way, of points whose
    squared norm is `farthest` at most."""
    return 2.0 * (8 * width + 20) * float(np.finfo(np.float64).eps) * farthest + _UNDERFLOW


def _all_with_all(states: Numbers, met: Indices, asks: NDArray[np.bool_], found: Indices) -> None:
    """Compare every frame with every other, some asking frames at a time."""
    together = min(max(_SMALL_PRODUCT // len(met), 1), len(met))
    boxes = in_order(states, met, max(_SMALL_PRODUCT // (together * (states.shape[1] + 1)), 8))
    everywhere = np.arange(len(boxes.rows))
    step = max(together // boxes.rows.shape[1], 1)
    for start in range(0, len(everywhere), step):
        query = _Query(states, boxes, everywhere[start : start + step], asks)
        if len(query.asked):
            query.meet(everywhere)
            found[:, query.asked] = query.answer()


def _by_boxes(states: Numbers, met: Indices, asks: NDArray[np.bool_], found: Indices) -> None:
    """Compare the frames of each box with those of the boxes around it."""
    in_space = min(max(math.isqrt(_SMALL_PRODUCT // (states.shape[1] + 1)), _FEWEST), _MOST)
    boxes = boxed(states, met, _FEWEST, in_space)
    for box in range(len(boxes.rows)):
        query = _Query(states, boxes, np.array([box]), asks)
        if len(query.asked):
            found[:, query.asked] = _look_around(boxes, box, query)


def _look_around(boxes: Boxes, box: int, query: _Query) -> Indices:
    """Meet the boxes around one, the nearest first, until the rest is too far away."""
    gaps = boxes.squared_gaps(box)
    order = np.argsort(gaps)
    size = boxes.rows.shape[1]
    start, step = 0, max(_FIRST_RING // size, 1)
    while start < len(order) and gaps[order[start]] <= query.squared_radius * _SLACK:
        ring = order[start : start + step]
        query.meet(ring[gaps[ring] <= query.squared_radius * _SLACK])
        start, step = start + step, min(2 * step, max(_WIDEST_RING // size, 1))
    return query.answer()


class _Query:
    """What the asking frames of some boxes have met: each one's 6 nearest, by distances wrong by `_doubt` at most."""

    def __init__(self, states: Numbers, boxes: Boxes, asking: Indices, asks: NDArray[np.bool_]) -> None:
        rows = boxes.rows[asking]
        flat = np.flatnonzero(asks[rows] & (rows >= 0))
        box, self._column = np.divmod(flat, rows.shape[1])
        self._box = asking[box]
        self.asked = rows.reshape(-1)[flat]
        self._states, self._boxes = states, boxes
        self._own = states[self.asked].astype(np.float64)
        self._width: int = self._own.shape[1]
        if not len(self.asked):
            return
        # Around their own middle the numbers are small, and so is what rounding does to them.
        self._origin = self._own.mean(axis=0)
        centred = self._own - self._origin
        self._norms: Floats = np.add.reduce(np.square(centred), axis=1)
        self._left = np.concatenate([-2.0 * centred, np.ones((len(centred), 1))], axis=1)
        self._farthest = float(self._norms.max())
        self._best: Floats | None = None
        self._frames = np.empty((0, 0), np.intp)
        self._met: list[Indices] = []

    @property
    def _doubt(self) -> float:
        return _doubt(self._width, self._farthest)

    @property
    def squared_radius(self) -> float:
        """What is farther from all the asking frames than this is none of their nearest."""
        if self._best is None:
            return np.inf
        return float((self._best[NEIGHBOURS - 1] + self._norms).max()) + self._doubt

    def meet(self, ring: Indices) -> None:
        """Look into some boxes, none of which was looked into before."""
        if not len(ring):
            return
        self._met.append(ring)
        apart = self._apart(slice(None), ring)
        frames = self._boxes.rows[ring].reshape(-1)
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

    def _apart(self, rows: Indices | slice, ring: Indices) -> Floats:
        """Squared distances of asking frames from all in some boxes, less each asking frame's own squared norm."""
        left = self._left[rows]
        points = self._boxes.points[ring]
        against = np.empty((len(ring), self._width + 1, points.shape[2]))
        np.subtract(points, self._origin[:, None], out=against[:, :-1])
        squares = np.add.reduce(np.square(against[:, :-1], out=points), axis=1)
        self._farthest = max(self._farthest, float(squares.max()))
        squares[self._boxes.empty[ring]] = np.inf
        against[:, -1] = squares
        apart = np.empty((len(left), *squares.shape))
        np.matmul(left, against, out=apart.transpose(1, 0, 2))
        place = np.full(len(self._boxes.rows), -1)
        place[ring] = np.arange(len(ring))
        own = place[self._box[rows]]
        here = np.flatnonzero(own >= 0)
        apart[here, own[here], self._column[rows][here]] = np.inf
        return apart.reshape(len(left), -1)

    def _decided(self, rows: Indices) -> Indices | None:
        """The 5 nearest of rows that are in doubt, by the differences, then by the frame's number.

        None when that would be too many differences at once.
        """
        assert self._best is not None
        bound = (self._best[NEIGHBOURS - 1, rows] + self._doubt)[:, None]
        many = max(_DIFFERENCES // self._width, 1)
        found: list[tuple[Indices, Indices]] = []
        for ring in self._met:
            row, place = np.nonzero(self._apart(rows, ring) <= bound)
            many -= len(row)
            if many < 0 and len(rows) > 1:
                return None
            found.append((row, self._boxes.rows[ring].reshape(-1)[place]))
        row, frame = (np.concatenate(parts) for parts in zip(*found, strict=True))
        away = self._own[rows[row]] - self._states[frame]
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
