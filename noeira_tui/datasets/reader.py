"""What every format answers about a dataset; one reader looks at one dataset."""

from __future__ import annotations

from typing import Protocol

from noeira_tui.datasets.facts import DatasetInfo, Episodes, FeatureStats, Picture, Problem, Series
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes
from noeira_tui.datasets.source import Source


class Reader(Protocol):
    """Reads one dataset of one format, always as little of it as will do.

    Every method takes the source to read with, so that each piece of work can be cancelled by itself; all raise
    DatasetError and its kinds, NetworkError and CancelledError.
    """

    def summary(self, source: Source) -> DatasetInfo:
        """What the metadata tell: read once, then remembered. `cost` and `elapsed_s` are left to the caller."""
        ...

    def frames(self, source: Source) -> int | None:
        """How many frames it says it has, by as little as tells; None when nothing does."""
        ...

    def episodes(self, source: Source) -> Episodes:
        """All episodes; read once, then remembered. Their problems are in `problems`."""
        ...

    def deepen(self, source: Source) -> None:
        """Look at what metadata alone cannot tell; adds to `problems`."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything found wrong so far."""
        ...

    def series(self, source: Source, episode_index: int) -> Series:
        """An episode's state and action."""
        ...

    def proprio(self, source: Source, wishes: ReadingWishes) -> ProprioPlan:
        """How every episode's state, action and timestamps are read. Raises DatasetError where they cannot be told."""
        ...

    def stats(self, source: Source) -> tuple[FeatureStats, ...]:
        """The statistics that the dataset keeps; empty where it keeps none."""
        ...

    def picture(self, source: Source, episode_index: int, camera: str, at_s: float) -> Picture:
        """The frame of a camera at `at_s` seconds into an episode."""
        ...
