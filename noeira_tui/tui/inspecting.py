"""Reading a dataset beside the app: one piece of work a lane, and what is no longer wanted is stopped.

A lane is a part of the inspector that shows one thing at a time, such as the plot: asking for the next episode there
cancels the read of the one before. Everything is given to the screen in the app's own thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from textual.message import Message

from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.tui.text import Line
from noeira_tui.tui.threads import Errands, Post

if TYPE_CHECKING:
    from noeira_tui.core.settings import Settings
    from noeira_tui.datasets.facts import Series
    from noeira_tui.datasets.inspector import Inspector
    from noeira_tui.datasets.store import Cost
    from noeira_tui.overview.inspectorbeside import InspectorBeside

T = TypeVar("T")
Say = Callable[[str], None]
Looks: TypeAlias = "Inspector | InspectorBeside"
"""What looks into a dataset, here or in another process."""

Opened = Callable[[Say], "Looks"]
"""Makes the inspector of an address, which says beforehand what it has to download whole. Called in a thread: it may
import and raise NoeiraError."""

QualityOf = Callable[[str, "Series"], tuple[Line, ...] | None]
"""What is known of the quality of an episode at an address, as lines; None for nothing. Called in a thread."""


class Said(Message):
    """Something to know beforehand, such as that a dataset has to be downloaded whole."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Lane(StrEnum):
    """What is read at one time at most once."""

    SUMMARY = "metadata"
    EPISODES = "episode table"
    STATISTICS = "statistics"
    DEEP = "rows and videos"
    PLOT = "plot"
    FRAME = "camera frame"


class Reads:
    """The reads of one dataset. Every method is called by the app's thread."""

    def __init__(self, post: Post, opened: Opened, changed: Callable[[], None]) -> None:
        self._errands = Errands(post)
        self._post = post
        self._open = opened
        self._changed = changed
        self._lock = threading.Lock()
        self._inspector: Looks | None = None
        self._closed = False
        self._running: dict[Lane, CancelToken] = {}
        self._began: dict[Lane, float] = {}

    @property
    def running(self) -> tuple[Lane, ...]:
        """What is being read, in the order it was asked for."""
        return tuple(self._running)

    def elapsed_s(self, lane: Lane) -> float:
        """How long a lane has been reading."""
        return time.monotonic() - self._began[lane] if lane in self._running else 0.0

    @property
    def cost(self) -> Cost | None:
        """Bytes and requests so far; None before anything was opened."""
        inspector = self._inspector
        return None if inspector is None else inspector.cost

    def ask(
        self,
        lane: Lane,
        work: Callable[[Looks, CancelToken], T],
        then: Callable[[T], None],
        otherwise: Callable[[NoeiraError], None],
    ) -> None:
        """Read something; `then` hears what it is, `otherwise` why it could not be read. A newer question in the lane,
        `stop` and `close` silence both."""
        if self._closed:
            return
        self._drop(lane)
        token = self._running[lane] = CancelToken()
        self._began[lane] = time.monotonic()

        def read() -> T:
            token.check()
            inspector = self._opened()
            try:
                return work(inspector, token)
            finally:
                if self._closed:
                    # It may have opened a connection after all others were closed.
                    inspector.close()

        def done(result: T) -> None:
            if self._ended(lane, token):
                then(result)

        def failed(error: NoeiraError) -> None:
            if self._ended(lane, token) and not isinstance(error, CancelledError):
                otherwise(error)

        self._errands.run(read, done, failed)
        self._changed()

    def stop(self, *lanes: Lane) -> None:
        """Stop what these lanes read, or all of them when none is named."""
        before = len(self._running)
        for lane in lanes or tuple(self._running):
            self._drop(lane)
        if len(self._running) != before:
            self._changed()

    def close(self) -> None:
        """Stop everything and close the connections, beside the app: a store may take its time."""
        self._closed = True
        for lane in tuple(self._running):
            self._drop(lane)
        inspector = self._inspector
        if inspector is not None:
            threading.Thread(target=inspector.close, name="noeira-close", daemon=True).start()

    def _opened(self) -> Looks:
        with self._lock:
            if self._inspector is None:
                self._inspector = self._open(self._say)
            return self._inspector

    def _say(self, text: str) -> None:
        self._post(Said(text))

    def _drop(self, lane: Lane) -> None:
        token = self._running.pop(lane, None)
        if token is not None:
            token.cancel()

    def _ended(self, lane: Lane, token: CancelToken) -> bool:
        """Whether somebody still waits for this read."""
        if self._closed or self._running.get(lane) is not token:
            return False
        del self._running[lane]
        self._changed()
        return True


def opener(uri: str, settings: Settings) -> Opened:
    """Opens an address with this box's settings, in a process of its own: what it takes to read it goes with that."""

    def make(say: Say) -> Looks:
        from noeira_tui.overview.inspectorbeside import InspectorBeside

        return InspectorBeside(uri, settings, say=say)

    return make


READING: Mapping[Lane, str] = {
    Lane.SUMMARY: "reading the metadata",
    Lane.EPISODES: "reading the episode table",
    Lane.STATISTICS: "reading the statistics",
    Lane.DEEP: "comparing rows and videos with the episode table",
    Lane.PLOT: "reading the episode",
    Lane.FRAME: "reading the camera frame",
}
"""What is told while a lane reads."""
