"""An episode's numbers as float64, some columns at a time, so that an hour of any width needs little memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.frames import Numbers

Floats = NDArray[np.float64]

_MOST = 1 << 21
"""Numbers that are converted at once: 16 MB of float64."""


class Columns:
    """Iterates over a (T, D) array as (T, d) blocks of float64, left to right, non-finite values replaced by 0.

    A short episode is one block, converted once. `finite` tells whether nothing had to be replaced.
    """

    def __init__(self, values: Numbers) -> None:
        self.length: int = values.shape[0]
        self.width: int = values.shape[1]
        self._values = values
        self._step = max(_MOST // max(self.length, 1), 1)
        self._whole: Floats | None = None
        if self.width <= self._step:
            self._whole, self.finite = _cleaned(values)
        else:
            self.finite = all(_cleaned(values[:, start:stop])[1] for start, stop in self._spans())

    def __iter__(self) -> Iterator[Floats]:
        if self._whole is not None:
            yield self._whole
            return
        for start, stop in self._spans():
            yield _cleaned(self._values[:, start:stop])[0]

    def rows(self, chosen: NDArray[np.intp]) -> Floats:
        """Some frames, whole."""
        return self._whole[chosen] if self._whole is not None else _cleaned(self._values[chosen])[0]

    def last(self) -> Floats:
        """The last column, shape (T,)."""
        return self._whole[:, -1] if self._whole is not None else _cleaned(self._values[:, -1:])[0][:, 0]

    def _spans(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.width, self._step):
            yield start, min(start + self._step, self.width)


def _cleaned(values: Numbers) -> tuple[Floats, bool]:
    """As contiguous float64 without NaN and infinities, and whether there were none."""
    taken = np.ascontiguousarray(values, np.float64)
    # A sum is finite only if all are; it may also overflow, so the slow look decides.
    if math.isfinite(taken.sum()):
        return taken, True
    finite = np.isfinite(taken)
    return np.where(finite, taken, 0.0), bool(finite.all())
