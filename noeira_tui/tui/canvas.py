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
    grid = _Grid.over(times, columns) if len(times) else None
    for number in range(curves.shape[1] if grid is not None else 0):
        assert grid is not None
        mine = grid.dots(curves[:, number], axis, rows)
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


@dataclass(frozen=True)
class _Grid:
    """Which samples fall into which column of dots. `starts` and `ends` are the first sample of each column that has
    any, and the one after its last; `middles` is the time of each column."""

    times: NDArray[np.float64]
    middles: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def over(cls, times: NDArray[np.float64], columns: int) -> _Grid:
        import numpy as np

        begin, end = float(times[0]), float(times[-1])
        column = np.rint((times - begin) / ((end - begin) or 1.0) * (columns - 1)).astype(np.int64)
        starts = np.append(0, np.flatnonzero(np.diff(column)) + 1)
        ends = np.append(starts[1:], len(times))
        return cls(times, np.linspace(begin, end, columns), column[starts], starts, ends)

    def dots(self, values: NDArray[np.float64], axis: Axis, rows: int) -> NDArray[np.bool_]:
        """The dots of one curve, shape (rows, columns), the first row on top."""
        import numpy as np

        def row_of(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            places = np.rint((axis.high - numbers) / (axis.high - axis.low) * (rows - 1))
            return np.where(np.isfinite(numbers), places.clip(0, rows - 1), np.nan)

        with np.errstate(invalid="ignore", over="ignore"):
            # Between two samples the curve is a line: looked up once a column, it has no holes.
            between = row_of(np.interp(self.middles, self.times, values))
            exact = row_of(values)
        top, bottom, last = between.copy(), between.copy(), between.copy()
        top[self.columns] = np.fmin(top[self.columns], np.fmin.reduceat(exact, self.starts))
        bottom[self.columns] = np.fmax(bottom[self.columns], np.fmax.reduceat(exact, self.starts))
        last[self.columns] = exact[self.ends - 1]
        # Each column goes on where the one before it ended, and begins a dot beside it.
        before = last[:-1]
        top[1:] = np.where(before < top[1:], before + 1, top[1:])
        bottom[1:] = np.where(before > bottom[1:], before - 1, bottom[1:])
        numbers = np.arange(rows)[:, None]
        shown: NDArray[np.bool_] = (numbers >= top) & (numbers <= bottom)
        return shown


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
