"""An `Inspector` in a process of its own: Arrow, Zarr and video codecs load there, and are gone when it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from noeira_tui.core import besidechild
from noeira_tui.core.beside import Beside
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.datasets.source import Resolvers
from noeira_tui.datasets.store import Cost
from noeira_tui.datasets.webstore import Resolver

if TYPE_CHECKING:
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

T = TypeVar("T")

_MISSED = 100
"""So many times it may be asked what was read so far without an answer: that is twenty seconds of a stuck process."""


class InspectorBeside:
    """Answers as `Inspector` does, with copies: what is found out later is not in what was given before.

    Every method raises what `Inspector` raises, and BesideError when the process ended; the next call starts another,
    which opens the dataset again.
    """

    def __init__(self, uri: str, settings: Settings, *, say: Callable[[str], None] | None = None) -> None:
        self.uri = uri
        self._settings = settings
        self._beside = Beside(said=say)
        self._cost = Cost()
        self._lock = threading.Lock()
        self._missed = 0

    def summary(self, cancel: CancelToken | None = None) -> DatasetInfo:
        """Format, counts, features, cameras, tasks."""
        return self._call(cancel, Inspector.summary)

    def episodes(self, cancel: CancelToken | None = None) -> Episodes:
        """All episodes, with the problems that are known by now."""
        return self._call(cancel, Inspector.episodes)

    def page(self, offset: int, limit: int, cancel: CancelToken | None = None) -> tuple[Episode, ...]:
        """At most `limit` episodes from the `offset`-th on."""
        return self._call(cancel, Inspector.page, offset, limit)

    def deepen(self, cancel: CancelToken | None = None) -> tuple[Problem, ...]:
        """Look at rows and mp4s too; gives all problems."""
        return self._call(cancel, Inspector.deepen)

    def problems(self) -> tuple[Problem, ...]:
        """The problems found so far; reads nothing."""
        return self._call(None, _problems)

    def series(self, episode_index: int, cancel: CancelToken | None = None) -> Series:
        """State and action of one episode."""
        return self._call(cancel, Inspector.series, episode_index)

    def picture(self, episode_index: int, camera: str, at_s: float, cancel: CancelToken | None = None) -> Picture:
        """The frame of a camera `at_s` seconds into an episode."""
        return self._call(cancel, Inspector.picture, episode_index, camera, at_s)

    def stats(self, cancel: CancelToken | None = None) -> tuple[FeatureStats, ...]:
        """The statistics that the dataset keeps, by feature."""
        return self._call(cancel, Inspector.stats)

    def histogram(self, bins: int = 20, cancel: CancelToken | None = None) -> Histogram:
        """How many episodes are how long, in `bins` steps of frames."""
        return self._call(cancel, Inspector.histogram, bins)

    @property
    def cost(self) -> Cost:
        """Bytes and requests, as they were when this was asked before; never waits.

        Asked again and again while something is read, it also notices a process that is stuck.
        """
        with self._lock:
            # Counted before it is asked: the answer may be here before `ask` returns.
            self._missed = self._missed + 1 if self._beside.is_running else 0
            is_stuck = self._missed > _MISSED
            if is_stuck:
                self._missed = 0
        if is_stuck:
            self._beside.give_up("the process that reads is stuck")
        else:
            self._beside.ask(_cost, then=self._take_cost)
        return self._cost

    def close(self) -> None:
        """End the process, and what it reads. Returns at once."""
        self._beside.close()

    def _take_cost(self, cost: Cost) -> None:
        with self._lock:
            self._missed = 0
            if cost.bytes_read >= self._cost.bytes_read:
                # Answers may overtake each other.
                self._cost = cost

    def _call(self, cancel: CancelToken | None, method: Callable[..., T], *arguments: object) -> T:
        token = CancelToken() if cancel is None else cancel
        result, cost = self._beside.call(_answer, self.uri, self._settings, method, arguments, cancel=token)
        self._take_cost(cost)
        return cast("T", result)


# In the other process, which has one dataset


class _Opened:
    """The dataset that is open there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inspector: Inspector | None = None

    def at(self, uri: str, settings: Settings) -> Inspector:
        with self._lock:
            if self.inspector is None:
                self.inspector = Inspector(uri, resolvers=_resolvers(settings), say=besidechild.say)
            return self.inspector


_OPENED = _Opened()


def _resolvers(settings: Settings) -> Resolvers:
    """Those of the service's addresses; what asks the service is imported for such an address only."""

    def make(address: str) -> Resolver:
        from noeira_tui.jobs.addresses import resolvers

        return resolvers(settings)(address)

    return make


def _answer(
    uri: str, settings: Settings, method: Callable[..., object], arguments: tuple[object, ...], token: CancelToken
) -> tuple[object, Cost]:
    inspector = _OPENED.at(uri, settings)
    return method(inspector, *arguments, cancel=token), inspector.cost


def _problems(inspector: Inspector, cancel: CancelToken) -> tuple[Problem, ...]:
    return inspector.problems()


def _cost() -> Cost:
    inspector = _OPENED.inspector
    return Cost() if inspector is None else inspector.cost
