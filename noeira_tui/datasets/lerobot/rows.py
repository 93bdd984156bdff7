"""Rows of LeRobot data files made into episodes: streamed by row groups, assigned by `episode_index`, put in frame
order, whichever files an episode's rows are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.lerobot.columns import EPISODE, Block, ColumnNames, Rows, joined
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.parquetfooter import Footer
from noeira_tui.datasets.proprio import Proprio, Unread, windows
from noeira_tui.datasets.source import Source

_BATCH_FRAMES = 16_384
"""Frames of neighbouring row groups that are fetched together."""


@dataclass(frozen=True)
class Told:
    """What the episode table says of an episode."""

    index: int
    length: int | None
    tasks: tuple[str, ...]
    data_file: str | None


@dataclass(frozen=True)
class Group:
    """A row group with the least and greatest `episode_index` in it; None where that is not known."""

    number: int
    rows: int
    least: int | None
    greatest: int | None

    def may_have(self, index: int) -> bool:
        return self.least is None or self.greatest is None or self.least <= index <= self.greatest


@dataclass(frozen=True)
class FilePiece:
    """Some row groups of a data file; without `groups` all of them, by its footer. `only` is the one episode that a
    file without the column `episode_index` has."""

    path: str
    groups: tuple[Group, ...] | None = None
    footer: Footer | None = field(default=None, repr=False)
    only: int | None = None

    def __reduce__(self) -> tuple[type[FilePiece], tuple[str, tuple[Group, ...] | None, Footer | None, int | None]]:
        """Another process is sent no more of the footer than the row groups it is to read."""
        groups, footer = self.groups, self.footer
        if groups is not None and footer is not None:
            footer = footer.only([group.number for group in groups])
            groups = tuple(replace(group, number=number) for number, group in enumerate(groups))
        return FilePiece, (self.path, groups, footer, self.only)


@dataclass(frozen=True)
class LeRobotPart:
    """The episodes from `first` to `last` (None: no bound), in the row groups that may have rows of them.

    `has_all` is False when some file of the dataset cannot be read: an episode with too few rows is incomplete then.
    """

    pieces: tuple[FilePiece, ...]
    told: tuple[Told, ...]
    columns: ColumnNames
    frames: int
    first: int | None = None
    last: int | None = None
    has_all: bool = True

    def read(self, source: Source) -> Iterator[Proprio | Unread]:
        return _Gathering(self).read(source)

    def owns(self, index: int) -> bool:
        return (self.first is None or index >= self.first) and (self.last is None or index <= self.last)


@dataclass(frozen=True)
class _Batch:
    """Neighbouring row groups that are fetched together."""

    piece: FilePiece
    file: ParquetFile
    groups: tuple[Group, ...]

    @property
    def frames(self) -> int:
        return sum(group.rows for group in self.groups)


@dataclass(frozen=True)
class _Loaded:
    """A batch that was fetched, or why it cannot be read."""

    batch: _Batch
    rows: Rows | None
    error: str = ""


class _Gathering:
    """Collects the rows of open episodes, and gives each away as soon as no row of it can follow."""

    def __init__(self, part: LeRobotPart) -> None:
        self._part = part
        self._told = {one.index: one for one in part.told}
        self._open: dict[int, list[Block]] = {}
        self._failed: dict[int, str] = {}
        self._given: set[int] = set()
        self._has_all = part.has_all

    def read(self, source: Source) -> Iterator[Proprio | Unread]:
        batches = list(self._batches(source))
        done = 0
        for window in windows(batches, lambda batch: batch.frames):
            for loaded in source.each(lambda batch: self._load(source, batch), window):
                for one in loaded:
                    self._take(one)
            done += len(window)
            yield from self._finished(batches[done:])
        yield from self._finished(())
        for index in sorted(self._told.keys() - self._given):
            yield Unread(index, self._failed.get(index, "It has no rows in any data file."))

    def _batches(self, source: Source) -> Iterator[_Batch]:
        def opened(piece: FilePiece) -> ParquetFile | str:
            try:
                return open_parquet(source, piece.path, footer=piece.footer)
            except DatasetFileError as err:
                return err.message

        for pieces in windows(self._part.pieces, lambda piece: 0):
            for piece, file in zip(pieces, source.each(opened, pieces), strict=True):
                if isinstance(file, str):
                    self._has_all = False
                    self._fail((one.index for one in self._part.told if one.data_file == piece.path), file)
                    continue
                groups = groups_of(file) if piece.groups is None else piece.groups
                for some in windows(groups, lambda group: group.rows, _BATCH_FRAMES, len(groups)):
                    yield _Batch(piece, file, tuple(some))

    def _load(self, source: Source, batch: _Batch) -> list[_Loaded]:
        # Only what is remote is read by several threads at once.
        file = batch.file.on(source) if source.is_remote else batch.file
        try:
            return [_Loaded(batch, Rows(file, self._part.columns, [group.number for group in batch.groups]))]
        except DatasetFileError as err:
            if len(batch.groups) == 1:
                return [_Loaded(batch, None, err.message)]
        # One of them is damaged: the others are good.
        return [one for group in batch.groups for one in self._load(source, _Batch(batch.piece, batch.file, (group,)))]

    def _take(self, loaded: _Loaded) -> None:
        rows, batch = loaded.rows, loaded.batch
        if rows is None:
            self._has_all = False
            self._fail((i for i in self._told if any(group.may_have(i) for group in batch.groups)), loaded.error)
            return
        try:
            runs = _runs(rows, batch.piece)
        except DatasetFileError as err:
            self._fail((i for i in self._told if any(group.may_have(i) for group in batch.groups)), err.message)
            return
        try:
            whole: Block | None = rows.block()
        except DatasetFileError:
            # Some row is odd: only its own episode suffers.
            whole = None
        for index, start, stop in runs:
            if not self._part.owns(index) or index in self._failed:
                continue
            try:
                # Rows that wait for others must not keep a whole batch in memory.
                at_edge = start == 0 or stop == rows.count
                block = rows.block(start, stop) if whole is None else whole.cut(start, stop, copied=at_edge)
            except DatasetFileError as err:
                self._fail((index,), err.message)
                continue
            self._open.setdefault(index, []).append(block)

    def _fail(self, indices: Iterable[int], error: str) -> None:
        for index in list(indices):
            self._failed.setdefault(index, error)
            self._open.pop(index, None)

    def _finished(self, following: Sequence[_Batch]) -> Iterator[Proprio | Unread]:
        """The open episodes of which no row can follow."""
        for index in sorted(self._open):
            if any(group.may_have(index) for batch in following for group in batch.groups):
                continue
            blocks = self._open.pop(index)
            self._given.add(index)
            yield self._made(index, blocks)

    def _made(self, index: int, blocks: list[Block]) -> Proprio | Unread:
        try:
            block = _in_order(joined(blocks))
        except ValueError as err:
            return Unread(index, f"Its rows do not fit together: {err}.")
        told = self._told.get(index)
        if told is not None and told.length is not None and block.rows < told.length and not self._has_all:
            return Unread(index, f"Only {block.rows:,} of its {told.length:,} frames can be read.")
        problems: tuple[Problem, ...] = ()
        if told is None:
            problems = (Problem("not_in_table", "", EPISODE, "It is in no episode table."),)
        elif told.length is not None and told.length != block.rows:
            message = f"It has {block.rows:,} rows, its length is told as {told.length:,}."
            problems = (Problem("rows_disagree", told.data_file or "", EPISODE, message),)
        tasks = () if told is None else told.tasks
        return Proprio(index, block.state, block.action, block.timestamps, block.frame_index, tasks, problems)


def _runs(rows: Rows, piece: FilePiece) -> list[tuple[int, int, int]]:
    """Neighbouring rows of one episode: its index, the first of them, and the one behind the last."""
    import numpy as np

    episodes = rows.episodes()
    if episodes is None:
        if piece.only is None:
            raise DatasetFileError(f"{piece.path} has no column `{EPISODE}`.", code="missing_column", file=piece.path)
        return [(piece.only, 0, rows.count)] if rows.count else []
    if not rows.count:
        return []
    edges = [0, *(np.flatnonzero(np.diff(episodes)) + 1).tolist(), rows.count]
    return [(int(episodes[start]), start, stop) for start, stop in pairwise(edges)]


def _in_order(block: Block) -> Block:
    """An episode's rows by `frame_index`; equal ones stay as they came."""
    import numpy as np

    frames = block.frame_index
    if frames is None or bool(np.all(frames[1:] > frames[:-1])):
        return block
    return block.taken(np.argsort(frames, kind="stable"))


def groups_of(file: ParquetFile) -> tuple[Group, ...]:
    """A file's row groups, with what their statistics tell of `episode_index`."""
    return tuple(
        Group(number, span.rows, span.least, span.greatest)
        for number, span in enumerate(file.spans(EPISODE))
        if span.rows
    )
