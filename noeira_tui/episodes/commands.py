"""What the actions alone tell: dead, static, saturated or repetitive commands, a gripper that chatters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.channels import Channels, Floats

_DEAD = 1e-6
_UNMOVED = 1e-6
_LEAST_RANGE = 1e-10
_MARGIN = 0.05
_PERCENTILE = 0.95
_STATIC_SHARE = 0.01
_STATIC_NORM = 1e-6
_SHORTEST_S = 1e-6


def dead_fraction(action: Channels) -> float:
    """Share of frames whose action is all within 1e-6 of 0, or all within 1e-6 of the first frame's action.

    After OpenVLA (Kim et al. 2024), which drops such frames.
    """
    zero = np.ones(action.length, bool)
    same = np.ones(action.length, bool)
    for block in action:
        zero &= np.abs(block).max(axis=0) < _DEAD
        away = block - block[:, :1]
        same &= np.abs(away, out=away).max(axis=0) < _DEAD
    return int(np.count_nonzero(zero | same)) / action.length


def gripper_chatter_rate(action: Channels, dt: float) -> float | None:
    """Crossings of the mid-range of the last dimension, per second of (T−1)dt (1e-6 s at least).

    0 when that dimension's range is below 1e-6; None when there is one dimension only. Sakr et al. 2024.
    """
    if action.width < 2:
        return None
    lowest, highest = (float(ends[-1]) for ends in action.ends)
    if highest - lowest < _UNMOVED:
        return 0.0
    closed = action.last() > (lowest + highest) / 2.0
    crossings = int(np.count_nonzero(closed[1:] != closed[:-1]))
    return crossings / max((action.length - 1) * dt, _SHORTEST_S)


def static_fraction(action: Channels) -> float:
    """Share of frames whose action norm is below 1 % of the 95th percentile of the norms.

    Below 1e-6 instead, where that percentile is at most 1e-10. After SCIZOR (Liu et al. 2025).
    """
    norms = np.sqrt(action.squared_norms)
    most = _quantile(norms, _PERCENTILE)
    limit = _STATIC_SHARE * most if most > _LEAST_RANGE else _STATIC_NORM
    return int(np.count_nonzero(norms < limit)) / action.length


def _quantile(values: Floats, share: float) -> float:
    """The linearly interpolated quantile, by the arithmetic of `numpy.quantile`."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    parted = np.partition(values, (below, above))
    low, high, along = float(parted[below]), float(parted[above]), place - below
    return high - (high - low) * (1.0 - along) if along >= 0.5 else low + (high - low) * along


def overall_saturation(action: Channels) -> float | None:
    """Share of frames within 5 % of the range from a dimension's own minimum or maximum: the mean over dimensions.

    Dimensions with a range of at most 1e-10 are left out; 0 when none is left. None when a range overflows.
    """
    if not _measurable(action):
        return None
    at_ends, moving = 0, 0
    for block, lowest, highest in action.ranged():
        extent = highest - lowest
        kept = extent > _LEAST_RANGE
        margin = _MARGIN * extent
        near = block <= (lowest + margin)[:, None]
        near |= block >= (highest - margin)[:, None]
        at_ends += int(np.count_nonzero(near[kept]))
        moving += int(np.count_nonzero(kept))
    return at_ends / action.length / moving if moving else 0.0


def mean_entropy(action: Channels) -> float | None:
    """Entropy of each dimension's histogram over its range, relative to the largest possible; the mean of all.

    With max(⌈log2 T + 1⌉, 2) equal bins, of which the last has both its ends; 0 for a dimension with a range below
    1e-10. From 0 (repetitive) to 1 (random); None when a range overflows. After DemInf (Belkhale et al. 2025).
    """
    if not _measurable(action):
        return None
    bins = max(math.ceil(math.log2(action.length) + 1), 2)
    total = 0.0
    for block, lowest, highest in action.ranged():
        kept = highest - lowest >= _LEAST_RANGE
        if not kept.all():
            block, lowest, highest = block[kept], lowest[kept], highest[kept]
        if len(block):
            shares = _histograms(block, lowest, highest, bins) / action.length
            shares = shares[shares > 0]
            total -= float((shares * np.log2(shares)).sum())
    return total / math.log2(bins) / action.width


def _measurable(action: Channels) -> bool:
    """Whether the range of every dimension is a number."""
    lowest, highest = action.ends
    return math.isfinite((highest - lowest).sum())


def _histograms(values: Floats, lowest: Floats, highest: Floats, bins: int) -> NDArray[np.intp]:
    """Counts of the values (d, T) in equal bins from each row's minimum to its maximum, (d · bins,), row after row.

    The rule of `numpy.histogram`: a bin has its lower edge, and the edges are those of `linspace`, to the last bit.
    """
    extent = highest - lowest
    edges = np.empty((len(values), bins + 1))
    np.multiply(np.arange(bins + 1), (extent / bins)[:, None], out=edges)
    edges += lowest[:, None]
    edges[:, -1] = highest
    place = values - lowest[:, None]
    place /= extent[:, None]
    place *= bins
    found = place.astype(np.intp)
    np.minimum(found, bins - 1, out=found)
    first = np.arange(len(values))[:, None]
    # Rounding can put a value next to an edge on its wrong side; its bin's own edges decide.
    found += first * (bins + 1)
    flat = edges.ravel()
    early = values < flat.take(found)
    late = values >= flat.take(found + 1)
    found -= first
    if early.any():
        found -= early
    late &= found < (first + 1) * bins - 1
    if late.any():
        found += late
    return np.bincount(found.ravel(), minlength=len(values) * bins)
