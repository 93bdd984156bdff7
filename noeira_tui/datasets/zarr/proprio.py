"""The numbers of a zarr store's episodes: whole chunks of state and action, read once, cut where episodes end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.proprio import Proprio, ProprioPlan, ReadingWishes, Unread, windows
from noeira_tui.datasets.registry import ZARR2_ARRAY, ZARR3
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.zarr.nodes import Nodes, ZarrArray
from noeira_tui.datasets.zarr.present import chunk_keys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_FILES = 100_000
"""More chunks than this are not looked at to find out whether any changed."""
_BLOCK_FRAMES = 16_384


@dataclass(frozen=True)
class ZarrPart:
    """Neighbouring episodes: frames `bounds[i]` to `bounds[i + 1]` are episode `first + i`."""

    generation: int
    state: ZarrArray | None
    action: ZarrArray | None
    first: int
    bounds: tuple[int, ...]

    @property
    def frames(self) -> int:
        return self.bounds[-1] - self.bounds[0]

    def read(self, source: Source) -> Iterator[Proprio | Unread]:
        state, action = (
            None if array is None else _Rolling(source, self.generation, array, self.bounds[-1])
            for array in (self.state, self.action)
        )
        for number, (start, stop) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            try:
                values = [None if rolling is None else rolling.take(start, stop) for rolling in (state, action)]
            except DatasetFileError as err:
                yield Unread(self.first + number, err.message)
                continue
            yield Proprio(self.first + number, values[0], values[1], None, None)


class _Rolling:
    """An array's rows from front to back, some chunks at a time."""

    def __init__(self, source: Source, generation: int, array: ZarrArray, stop: int) -> None:
        self._source = source
        self._generation = generation
        self._array = array
        self._stop = min(stop, array.shape[0])
        self._start = 0
        self._rows: NDArray[np.floating[Any]] | None = None

    def take(self, start: int, stop: int) -> NDArray[np.floating[Any]]:
        """Rows `start` to `stop`, (T, D) in their own floating type or float64. Raises DatasetFileError."""
        import numpy as np

        if stop > self._stop:
            message = f"{self._array.path} ends at frame {self._array.shape[0]:,}, the episode at {stop:,}."
            raise DatasetFileError(message, code="damaged_file", file=self._array.path)
        parts: list[NDArray[np.floating[Any]]] = []
        at = start
        while at < stop or not parts:
            if self._rows is None or not self._start <= at < self._start + len(self._rows):
                self._load(at, stop)
            assert self._rows is not None
            offset = at - self._start
            parts.append(self._rows[offset : offset + stop - at])
            at += len(parts[-1])
            if start == stop:
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _load(self, start: int, needed: int) -> None:
        """Whole chunks from `start` on, at least one, about a block of frames; no more than is needed where a chunk is
        absent, so that only its own episodes suffer."""
        import numpy as np

        from noeira_tui.datasets.zarr.chunks import read_rows

        chunk = self._array.chunks[0]
        end = min(self._stop, -(-(start + _BLOCK_FRAMES) // chunk) * chunk)
        self._rows = None
        values, absent = read_rows(self._source, self._generation, self._array, start, end)
        if absent and needed < end:
            values, absent = read_rows(self._source, self._generation, self._array, start, needed)
        if absent:
            raise DatasetFileError(f"The chunk {absent[0]} is not there.", code="missing_chunk", file=absent[0])
        kept = cast("NDArray[np.floating[Any]]", values if values.dtype.kind == "f" else values.astype(np.float64))
        self._start = start
        self._rows = kept.reshape(len(values), math.prod(values.shape[1:]))


def plan_zarr(
    nodes: Nodes,
    marker: str,
    ends: Sequence[int],
    arrays: tuple[ZarrArray | None, ZarrArray | None, ZarrArray | None],
    wishes: ReadingWishes,
) -> ProprioPlan:
    """How to read a store's episodes; `arrays` are state, action and the episode ends. Nothing is read."""
    state, action, _ = arrays
    starts = (0, *ends)
    good = [
        (number, start, stop) for number, (start, stop) in enumerate(zip(starts, ends, strict=False)) if stop > start
    ]
    bad = tuple(
        Unread(number, f"It is to end at frame {stop:,}, where the one before ends at {start:,}.")
        for number, (start, stop) in enumerate(zip(starts, ends, strict=False))
        if stop <= start
    )
    parts: list[ZarrPart] = []
    for run in _runs(good):
        for some in windows(run, lambda one: one[2] - one[1], wishes.part_frames, len(run)):
            bounds = (some[0][1], *(stop for _, _, stop in some))
            parts.append(ZarrPart(nodes.generation, state, action, some[0][0], bounds))
    return ProprioPlan(tuple(parts), _files(nodes, marker, arrays), len(ends), unread=bad)


def _runs(episodes: Sequence[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Episodes that follow each other without a gap."""
    run: list[tuple[int, int, int]] = []
    for one in episodes:
        if run and (one[0] != run[-1][0] + 1 or one[1] != run[-1][2]):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _files(nodes: Nodes, marker: str, arrays: Sequence[ZarrArray | None]) -> tuple[str, ...]:
    """The metadata and every chunk of some arrays; none when there are too many."""
    files: list[str] = [marker]
    name = ZARR3 if nodes.generation == 3 else ZARR2_ARRAY
    for array in arrays:
        if array is None:
            continue
        prefix = f"{array.path}/" if array.path else ""
        files.append(prefix + name)
        counts = [-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
        if len(files) + math.prod(counts) > _MAX_FILES:
            return ()
        files += [prefix + key for key in chunk_keys(array, nodes.generation)]
    return tuple(files)
