"""What the actions alone tell: dead, static, saturated or repetitive commands, a gripper that chatters."""

from __future__ import annotations

import math

import numpy as np

from noeira_tui.episodes.columns import Columns, Floats

_DEAD = 1e-6
_UNMOVED = 1e-6
_LEAST_RANGE = 1e-10
_MARGIN = 0.05
_PERCENTILE = 0.95
_STATIC_SHARE = 0.01
_STATIC_NORM = 1e-6
_SHORTEST_S = 1e-6


def dead_fraction(action: Columns) -> float:
    """Share of frames whose action is all within 1e-6 of 0, or all within 1e-6 of the first frame's action.

    After OpenVLA (Kim et al. 2024), which drops such frames.
    """
    zero = np.ones(action.length, bool)
    same = np.ones(action.length, bool)
    for block in action:
        zero &= np.abs(block).max(axis=1) < _DEAD
        away = block - block[0]
        same &= np.abs(away, out=away).max(axis=1) < _DEAD
    return float((zero | same).mean())


def gripper_chatter_rate(action: Columns, dt: float) -> float | None:
    """Crossings of the mid-range of the last dimension, per second of (T−1)dt (1e-6 s at least).

    0 when that dimension's range is below 1e-6; None when there is one dimension only. Sakr et al. 2024.
    """
    if action.width < 2:
        return None
    gripper = action.last()
    lowest, highest = float(gripper.min()), float(gripper.max())
    if highest - lowest < _UNMOVED:
        return 0.0
    closed = gripper > (lowest + highest) / 2.0
    crossings = int(np.count_nonzero(closed[1:] != closed[:-1]))
    return crossings / max((action.length - 1) * dt, _SHORTEST_S)


def static_fraction(action: Columns) -> float:
    """Share of frames whose action norm is below 1 % of the 95th percentile of the norms.

    Below 1e-6 instead, where that percentile is at most 1e-10. After SCIZOR (Liu et al. 2025).
    """
    squares = np.zeros(action.length)
    for block in action:
        squares += np.add.reduce(np.square(block), axis=1)
    norms = np.sqrt(squares, out=squares)
    most = _quantile(norms, _PERCENTILE)
    return float((norms < (_STATIC_SHARE * most if most > _LEAST_RANGE else _STATIC_NORM)).mean())


def _quantile(values: Floats, share: float) -> float:
    """The linearly interpolated quantile, by the arithmetic of `numpy.quantile`."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    parted = np.partition(values, (below, above))
    low, high, along = float(parted[below]), float(parted[above]), place - below
    return high - (high - low) * (1.0 - along) if along >= 0.5 else low + (high - low) * along


def overall_saturation(action: Columns) -> float:
    """Share of frames within 5 % of the range from a dimension's own minimum or maximum: the mean over dimensions.

    Dimensions with a range of at most 1e-10 are left out; 0 when none is left.
    """
    shares, moving = 0.0, 0
    for block in action:
        lowest, highest = block.min(axis=0), block.max(axis=0)
        extent = highest - lowest
        kept = extent > _LEAST_RANGE
        margin = _MARGIN * extent
        at_end = (block <= lowest + margin) | (block >= highest - margin)
        shares += float(at_end.mean(axis=0)[kept].sum())
        moving += int(np.count_nonzero(kept))
    return shares / moving if moving else 0.0


def mean_entropy(action: Columns) -> float:
    """Entropy of each dimension's histogram over its range, relative to the largest possible; the mean of all.

    With max(⌈log2 T + 1⌉, 2) equal bins, of which the last has both its ends; 0 for a dimension with a range below
    1e-10. From 0 (repetitive) to 1 (random). After DemInf (Belkhale et al. 2025).
    """
    bins = max(math.ceil(math.log2(action.length) + 1), 2)
    total = 0.0
    for block in action:
        kept = np.ptp(block, axis=0) >= _LEAST_RANGE
        if not kept.any():
            continue
        shares = _histograms(block[:, kept], bins) / action.length
        total -= float((shares * np.log2(shares, where=shares > 0, out=np.zeros_like(shares))).sum())
    return total / math.log2(bins) / action.width


def _histograms(values: Floats, bins: int) -> Floats:
    """Counts (D, bins) of the values (T, D) in equal bins from each column's minimum to its maximum.

    The rule of `numpy.histogram`: a bin has its lower edge, and the edges are those of `linspace`, to the last bit.
    """
    lowest, highest = values.min(axis=0), values.max(axis=0)
    edges = np.linspace(lowest, highest, bins + 1, axis=1)
    lines = np.arange(values.shape[1])
    place = ((values - lowest) / (highest - lowest) * bins).astype(np.intp)
    np.minimum(place, bins - 1, out=place)
    flat = edges.ravel()
    corner = place + lines * (bins + 1)
    place -= values < flat[corner]
    place += (values >= flat[corner + 1]) & (place < bins - 1)
    place += lines * bins
    return np.bincount(place.ravel(), minlength=len(lines) * bins).reshape(len(lines), bins).astype(np.float64)
