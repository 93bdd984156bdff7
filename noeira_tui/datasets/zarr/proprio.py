"""The numbers of a zarr store's episodes: whole chunks of state and action, read once, cut where episodes end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.proprio import Proprio, ProprioPlan, ReadingWishes, Unread, windows
from noeira_tui.datasets.registry import ZARR2_ARRAY, ZARR3
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.zarr.nodes import Nodes, ZarrArray
from noeira_tui.datasets.zarr.present import chunk_keys, first_of

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
        rolling = [
            None if array is None else _Rolling(source, self.generation, array, self.bounds[-1])
            for array in (self.state, self.action)
        ]
        for number, (start, stop) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            try:
                values = [None if one is None else one.take(start, stop) for one in rolling]
                problems = _left_out([one for one in rolling if one is not None], start, stop)
            except DatasetFileError as err:
                yield Unread(self.first + number, err.message)
                continue
            yield Proprio(self.first + number, values[0], values[1], None, None, problems=problems)


def _left_out(rolling: Sequence[_Rolling], start: int, stop: int) -> tuple[Problem, ...]:
    """What is to be said about chunks that are not in the store. zarr leaves out those that hold the fill value only,
    so they are data; one that was lost looks the same.

    Raises DatasetFileError (`missing_chunk`) where they cannot be data.
    """
    absent = [(one.array, one.absent(start, stop)) for one in rolling]
    told = [(array, keys[0], len(keys)) for array, keys in absent if keys]
    if not told:
        return ()
    array, key, _ = told[0]
    if all(len(keys) == one.count(start, stop) for one, (_, keys) in zip(rolling, absent, strict=True)):
        raise DatasetFileError(f"None of its chunks is in the store ({key}, …).", code="missing_chunk", file=key)
    undefined = next(((one, name) for one, name, _ in told if one.metadata.get("fill_value") is None), None)
    if undefined is not None:
        name = undefined[1]
        message = f"The chunk {name} is not there, and no fill value stands for it."
        raise DatasetFileError(message, code="missing_chunk", file=name)
    more = sum(count for *_, count in told) - 1
    message = (
        f"The chunk {key}{f' and {more:,} more are' if more else ' is'} not in the store: zarr leaves out what is "
        f"all fill value ({array.metadata['fill_value']}), and that was scored; if it was lost, the score is wrong"
    )
    return (Problem("missing_chunk", key, array.path, message),)


class _Rolling:
    """An array's rows from front to back, some chunks at a time."""

    def __init__(self, source: Source, generation: int, array: ZarrArray, stop: int) -> None:
        self._source = source
        self._generation = generation
        self.array = array
        self._stop = min(stop, array.shape[0])
        self._start = 0
        self._rows: NDArray[np.floating[Any]] | None = None
        self._absent: dict[str, int] = {}

    def take(self, start: int, stop: int) -> NDArray[np.floating[Any]]:
        """Rows `start` to `stop`, (T, D) in their own floating type or float64. Raises DatasetFileError."""
        import numpy as np

        if stop > self._stop:
            message = f"{self.array.path} ends at frame {self.array.shape[0]:,}, the episode at {stop:,}."
            raise DatasetFileError(message, code="damaged_file", file=self.array.path)
        parts: list[NDArray[np.floating[Any]]] = []
        at = start
        while at < stop or not parts:
            if self._rows is None or not self._start <= at < self._start + len(self._rows):
                self._load(at)
            assert self._rows is not None
            offset = at - self._start
            parts.append(self._rows[offset : offset + stop - at])
            at += len(parts[-1])
            if start == stop:
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def absent(self, start: int, stop: int) -> list[str]:
        """The chunks of rows `start` to `stop`, taken before, that are not in the store."""
        size = self.array.chunks[0]
        kept = {key: at for key, at in self._absent.items() if (at + 1) * size > start}
        # What lies behind is done with: an hour of absent chunks needs no memory.
        self._absent = kept
        return [key for key, at in kept.items() if at * size < stop]

    def count(self, start: int, stop: int) -> int:
        """How many chunks rows `start` to `stop` are in."""
        size, *others = self.array.chunks
        across = math.prod(-(-length // chunk) for length, chunk in zip(self.array.shape[1:], others, strict=True))
        return ((stop - 1) // size - start // size + 1) * across

    def _load(self, start: int) -> None:
        """Whole chunks from `start` on, at least one, about a block of frames."""
        import numpy as np

        from noeira_tui.datasets.zarr.chunks import read_rows

        chunk = self.array.chunks[0]
        end = min(self._stop, -(-(start + _BLOCK_FRAMES) // chunk) * chunk)
        self._rows = None
        values, absent = read_rows(self._source, self._generation, self.array, start, end)
        self._absent |= {key: first_of(self.array, self._generation, key) for key in absent}
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
