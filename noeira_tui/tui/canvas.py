"""Curves as characters: braille dots where the terminal has them, two dots a cell in a C locale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BRAILLE = 0x2800
_BRAILLE_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille cell, by row and column (Unicode 16, chapter 21.1)."""

_TWO_DOTS = (" ", "'", ".", ":")
"""The same for a cell of one column and two rows."""


@dataclass(frozen=True)
class Axis:
    """The numbers at the ends of an axis."""

    low: float
    high: float

    def place(self, share: float) -> float:
        """The number at a share of the way from `low` to `high`; what is next to nothing beside them is zero."""
        number = self.low + (self.high - self.low) * share
        return 0.0 if abs(number) < 1e-4 * (self.high - self.low) else number


@dataclass(frozen=True)
class Cells:
    """A drawn canvas: one text a row, and for each cell the number of the curve that was drawn there, -1 for none."""

    rows: tuple[str, ...]
    owners: tuple[tuple[int, ...], ...]


def value_axis(values: NDArray[np.float64]) -> Axis | None:
    """The axis that shows all finite values with a little room; None when there is none."""
    import numpy as np

    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-12 * max(1.0, abs(high)):
        room = abs(high) * 0.1 or 1.0
        return Axis(low - room, high + room)
    return Axis(low, high)


def draw(
    times: NDArray[np.float64],
    curves: NDArray[np.float64],
    axis: Axis,
    width: int,
    height: int,
    *,
    is_ascii: bool = False,
) -> Cells:
    """Draw curves of shape (T, D) over `times` of shape (T,), which do not fall, in `width` by `height` cells.

    Every column of dots shows all values that fall into it, from the least to the greatest, and joins the column
    before it; what is not finite leaves a gap.
    """
    import numpy as np

    across, down = (1, 2) if is_ascii else (2, 4)
    columns, rows = width * across, height * down
    owners = np.full((height, width), -1)
    dots = np.zeros((rows, columns), bool)
    for number in range(curves.shape[1]):
        mine = _dots_of(times, curves[:, number], axis, columns, rows)
        dots |= mine
        owners[mine.reshape(height, down, width, across).any(axis=(1, 3))] = number
    cells = dots.reshape(height, down, width, across)
    if is_ascii:
        bits = cells[:, 0, :, 0] + 2 * cells[:, 1, :, 0]
        texts = ["".join(_TWO_DOTS[bit] for bit in row) for row in bits]
    else:
        weights = np.array(_BRAILLE_DOTS)[None, :, None, :]
        bits = (cells * weights).sum(axis=(1, 3))
        texts = ["".join(chr(_BRAILLE + bit) if bit else " " for bit in row) for row in bits.tolist()]
    return Cells(tuple(texts), tuple(tuple(row) for row in owners.tolist()))


def _dots_of(
    times: NDArray[np.float64], values: NDArray[np.float64], axis: Axis, columns: int, rows: int
) -> NDArray[np.bool_]:
    """The dots of one curve, shape (rows, columns), the first row on top."""
    import numpy as np

    dots = np.zeros((rows, columns), bool)
    if not len(times):
        return dots
    begin, end = float(times[0]), float(times[-1])
    # Between two samples the curve is a line: sampled once a column, it has no holes.
    between = np.linspace(begin, end, columns)
    where = np.concatenate([times, between])
    what = np.concatenate([values, np.interp(between, times, values)])
    order = np.argsort(where, kind="stable")
    where, what = where[order], what[order]
    good = np.isfinite(what)
    where, what = where[good], what[good]
    if not len(what):
        return dots
    column = np.rint((where - begin) / ((end - begin) or 1.0) * (columns - 1)).astype(int)
    row = np.rint((axis.high - what) / (axis.high - axis.low) * (rows - 1)).clip(0, rows - 1).astype(int)
    top, bottom = np.full(columns, rows), np.full(columns, -1)
    np.minimum.at(top, column, row)
    np.maximum.at(bottom, column, row)
    last = np.full(columns, -1)
    last[column] = row  # the last one of a column wins
    joined = (last[:-1] >= 0) & (bottom[1:] >= 0)
    top[1:][joined] = np.minimum(top[1:], last[:-1] + (last[:-1] < top[1:]))[joined]
    bottom[1:][joined] = np.maximum(bottom[1:], last[:-1] - (last[:-1] > bottom[1:]))[joined]
    numbers = np.arange(rows)[:, None]
    dots[:] = (numbers >= top) & (numbers <= bottom)
    return dots


def rising(times: NDArray[np.float64]) -> bool:
    """Whether times can be an axis: finite, never falling, and not all alike."""
    import numpy as np

    return bool(len(times) and np.isfinite(times).all() and (np.diff(times) >= 0).all() and times[-1] > times[0])


def number_text(value: float, width: int = 7) -> str:
    """A number of an axis or a legend in at most `width` characters."""
    if value != value or value in {float("inf"), float("-inf")}:
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(value)]
    for digits in range(4, 0, -1):
        text = f"{value:.{digits}g}"
        if len(text) <= width:
            return "0" if text in {"-0", "0"} else text
    return f"{value:.0e}"
