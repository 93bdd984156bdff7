"""A file object over ranges: what was fetched ahead is served from memory, the rest is fetched when it is asked for."""

from __future__ import annotations

import bisect
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from noeira_tui.datasets.source import Source
from noeira_tui.datasets.store import Piece

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Range = tuple[int, int]


class RangeFile(io.RawIOBase):
    """A seekable, readable file of a known size. `read_ahead` is the least that one miss fetches.

    `source` may be changed between reads, for another piece of work with its own cancel.
    """

    def __init__(self, source: Source, path: str, size: int, *, read_ahead: int = 0) -> None:
        super().__init__()
        self.source = source
        self._path = path
        self._size = size
        self._read_ahead = read_ahead
        self._at = 0
        self._starts: list[int] = []
        self._parts: list[bytes] = []

    def keep(self, piece: Piece) -> None:
        """Remember bytes that were read already."""
        if piece.data:
            at = bisect.bisect_left(self._starts, piece.start)
            self._starts.insert(at, piece.start)
            self._parts.insert(at, piece.data)

    def fetch(self, ranges: Iterable[Range], waste: float) -> None:
        """Fetch what is missing of some ranges, several at a time; bridged gaps are at most `waste` of their bytes."""
        missing = [part for wanted in ranges for part in self._missing(*wanted)]
        joined = join_ranges(missing, waste)
        for (start, _), data in zip(
            joined, self.source.each(lambda part: self.source.part(self._path, *part), joined), strict=True
        ):
            self.keep(Piece(data, start, None))

    def forget(self) -> None:
        """Drop what was fetched."""
        self._starts.clear()
        self._parts.clear()

    def _missing(self, start: int, stop: int) -> list[Range]:
        gaps: list[Range] = []
        while start < stop:
            part = self._part_at(start)
            if part is not None:
                start = part[0] + len(part[1])
                continue
            following = bisect.bisect_right(self._starts, start)
            end = min(stop, self._starts[following]) if following < len(self._starts) else stop
            gaps.append((start, end))
            start = end
        return gaps

    def _part_at(self, offset: int) -> tuple[int, bytes] | None:
        """The remembered part that reaches furthest beyond an offset; parts may overlap."""
        at = bisect.bisect_right(self._starts, offset) - 1
        while at >= 0:
            if self._starts[at] + len(self._parts[at]) > offset:
                return self._starts[at], self._parts[at]
            at -= 1
        return None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        stop = self._size if size is None or size < 0 else min(self._size, self._at + size)
        start = self._at
        if stop <= start:
            return b""
        gaps = self._missing(start, stop)
        if gaps:
            last = gaps[-1]
            gaps[-1] = (last[0], min(self._size, max(last[1], last[0] + self._read_ahead)))
            self.fetch(gaps, 0.0)
        out: list[bytes] = []
        while start < stop:
            part = self._part_at(start)
            assert part is not None, "what was missing has just been fetched"
            chunk = part[1][start - part[0] : stop - part[0]]
            out.append(chunk)
            start += len(chunk)
        self._at = stop
        return out[0] if len(out) == 1 else b"".join(out)

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return self.read(-1)


def join_ranges(ranges: Sequence[Range], waste: float) -> list[Range]:
    """Ranges sorted and joined: touching ones always, the smallest gaps next, while all bridged gaps together are at
    most `waste` of the bytes wanted."""
    merged: list[Range] = []
    for start, stop in sorted(part for part in ranges if part[1] > part[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    budget = waste * sum(stop - start for start, stop in merged)
    gaps = sorted((merged[i + 1][0] - merged[i][1], i) for i in range(len(merged) - 1))
    bridged: set[int] = set()
    for gap, at in gaps:
        if gap > budget:
            break
        budget -= gap
        bridged.add(at)
    joined: list[Range] = []
    for number, part in enumerate(merged):
        if joined and number - 1 in bridged:
            joined[-1] = (joined[-1][0], part[1])
        else:
            joined.append(part)
    return joined
