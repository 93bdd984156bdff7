"""What frequencies a motion and its commands are made of."""

from __future__ import annotations

import math

import numpy as np

from noeira_tui.episodes.channels import Channels, Floats

_LEAST_FRAMES = 4
_STILL = 1e-12
_PADDING = 4
_HIGHEST_HZ = 10.0
_AUDIBLE = 0.05
_BAND_HZ = 8.0
_NO_POWER = 1e-12


def sparc(speed: Floats, dt: float) -> float | None:
    """Spectral arc length of a speed profile (T,), `dt` seconds apart; without unit, more negative is jerkier.

    Minus the arc length of the magnitude spectrum (real FFT, zero-padded to 2^(⌈log2 T⌉+4), normalised to its maximum)
    up to a cut: 10 Hz, or the highest of all frequencies with an amplitude of at least 0.05 if that is lower; the
    frequency axis is divided by the cut. None for fewer than 4 frames, no time, no motion (peak speed < 1e-12), or when
    no two frequencies are below the cut. Balasubramanian, Melendez-Calderon & Burdet 2012; Balasubramanian et al. 2015.
    """
    if len(speed) < _LEAST_FRAMES or not dt > 0 or float(speed.max()) < _STILL:
        return None
    size = 1 << (math.ceil(math.log2(len(speed))) + _PADDING)
    spacing = 1.0 / (size * dt)
    amplitude = np.abs(np.fft.rfft(speed, size))
    amplitude /= amplitude.max()
    audible = np.flatnonzero(amplitude >= _AUDIBLE)
    if not len(audible) or not 0 < spacing < math.inf:
        return None
    cut = min(float(audible[-1]) * spacing, _HIGHEST_HZ)
    last = min(int(cut / spacing) + 1, len(amplitude) - 1)
    while last * spacing > cut:
        last -= 1
    if last < 1:
        return None
    length = np.diff(amplitude[: last + 1])
    length *= length
    length += (spacing / cut) ** 2
    return -float(np.sqrt(length, out=length).sum())


def psd_high_fraction(action: Channels, fps: float) -> float | None:
    """Mean over dimensions of the share of the demeaned action's power strictly above 8 Hz, from 0 to 1.

    Power is the squared magnitude of the real FFT at `fps`; a dimension without power (up to 1e-12: rounding) counts 0.
    None for fewer than 4 frames, or when half of `fps` is not above 8 Hz.
    """
    if action.length < _LEAST_FRAMES or fps / 2.0 <= _BAND_HZ:
        return None
    high = np.fft.rfftfreq(action.length, 1.0 / fps) > _BAND_HZ
    first = int(np.argmax(high)) if high.any() else len(high)
    shares = 0.0
    for block in action:
        spectrum = np.fft.rfft(block - block.mean(axis=1, keepdims=True), axis=1)
        power = np.square(spectrum.real)
        power += np.square(spectrum.imag)
        total = power.sum(axis=1)
        loud = total > _NO_POWER
        shares += float((power[:, first:].sum(axis=1)[loud] / total[loud]).sum())
    return shares / action.width
