"""A dataset kept open to be looked around in: what an inspector shows, each part read when it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Self, TypeVar

from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.facts import (
    DatasetInfo,
    Episode,
    Episodes,
    FeatureStats,
    Histogram,
    Picture,
    Problem,
    Series,
)
from noeira_tui.datasets.reader import Reader
from noeira_tui.datasets.registry import open_dataset
from noeira_tui.datasets.source import Resolvers, Source, open_source
from noeira_tui.datasets.store import Cost

T = TypeVar("T")
Work = Callable[[Reader, Source], T]


class Inspector:
    """One dataset, looked at part by part; what was read once is remembered.

    May be used from several threads: reads of one dataset wait for each other, and a wait ends when its own `cancel`
    is asked to stop. Every method raises DatasetError and its kinds, NetworkError, ConfigError and CancelledError.
    """

    def __init__(
        self, uri: str, *, resolvers: Resolvers | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.uri = uri
        self._resolvers = resolvers
        self._say = say
        self._lock = threading.Lock()
        self._outer: Source | None = None
        self._opened: tuple[Source, Reader] | None = None
        self._info: DatasetInfo | None = None
        self._histograms: dict[int, Histogram] = {}
        self._stats: tuple[FeatureStats, ...] | None = None

    def summary(self, cancel: CancelToken | None = None) -> DatasetInfo:
        """Format, counts, features, cameras, tasks: what the metadata tell, with the problems found so far."""

        def work(reader: Reader, source: Source) -> DatasetInfo:
            if self._info is None:
                self._info = reader.summary(source)
            return replace(self._info, problems=reader.problems, cost=self.cost, streamed=source.streamed)

        return self._with(work, cancel)

    def episodes(self, cancel: CancelToken | None = None) -> Episodes:
        """All episodes, made page by page as they are shown; reads the episode tables the first time."""
        return self._with(lambda reader, source: reader.episodes(source), cancel)

    def page(self, offset: int, limit: int, cancel: CancelToken | None = None) -> tuple[Episode, ...]:
        """At most `limit` episodes from the `offset`-th on."""
        return self.episodes(cancel).page(offset, limit)

    def deepen(self, cancel: CancelToken | None = None) -> tuple[Problem, ...]:
        """Look at rows and mp4s too; gives all problems."""

        def work(reader: Reader, source: Source) -> tuple[Problem, ...]:
            reader.deepen(source)
            return reader.problems

        return self._with(work, cancel)

    def problems(self) -> tuple[Problem, ...]:
        """The problems found so far; reads nothing."""
        opened = self._opened
        return () if opened is None else opened[1].problems

    def series(self, episode_index: int, cancel: CancelToken | None = None) -> Series:
        """State and action of one episode, from its row groups only."""
        return self._with(lambda reader, source: reader.series(source, episode_index), cancel)

    def picture(self, episode_index: int, camera: str, at_s: float, cancel: CancelToken | None = None) -> Picture:
        """The frame of a camera `at_s` seconds into an episode; of an mp4 the index and a few frames are read."""
        return self._with(lambda reader, source: reader.picture(source, episode_index, camera, at_s), cancel)

    def stats(self, cancel: CancelToken | None = None) -> tuple[FeatureStats, ...]:
        """The statistics that the dataset keeps, by feature."""

        def work(reader: Reader, source: Source) -> tuple[FeatureStats, ...]:
            if self._stats is None:
                self._stats = reader.stats(source)
            return self._stats

        return self._with(work, cancel)

    def histogram(self, bins: int = 20, cancel: CancelToken | None = None) -> Histogram:
        """How many episodes are how long, in `bins` steps of frames."""
        lengths = self.episodes(cancel).lengths
        if bins not in self._histograms:
            self._histograms[bins] = _histogram(lengths, bins)
        return self._histograms[bins]

    @property
    def cost(self) -> Cost:
        """Bytes and requests so far; may be asked while something is read."""
        outer = self._outer
        return Cost() if outer is None else outer.cost

    def close(self) -> None:
        """Close the connections."""
        if self._outer is not None:
            self._outer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _with(self, work: Work[T], cancel: CancelToken | None) -> T:
        token = CancelToken() if cancel is None else cancel
        while not self._lock.acquire(timeout=0.1):
            token.check()
        try:
            token.check()
            if self._opened is None:
                self._outer = open_source(self.uri, cancel=token, resolvers=self._resolvers, say=self._say)
                self._opened = open_dataset(self._outer)
            source, reader = self._opened
            return work(reader, source.with_cancel(token))
        finally:
            self._lock.release()


def _histogram(lengths: object, bins: int) -> Histogram:
    values = [length for length in lengths if isinstance(length, int)] if isinstance(lengths, list | tuple) else []
    if not values or bins < 1:
        return Histogram((), ())
    low, high = min(values), max(values)
    step = (high - low) / bins or 1.0
    count = bins if high > low else 1
    counts = [0] * count
    for value in values:
        counts[min(count - 1, int((value - low) / step))] += 1
    return Histogram(tuple(low + step * number for number in range(count + 1)), tuple(counts))
