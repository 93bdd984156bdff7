"""How something moved: jerk, the length of its path, the speed that a spectrum is taken of, the beat of its clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noeira_tui.episodes.channels import Channels, Floats

_LEAST_FRAMES = 4
_STILL = 1e-10
_FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class Motion:
    """What one pass over positions of T frames, `dt` seconds apart, tells.

    `speed` (T,) is the norm of the velocity a frame, in units/s; `squared_jerk` the sum over all frames and dimensions
    of the squared third derivative, in units²/s⁶; `path_length` Σ‖step‖, in units. Derivatives are central differences,
    one-sided at both ends.
    """

    dt: float
    speed: Floats
    squared_jerk: float
    path_length: float


def motion(positions: Channels, dt: float) -> Motion:
    """Derive positions of at least 2 frames three times."""
    squared_speed = np.zeros(positions.length)
    squared_steps = np.zeros(positions.length - 1)
    squared_jerk = 0.0
    for block in positions:
        step = block[:, 1:] - block[:, :-1]
        squared_steps += np.add.reduce(np.square(step, out=step), axis=0)
        velocity = _derived(block, dt)
        jerk = _derived(_derived(velocity, dt), dt)
        squared_speed += np.add.reduce(np.square(velocity, out=velocity), axis=0)
        squared_jerk += float(np.square(jerk, out=jerk).sum())
    path = float(np.sqrt(squared_steps, out=squared_steps).sum())
    return Motion(dt, np.sqrt(squared_speed, out=squared_speed), squared_jerk, path)


def _derived(values: Floats, dt: float) -> Floats:
    """The derivative along the frames (d, T), by the arithmetic of `numpy.gradient`, which is several times slower."""
    slope = np.empty_like(values)
    inner = slope[:, 1:-1]
    np.subtract(values[:, 2:], values[:, :-2], out=inner)
    inner /= 2.0 * dt
    slope[:, 0] = (values[:, 1] - values[:, 0]) / dt
    slope[:, -1] = (values[:, -1] - values[:, -2]) / dt
    return slope


def ldlj(moved: Motion) -> float | None:
    """Log dimensionless jerk, without unit: −ln(T³ / v_peak² · Σ‖jerk‖² dt), T = (frames − 1) dt; lower is jerkier.

    The argument is floored at 1e-10. None for fewer than 4 frames, no time, or no motion (v_peak < 1e-10).
    Hogan & Sternad 2009, "Sensitivity of smoothness measures to movement duration, amplitude, and arrests".
    """
    if len(moved.speed) < _LEAST_FRAMES or not moved.dt > 0:
        return None
    total = (len(moved.speed) - 1) * moved.dt
    peak = float(moved.speed.max())
    if peak < _STILL or total < _STILL:
        return None
    # Products, since powers of Python's numbers raise where products overflow to infinity.
    return -math.log(max(total * total * total / (peak * peak) * (moved.squared_jerk * moved.dt), _FLOOR))


def mean_step(timestamps: Floats | None, fps: float) -> float:
    """Seconds between frames: the mean of the timestamps' steps, else (none, or not all of them numbers) 1/fps."""
    if timestamps is not None and len(timestamps) > 1:
        step = float(np.diff(timestamps).mean())
        if math.isfinite(step):
            return step
    return 1.0 / fps


def jitter_ratio(timestamps: Floats) -> float | None:
    """Standard deviation of the timestamps' steps over their mean, which counts as 1e-10 at least; without unit."""
    if len(timestamps) < 2:
        return None
    steps = np.diff(timestamps)
    mean = float(steps.mean())
    steps -= mean
    return math.sqrt(float(np.square(steps, out=steps).mean())) / max(mean, 1e-10)
