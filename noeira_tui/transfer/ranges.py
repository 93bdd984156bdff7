"""Byte ranges of one file: which are written, which are missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Range = tuple[int, int]
"""First byte and end, end excluded."""


class Ranges:
    """A set of byte ranges, kept in order and merged. Not locked."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._ranges: list[Range] = []
        for first, end in ranges:
            self.add(first, end)

    def add(self, first: int, end: int) -> None:
        """Put a range in; an empty or negative one is left out."""
        if first < 0 or end <= first:
            return
        at = bisect_right(self._ranges, (first, end))
        low = at - 1 if at and self._ranges[at - 1][1] >= first else at
        high = at
        while high < len(self._ranges) and self._ranges[high][0] <= end:
            high += 1
        merged = self._ranges[low:high]
        if merged:
            first, end = min(first, merged[0][0]), max(end, *(one[1] for one in merged))
        self._ranges[low:high] = [(first, end)]

    @property
    def front(self) -> int:
        """How far the file is there without a gap from its beginning."""
        return self._ranges[0][1] if self._ranges and self._ranges[0][0] == 0 else 0

    @property
    def total(self) -> int:
        """Bytes in all ranges together."""
        return sum(end - first for first, end in self._ranges)

    def gaps(self, size: int) -> list[Range]:
        """What is missing of the first `size` bytes, in order."""
        missing: list[Range] = []
        at = 0
        for first, end in self._ranges:
            if first >= size:
                break
            if first > at:
                missing.append((at, first))
            at = end
        if at < size:
            missing.append((at, size))
        return missing

    def below(self, size: int) -> tuple[Range, ...]:
        """The ranges, cut off at `size`."""
        return tuple((first, min(end, size)) for first, end in self._ranges if first < size)

    def frozen(self) -> tuple[Range, ...]:
        return tuple(self._ranges)
