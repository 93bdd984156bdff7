"""The numbers of all episodes, streamed: which parts they are read in, and what each part gives. Never pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from noeira_tui.core.errors import DatasetError
from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.source import PARALLEL, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_FPS = 30.0
PART_FRAMES = 50_000
"""Frames that are read as one part where the dataset allows it."""


@dataclass(frozen=True, eq=False)
class Proprio:
    """One episode's numbers in frame order, in the types they are stored in: `state` (T, S), `action` (T, A),
    `timestamps` (T,) in seconds and `frame_index` (T,), each None where the dataset has none. `problems` are what is
    wrong with the episode as it was found, though it could be read."""

    episode_index: int
    state: NDArray[np.floating[Any]] | None
    action: NDArray[np.floating[Any]] | None
    timestamps: NDArray[np.floating[Any]] | None
    frame_index: NDArray[np.int64] | None
    tasks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Unread:
    """An episode that cannot be read, and why. `episode_index` is None for what is not one episode's fault."""

    episode_index: int | None
    error: str


class ProprioPart(Protocol):
    """Some episodes that are read together, with all that is needed to do so elsewhere: it can be pickled."""

    @property
    def frames(self) -> int:
        """About how many frames it has."""
        ...

    def read(self, source: Source) -> Iterator[Proprio | Unread]:
        """Every episode of the part, one after the other; memory does not grow with their number.

        `source` is the dataset's. Raises NetworkError, CancelledError, and DatasetError for a place that fails whole.
        """
        ...


@dataclass(frozen=True)
class ProprioPlan:
    """How a dataset's episodes are read. `files` are all files that matter to the result, metadata included; when none
    of them changed, nothing has. `current` counts episodes that were left out as files of theirs are `unchanged`."""

    parts: tuple[ProprioPart, ...]
    files: tuple[str, ...]
    episodes: int
    current: int = 0
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class ReadingWishes:
    """What a plan is made for: `unchanged` data files have been read before; parts have about `part_frames` frames."""

    unchanged: frozenset[str] = frozenset()
    part_frames: int = PART_FRAMES


T = TypeVar("T")


def windows(
    items: Sequence[T], weight: Callable[[T], int], limit: int = 2 * PART_FRAMES, count: int = PARALLEL
) -> Iterator[list[T]]:
    """Neighbours together: at most `count`, and no more once they weigh `limit`."""
    window: list[T] = []
    total = 0
    for item in items:
        if window and (len(window) >= count or total + weight(item) > limit):
            yield window
            window, total = [], 0
        window.append(item)
        total += weight(item)
    if window:
        yield window


def unknown_episodes(source: Source) -> DatasetError:
    """The error for a format whose state and action have no agreed names."""
    return DatasetError(
        f"{source.shown} is of a kind whose state and action have no agreed names; it cannot be scored.",
        title="Not a dataset of episodes",
        hint="LeRobot datasets and zarr stores can be.",
    )
