"""The metrics written down as they are defined: plain Python, loops, no arrays. What the package's are held against."""

from __future__ import annotations

import cmath
import itertools
import math

Rows = list[list[float]]


def column(rows: Rows, number: int) -> list[float]:
    return [row[number] for row in rows]


def norm(row: list[float]) -> float:
    return math.sqrt(sum(value * value for value in row))


def derived(rows: Rows, dt: float) -> Rows:
    """Central differences, one-sided at the ends."""
    last = len(rows) - 1
    spans = [(max(at - 1, 0), min(at + 1, last)) for at in range(len(rows))]
    return [[(rows[b][d] - rows[a][d]) / ((b - a) * dt) for d in range(len(rows[0]))] for a, b in spans]


def dead_fraction(action: Rows) -> float:
    dead = [
        all(abs(value) < 1e-6 for value in row)
        or all(abs(value - first) < 1e-6 for value, first in zip(row, action[0], strict=True))
        for row in action
    ]
    return sum(dead) / len(dead)


def ldlj(positions: Rows, dt: float) -> float | None:
    if len(positions) < 4 or dt <= 0:
        return None
    velocity = derived(positions, dt)
    jerk = derived(derived(velocity, dt), dt)
    peak = max(norm(row) for row in velocity)
    total = (len(positions) - 1) * dt
    if peak < 1e-10 or total < 1e-10:
        return None
    return -math.log(max(total**3 / peak**2 * sum(norm(row) ** 2 for row in jerk) * dt, 1e-10))


def spectrum(values: list[float], size: int) -> list[float]:
    """Magnitudes of the discrete Fourier transform of values padded with zeros, for the frequencies 0 to size/2."""
    turn = [cmath.exp(-2j * math.pi * step / size) for step in range(size)]
    return [
        abs(sum(value * turn[frequency * at % size] for at, value in enumerate(values)))
        for frequency in range(size // 2 + 1)
    ]


def sparc(positions: Rows, dt: float) -> float | None:
    if len(positions) < 4 or dt <= 0:
        return None
    speed = [norm(row) for row in derived(positions, dt)]
    if max(speed) < 1e-12:
        return None
    size = 2 ** (math.ceil(math.log2(len(speed))) + 4)
    amplitude = spectrum(speed, size)
    highest = max(amplitude)
    amplitude = [value / highest for value in amplitude]
    frequency = [number / (size * dt) for number in range(len(amplitude))]
    cut = min(10.0, max(f for f, a in zip(frequency, amplitude, strict=True) if a >= 0.05))
    kept = [(f / cut, a) for f, a in zip(frequency, amplitude, strict=True) if f <= cut]
    if len(kept) < 2:
        return None
    return -sum(math.hypot(f2 - f1, a2 - a1) for (f1, a1), (f2, a2) in itertools.pairwise(kept))


def gripper_chatter_rate(action: Rows, dt: float) -> float | None:
    if len(action[0]) < 2:
        return None
    gripper = column(action, -1)
    if max(gripper) - min(gripper) < 1e-6:
        return 0.0
    middle = (min(gripper) + max(gripper)) / 2
    crossings = sum((a > middle) != (b > middle) for a, b in itertools.pairwise(gripper))
    return crossings / max((len(action) - 1) * dt, 1e-6)


def joint_path_length(state: Rows) -> float:
    return sum(math.dist(a, b) for a, b in itertools.pairwise(state))


def overall_saturation(action: Rows) -> float:
    shares = []
    for number in range(len(action[0])):
        values = column(action, number)
        lowest, highest = min(values), max(values)
        if highest - lowest > 1e-10:
            margin = 0.05 * (highest - lowest)
            shares.append(sum(v <= lowest + margin or v >= highest - margin for v in values) / len(values))
    return sum(shares) / len(shares) if shares else 0.0


def static_fraction(action: Rows) -> float:
    norms = [norm(row) for row in action]
    ranked = sorted(norms)
    place = 0.95 * (len(ranked) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ranked) - 1)
    percentile = ranked[below] + (ranked[above] - ranked[below]) * (place - below)
    limit = 0.01 * percentile if percentile > 1e-10 else 1e-6
    return sum(value < limit for value in norms) / len(norms)


def mean_entropy(action: Rows) -> float:
    bins = max(math.ceil(math.log2(len(action)) + 1), 2)
    found = []
    for number in range(len(action[0])):
        values = column(action, number)
        lowest, highest = min(values), max(values)
        counts = [0] * bins
        if highest - lowest >= 1e-10:
            for value in values:
                counts[min(math.floor((value - lowest) / (highest - lowest) * bins), bins - 1)] += 1
        shares = [count / len(values) for count in counts if count]
        found.append(-sum(share * math.log2(share) for share in shares) / math.log2(bins))
    return sum(found) / len(found)


def psd_high_fraction(action: Rows, fps: float) -> float | None:
    if len(action) < 4 or fps / 2 <= 8:
        return None
    shares = []
    for number in range(len(action[0])):
        values = column(action, number)
        mean = math.fsum(values) / len(values)
        power = [magnitude**2 for magnitude in spectrum([value - mean for value in values], len(values))]
        high = sum(p for at, p in enumerate(power) if at * fps / len(values) > 8)
        shares.append(high / sum(power) if sum(power) > 1e-12 else 0.0)
    return sum(shares) / len(shares)


def nearest(state: Rows, count: int = 5) -> list[list[int]]:
    """The nearest other frames of each, of equally near ones the earlier."""
    return [
        sorted(
            (other for other in range(len(state)) if other != frame),
            key=lambda other: (sum((a - b) ** 2 for a, b in zip(mine, state[other], strict=True)), other),
        )[:count]
        for frame, mine in enumerate(state)
    ]


def state_action_consistency(state: Rows, action: Rows) -> float | None:
    if len(state) < 7:
        return None
    variances = []
    for others in nearest(state):
        for number in range(len(action[0])):
            values = [action[other][number] for other in others]
            mean = sum(values) / len(values)
            variances.append(sum((value - mean) ** 2 for value in values) / len(values))
    return sum(variances) / len(variances)


def jitter_ratio(timestamps: list[float]) -> float:
    steps = [b - a for a, b in itertools.pairwise(timestamps)]
    mean = sum(steps) / len(steps)
    deviation = math.sqrt(sum((step - mean) ** 2 for step in steps) / len(steps))
    return deviation / max(mean, 1e-10)
