"""One dataset of an ingest: whether anything changed since it was last ingested, and the parts it is read in."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noeira_tui.core.errors import DatasetError, DatasetFileError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import redact
from noeira_tui.datasets.proprio import DEFAULT_FPS, PART_FRAMES, ProprioPart, ReadingWishes, Unread
from noeira_tui.datasets.registry import open_dataset
from noeira_tui.datasets.source import Resolvers, Source, open_source, scheme_of
from noeira_tui.datasets.store import Cost, FileMark
from noeira_tui.episodes.memory import Remembered, SourceMemory
from noeira_tui.episodes.work import PartOutcome, Scoring, measure_elsewhere, measure_part, measure_read, small_loads

if TYPE_CHECKING:
    from noeira_tui.datasets.facts import DatasetInfo
    from noeira_tui.episodes.commits import Commits
    from noeira_tui.episodes.place import CatalogPlace

_ONLY_HERE = frozenset({"memory", "noeira"})
"""Addresses that another process cannot open: what they have is read here and scored there."""


@dataclass(frozen=True)
class Task:
    """What an executor is given, for which dataset."""

    run: DatasetRun
    work: Callable[..., PartOutcome]
    arguments: tuple[Any, ...]


@dataclass
class DatasetRun:
    """One dataset while it is ingested. `address` opens it and may have a signature in it; `uri` is what is told of it.
    `expected` episodes are in it, `current` of them need not be read again."""

    address: str = field(repr=False)
    uri: str = ""
    source: Source | None = None
    inner: Source | None = None
    info: DatasetInfo | None = None
    parts: tuple[ProprioPart, ...] = ()
    part_frames: int = PART_FRAMES
    scoring: Scoring | None = None
    memory: SourceMemory | None = None
    marks: Mapping[str, FileMark] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    is_whole: bool = True
    expected: int = 0
    current: int = 0
    measured: int = 0
    unread: tuple[Unread, ...] = ()
    pending: int = 0
    all_submitted: bool = False
    has_failed: bool = False
    is_settled: bool = False
    _charged: Cost = field(default_factory=Cost)

    @property
    def fps(self) -> float:
        return DEFAULT_FPS if self.info is None or self.info.fps is None else self.info.fps

    @property
    def is_read(self) -> bool:
        """Whether every part was scored and nothing failed."""
        return self.all_submitted and not self.pending and not self.has_failed

    def tasks(self, is_here: bool, slots: int) -> Iterator[Task]:
        """The parts as tasks, for an executor in this process or elsewhere that works on `slots` at once.

        Raises what reading a part raises where that is done here.
        """
        inner, scoring = self.inner, self.scoring
        if inner is None or scoring is None:
            return
        # One row group with everything is decoded once, and no byte is read twice; scoring it is what takes time.
        is_coarse = len(self.parts) < min(slots, _FEW_PARTS) and sum(part.frames for part in self.parts) > _LEAST_PART
        for part in self.parts:
            if is_here:
                yield Task(self, measure_part, (inner, part, scoring))
            elif is_coarse or scheme_of(self.address) in _ONLY_HERE:
                for load in small_loads(part.read(inner), self.part_frames):
                    yield Task(self, measure_read, (load, scoring))
            else:
                yield Task(self, measure_elsewhere, (self.address, part, scoring))

    def charge(self) -> Cost:
        """What its own source read since the last call."""
        cost = Cost() if self.source is None else self.source.cost
        before, self._charged = self._charged, cost
        return Cost(cost.bytes_read - before.bytes_read, cost.requests - before.requests)

    def close(self) -> None:
        if self.source is not None:
            self.source.close()

    def remember(self) -> None:
        """Keep in the catalog which files were read, so that they are not read again. Raises what the place raises."""
        if self.memory is not None and self.marks:
            self.memory.keep(self.current + self.measured, self.marks, is_whole=self.is_whole, absent=self.absent)


def open_run(
    run: DatasetRun,
    commits: Commits,
    cancel: CancelToken,
    resolvers: Resolvers | None,
    say: Callable[[str], None],
    slots: int,
) -> None:
    """Look at a dataset and plan how to read it. Raises DatasetError, NetworkError, ConfigError, ServiceError."""
    run.uri = redact(run.address)
    if scheme_of(run.address) is None:
        run.address = run.uri = _absolute(run.address)
    if not _is_utf8(run.uri):
        raise DatasetError("The name of its folder is not UTF-8, and a catalog of episodes could not name it.")
    source = run.source = open_source(run.address, cancel=cancel, resolvers=resolvers, say=say)
    run.memory = commits.memory_of(run.uri, "" if source.is_remote else socket.gethostname())
    remembered = run.memory.recall()
    now = _marks_now(source, remembered)
    unchanged = frozenset() if remembered is None else remembered.unchanged(now)
    if remembered is not None and remembered.is_current(now):
        run.expected = run.current = remembered.episodes
        run.is_settled = True
        return
    inner, reader = open_dataset(source)
    run.inner = inner
    run.info = reader.summary(inner)
    frames = run.info.total_frames or PART_FRAMES * slots
    run.part_frames = min(PART_FRAMES, max(_LEAST_PART, frames // (4 * slots)))
    plan = reader.proprio(inner, ReadingWishes(unchanged, run.part_frames))
    run.parts, run.unread = plan.parts, plan.unread
    run.expected, run.current = plan.episodes, plan.current
    run.scoring = Scoring(run.fps, commits.known)
    if inner.store is source.store:
        # Before anything is read: a file that changes meanwhile is read again next time.
        run.marks = source.marks(plan.files)
        run.absent = tuple(file for file in plan.files if file not in run.marks)
        run.is_whole = bool(run.marks)
    else:
        run.marks = {"": source.mark("")}


def _absolute(path: str) -> str:
    """A path by which a dataset is named: the catalog outlives the folder one stands in."""
    return str(Path(path).expanduser().absolute())


def may_be_current(addresses: Sequence[str], place: CatalogPlace) -> bool:
    """Whether a catalog remembers datasets on this box, so that there may be nothing to do. Raises what the place
    raises."""
    host = socket.gethostname()
    named = (_absolute(address) if scheme_of(address) is None else address for address in addresses)
    return all(SourceMemory(place, name, host, "").is_there for name in named)


def is_large(addresses: Sequence[str]) -> bool:
    """Whether datasets on this box have enough frames for several processes, as far as they say so."""
    frames = 0
    for address in addresses:
        # What is wrong with it is told when it is its turn.
        with suppress(NoeiraError), closing(open_source(address)) as source:
            inner, reader = open_dataset(source)
            frames += reader.frames(inner) or 0
        if frames >= _LARGE:
            return True
    return False


_LARGE = 100_000
"""Frames from which more processes bring more than starting them costs, which is a quarter of a second."""
_LEAST_PART = 8_000
"""Frames below which handing out a part costs more than it gains."""
_FEW_PARTS = 4
"""Parts below which a pool with more processes than parts is given what was read here."""


def _marks_now(source: Source, remembered: Remembered | None) -> dict[str, FileMark]:
    if remembered is None or not remembered.files:
        return {}
    try:
        return source.marks((*remembered.files, *remembered.absent))
    except DatasetFileError:
        # Whatever is in the way will be told by the reading itself.
        return {}


def _is_utf8(text: str) -> bool:
    """Bytes that are not come from the file system as lone surrogates."""
    return text == text.encode("utf-8", "replace").decode()
