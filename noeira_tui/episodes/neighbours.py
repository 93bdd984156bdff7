"""Whether alike states met alike actions: each frame's nearest neighbours among the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.columns import Columns, Floats

NEIGHBOURS = 5
_MOST = 1 << 20

Indices = NDArray[np.intp]


def state_action_consistency(state: Columns, action: Columns) -> float | None:
    """Mean over frames and dimensions of the population variance of the actions of the 5 nearest other frames.

    Nearest by Euclidean distance in the raw state; of equally near ones the earlier frame. In squared units of the
    action; low is consistent. None for fewer than 7 frames. After Sentinel (Lee et al. 2024).
    """
    if state.length < NEIGHBOURS + 2:
        return None
    near = nearest(state)
    total = 0.0
    for block in action:
        chunk = max(_MOST // (NEIGHBOURS * block.shape[1]), 1)
        for start in range(0, len(near), chunk):
            met = block[near[start : start + chunk]]
            met -= met.mean(axis=1, keepdims=True)
            total += float(np.vdot(met, met))
    return total / (NEIGHBOURS * action.length * action.width)


def nearest(state: Columns) -> Indices:
    """The 5 nearest other frames of each, shape (T, 5), in no particular order."""
    values = state.rows(np.arange(state.length))
    centred = values - values.mean(axis=0)
    norms = np.add.reduce(np.square(centred), axis=1)
    against = np.concatenate([centred, norms[:, None]], axis=1).T
    # What rounding can make of a difference of two squared distances computed as n − 2 x·y, and of the exact one.
    doubt = 2.0 * (8 * state.width + 20) * np.finfo(np.float64).eps * float(norms.max())
    found = np.empty((state.length, NEIGHBOURS), np.intp)
    chunk = max(_MOST // state.length, 1)
    for start in range(0, state.length, chunk):
        mine = slice(start, min(start + chunk, state.length))
        asking = np.concatenate([-2.0 * centred[mine], np.ones((mine.stop - start, 1))], axis=1)
        apart = asking @ against
        rows = np.arange(mine.stop - start)
        apart[rows, rows + start] = np.inf
        bound = np.partition(apart, NEIGHBOURS - 1, axis=1)[:, NEIGHBOURS - 1] + doubt
        row, column = np.nonzero(apart <= bound[:, None])
        if len(row) != len(rows) * NEIGHBOURS:
            row, column = _decided(values, row, column, start)
        found[mine] = column.reshape(-1, NEIGHBOURS)
    return found


def _decided(values: Floats, row: Indices, column: Indices, start: int) -> tuple[Indices, Indices]:
    """The 5 nearest of each row's candidates (pairs sorted by row, then column), by the differences themselves."""
    away = values[row + start] - values[column]
    order = np.lexsort((np.add.reduce(np.square(away, out=away), axis=1), row))
    first = np.searchsorted(row, np.arange(row[-1] + 1))
    kept = order[first[:, None] + np.arange(NEIGHBOURS)].ravel()
    return row[kept], column[kept]
