"""Pictures as sixels, the graphics of the VT340: six rows of one colour at a time."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEVELS = 6
"""Steps of each of red, green and blue: 216 colours, as every terminal with sixels has 256."""

_BAYER = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))
"""Thresholds of ordered dithering (Bayer 1973), in sixteenths."""

_RUN = 4
"""Shorter runs are written out."""


def encoded(pixels: NDArray[np.uint8]) -> str:
    """The escape code that draws pixels of shape (rows, columns, 3) where the cursor is."""
    import numpy as np

    height, width, _ = pixels.shape
    threshold = (np.array(_BAYER) + 0.5) / 16 - 0.5
    tiled = np.tile(threshold, (height // 4 + 1, width // 4 + 1))[:height, :width, None]
    steps = np.clip(np.rint(pixels / 255 * (_LEVELS - 1) + tiled), 0, _LEVELS - 1).astype(np.int64)
    numbers = (steps[..., 0] * _LEVELS + steps[..., 1]) * _LEVELS + steps[..., 2]
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for number in np.unique(numbers).tolist():
        red, green, blue = number // _LEVELS**2, number // _LEVELS % _LEVELS, number % _LEVELS
        parts.append(f"#{number};2;{red * 20};{green * 20};{blue * 20}")
    for top in range(0, height, 6):
        band = numbers[top : top + 6]
        weights = (1 << np.arange(len(band)))[:, None]
        rows = [f"#{number}{_runs(((band == number) * weights).sum(axis=0))}" for number in np.unique(band).tolist()]
        parts.append("$".join(rows) + "-")
    return "".join(parts) + "\x1b\\"


def _runs(bits: NDArray[np.int64]) -> str:
    """The sixels of one colour in one band, equal ones counted; nothing after the last one that is set."""
    import numpy as np

    ends = np.append(np.flatnonzero(np.diff(bits)) + 1, len(bits))
    values = bits[ends - 1].tolist()
    parts: list[str] = []
    at = 0
    for end, value in zip(ends.tolist(), values, strict=True):
        count, character = end - at, chr(63 + value)
        if not (end == len(bits) and value == 0):
            parts.append(f"!{count}{character}" if count >= _RUN else character * count)
        at = end
    return "".join(parts)


def cell_pixels() -> tuple[int, int] | None:
    """Width and height of the terminal's cells in pixels; None where it does not tell."""
    try:
        import fcntl
        import termios

        answer = fcntl.ioctl(sys.__stderr__ or 2, termios.TIOCGWINSZ, b"\0" * 8)
    except (ImportError, OSError, ValueError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", answer)
    if not rows or not columns or width < columns or height < rows:
        return None
    return width // columns, height // rows
