"""Frames of one and the same state: a robot that stands still has thousands of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.frames import Numbers

Indices = NDArray[np.intp]

_ODD = 0x9E3779B97F4A7C15
_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Twins:
    """What equal states spare when every frame's `count` nearest others are wanted.

    A frame with at least `count` twins has its answer in them, the earliest: `answered` (N,) and `answers` (count, N).
    The others are `asking`, ascending. Nobody needs more than the earliest `count` of any state: these are `met`,
    ascending too.
    """

    answered: Indices
    answers: Indices
    asking: Indices
    met: Indices


def find_twins(states: Numbers, count: int) -> Twins:
    """Group the frames (T, D) by equal states."""
    keys = _keys(states)
    ranked = np.sort(keys)
    everyone = np.arange(len(states))
    if not (ranked[1:] == ranked[:-1]).any():
        return Twins(everyone[:0], np.empty((count, 0), np.intp), everyone, everyone)
    order = np.argsort(keys, kind="stable")
    fresh = np.concatenate([[True], keys[order[1:]] != keys[order[:-1]]])
    again = np.flatnonzero(~fresh)
    if not _equal(states, order[again], order[again - 1]):
        # Two states with one key, once in 2^64: sort the states themselves.
        keys = np.unique(states, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)
        order = np.argsort(keys, kind="stable")
        fresh = np.concatenate([[True], keys[order[1:]] != keys[order[:-1]]])
    starts = np.flatnonzero(fresh)
    sizes = np.diff(starts, append=len(states))
    rank = everyone - np.repeat(starts, sizes)
    many = np.repeat(sizes > count, sizes)
    answered = order[many]
    earliest = order[np.repeat(starts, sizes)[many] + np.arange(count + 1)[:, None]]
    other = earliest != answered
    # A frame that is not among its earliest twins does without the last of them.
    other[-1] &= ~other.all(axis=0)
    answers = earliest.T[other.T].reshape(-1, count).T
    return Twins(answered, answers, np.sort(order[~many]), np.sort(order[rank < count]))


def _equal(states: Numbers, some: Indices, others: Indices) -> bool:
    step = max(_AT_ONCE // states.shape[1], 1)
    spans = (slice(start, start + step) for start in range(0, len(some), step))
    return all(np.array_equal(states[some[span]], states[others[span]]) for span in spans)


def _keys(states: Numbers) -> NDArray[np.uint64]:
    """A number a state, equal for equal ones; −0 is 0."""
    weights = np.multiply.accumulate(np.full(states.shape[1], _ODD, np.uint64))
    keys = np.empty(len(states), np.uint64)
    step = max(_AT_ONCE // states.shape[1], 1)
    for start in range(0, len(states), step):
        some = states[start : start + step].astype(np.float64)
        some += 0.0
        keys[start : start + step] = np.add.reduce(some.view(np.uint64) * weights, axis=1)
    return keys
