"""An episode's numbers as float64, dimension by dimension; an hour of any width needs little memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.frames import Numbers

Floats = NDArray[np.float64]

_MOST = 1 << 20
"""Numbers that are converted at once: 8 MB of float64."""


class Channels:
    """Iterates over (T, D) numbers as contiguous (d, T) blocks of float64, non-finite values replaced by 0.

    Sums and extremes along time are then sums along memory. A short episode is one block, converted once.
    `finite` tells whether nothing had to be replaced.
    """

    def __init__(self, values: Numbers) -> None:
        self.length: int = values.shape[0]
        self.width: int = values.shape[1]
        self._values = values
        self._step = max(_MOST // max(self.length, 1), 1)
        self._whole: Floats | None = None
        if self.width <= self._step:
            self._whole, self.finite = _cleaned(values.T)
        else:
            self.finite = all(_cleaned(values[:, span].T)[1] for span in self._spans())

    def __iter__(self) -> Iterator[Floats]:
        if self._whole is not None:
            yield self._whole
            return
        for span in self._spans():
            yield _cleaned(self._values[:, span].T)[0]

    def ranged(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Each block with its dimensions' minima and maxima, shape (d,)."""
        lowest, highest = self.ends
        start = 0
        for block in self:
            stop = start + len(block)
            yield block, lowest[start:stop], highest[start:stop]
            start = stop

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The minimum and the maximum of every dimension, shape (D,)."""
        pairs = [(block.min(axis=1), block.max(axis=1)) for block in self]
        lowest, highest = zip(*pairs, strict=True)
        return np.concatenate(lowest), np.concatenate(highest)

    @cached_property
    def squared_norms(self) -> Floats:
        """The squared norm of every frame, shape (T,)."""
        total = np.zeros(self.length)
        for block in self:
            total += np.add.reduce(np.square(block), axis=0)
        return total

    def rows(self) -> Numbers:
        """All frames as (T, D), in the type they are stored in."""
        return self._values if self.finite else _cleaned(self._values)[0]

    def last(self) -> Floats:
        """The last dimension, shape (T,)."""
        return self._whole[-1] if self._whole is not None else _cleaned(self._values[:, -1])[0]

    def _spans(self) -> Iterator[slice]:
        for start in range(0, self.width, self._step):
            yield slice(start, min(start + self._step, self.width))


def _cleaned(values: Numbers) -> tuple[Floats, bool]:
    """As contiguous float64 without NaN and infinities, and whether there were none."""
    taken = np.ascontiguousarray(values, np.float64)
    # A sum is finite only if all are; it may also overflow, so the slow look decides.
    if math.isfinite(taken.sum()):
        return taken, True
    finite = np.isfinite(taken)
    return np.where(finite, taken, 0.0), bool(finite.all())
