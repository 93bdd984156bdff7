"""How the episodes of a LeRobot dataset are read for their numbers: which row groups of which files together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.jsonfacts import Problems
from noeira_tui.datasets.lerobot.columns import EPISODE, ColumnNames, extent
from noeira_tui.datasets.lerobot.consistency import check_files
from noeira_tui.datasets.lerobot.episodes import read_episodes
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.layout import INFO, TASKS_LINES, TASKS_PARQUET, Generation, fill
from noeira_tui.datasets.lerobot.rows import FilePiece, Group, LeRobotPart, Told, groups_of
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.parquetfooter import Footer
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes, Unread, windows
from noeira_tui.datasets.source import Source

_SAMPLE = 8
_MAX_BETWEEN = 64
_MAX_TWICE = 0.05
"""Share of the rows that may be read by two parts, where episodes straddle row groups."""


def plan_proprio(source: Source, info: LeRobotInfo, wishes: ReadingWishes) -> ProprioPlan:
    """How to read every episode's numbers; reads the episode tables and, since v3, each data file's footer.

    Raises DatasetFileError when there is no episode to be found, NetworkError, CancelledError.
    """
    # Without its cameras: where an episode is in the videos does not matter here.
    blind = replace(info, cameras=())
    problems = Problems()
    table = read_episodes(source, blind, problems)
    if not len(table) and problems.found and info.generation is Generation.V2:
        first = problems.found[0]
        raise DatasetFileError(first.message, code=first.code, file=first.file)
    if info.generation is Generation.V2 and _any_missing(source, table.data_files):
        # Not where `info.json` says: the layout's own names are tried.
        check_files(source, blind, table, problems)
    told = tuple(
        Told(table.indices[row], table.told_lengths[row], table.tasks[row], table.data_files[row])
        for row in range(len(table))
    )
    meta = (INFO, TASKS_PARQUET if info.generation is Generation.V3 else TASKS_LINES, *dict.fromkeys(table.tables))
    if info.generation is Generation.V2:
        return _plan_v2(blind, told, meta, wishes)
    return _V3(source, blind, told, meta, wishes).plan()


def _any_missing(source: Source, files: Sequence[str | None]) -> bool:
    """Whether some data file is not there, by a sample where all cannot be asked for at once."""
    named = list(dict.fromkeys(file for file in files if file is not None))
    if not source.can_list and len(named) > _SAMPLE:
        named = [named[0], named[1], named[len(named) // 2], named[-1]]
    return len(source.marks(named)) < len(named)


def _plan_v2(info: LeRobotInfo, told: Sequence[Told], meta: Sequence[str], wishes: ReadingWishes) -> ProprioPlan:
    """A file an episode: some neighbours make a part."""
    unread = tuple(Unread(one.index, "It is not told in which file it is.") for one in told if one.data_file is None)
    known = [one for one in told if one.data_file is not None]
    fresh = [one for one in known if one.data_file not in wishes.unchanged]
    columns = ColumnNames.of(info)
    parts = tuple(
        LeRobotPart(
            pieces=tuple(FilePiece(one.data_file or "", only=one.index) for one in some),
            told=tuple(some),
            columns=columns,
            frames=sum(one.length or 0 for one in some),
        )
        for some in windows(fresh, lambda one: one.length or 0, wishes.part_frames, len(fresh))
    )
    files = tuple(dict.fromkeys((*meta, *(one.data_file or "" for one in known))))
    return ProprioPlan(parts, files, len(told), len(known) - len(fresh), unread)


@dataclass(frozen=True)
class _Place:
    """A row group with its file's number."""

    file: int
    group: Group


@dataclass
class _V3:
    """Many episodes a file: parts are ranges of `episode_index`, each with the row groups that may have rows of it."""

    source: Source
    info: LeRobotInfo
    told: tuple[Told, ...]
    meta: tuple[str, ...]
    wishes: ReadingWishes
    files: list[str] = field(default_factory=list)
    footers: dict[str, Footer] = field(default_factory=dict)
    places: list[_Place] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)

    def plan(self) -> ProprioPlan:
        named = tuple(dict.fromkeys(one.data_file for one in self.told if one.data_file is not None))
        self._look_at(named, told=True)
        self._look_further()
        if not self.files and not self.told:
            message = f"There is no episode table, and no data file {self.info.data_path}."
            raise DatasetFileError(message, code="missing_file", file=self.info.data_path)
        unread = tuple(
            Unread(one.index, self.broken[one.data_file]) for one in self.told if one.data_file in self.broken
        )
        hopeless = {one.episode_index for one in unread}
        told = tuple(one for one in self.told if one.index not in hopeless)
        places, told, current = self._changed(told)
        parts = self._parts(places, told)
        files = tuple(dict.fromkeys((*self.meta, *named, *self.files)))
        return ProprioPlan(parts, files, len(self.told) or current, current, unread)

    def _look_at(self, files: Sequence[str], *, told: bool) -> bool:
        """Read footers; whether all of the files were there."""
        all_there = True
        for window in windows(files, lambda file: 0):
            for file, found in zip(window, self.source.each(self._footer, window), strict=True):
                if isinstance(found, DatasetFileError):
                    all_there = all_there and found.code != "missing_file"
                    if told or found.code != "missing_file":
                        self.broken[file] = found.message
                    continue
                parquet, groups = found
                self.footers[file] = parquet.footer
                self.places += [_Place(len(self.files), group) for group in groups]
                self.files.append(file)
        return all_there

    def _footer(self, file: str) -> tuple[ParquetFile, tuple[Group, ...]] | DatasetFileError:
        try:
            parquet = open_parquet(self.source, file)
            return parquet, tuple(_known(parquet, group) for group in groups_of(parquet))
        except DatasetFileError as err:
            return err

    def _look_further(self) -> None:
        """When rows are missing: the files that no episode begins in, for they hold the rest of one."""
        expected = sum(one.length or 0 for one in self.told)
        if self.told and sum(place.group.rows for place in self.places) >= expected:
            return
        numbers = sorted(filter(None, (_numbers(self.info.data_path, file) for file in self.files)))
        for (chunk, number), (next_chunk, next_number) in pairwise([(0, -1), *numbers]):
            end = next_number if next_chunk == chunk else number + 1
            for between in range(number + 1, min(end, number + _MAX_BETWEEN)):
                self._look_at_number(chunk, between)
        at: tuple[int, int] | None = numbers[-1] if numbers else (0, -1)
        while at is not None:
            chunk, number = at
            following = [(chunk, number + 1), *([(chunk + 1, 0)] if number >= 0 else [])]
            at = next((one for one in following if self._look_at_number(*one)), None)
        # An episode's rows are gathered in the order of the files.
        order = sorted(range(len(self.files)), key=lambda at: _numbers(self.info.data_path, self.files[at]) or (0, 0))
        self.places.sort(key=lambda place: (order.index(place.file), place.group.number))

    def _look_at_number(self, chunk: int, number: int) -> bool:
        """Whether there is a data file of that number; it is looked at."""
        path = fill(self.info.data_path, {"chunk_index": chunk, "file_index": number})
        return path is not None and path not in self.footers and self._look_at((path,), told=False)

    def _changed(self, told: tuple[Told, ...]) -> tuple[list[_Place], tuple[Told, ...], int]:
        """Without the episodes whose row groups are all in files that did not change."""
        unchanged = {number for number, file in enumerate(self.files) if file in self.wishes.unchanged}
        if not unchanged or self.broken:
            return self.places, told, 0
        changed = [place.group for place in self.places if place.file not in unchanged]
        kept = tuple(one for one in told if any(group.may_have(one.index) for group in changed))
        indices = [one.index for one in kept]
        places = [
            place
            for place in self.places
            if place.file not in unchanged or any(place.group.may_have(index) for index in indices)
        ]
        return places, kept, len(told) - len(kept)

    def _parts(self, places: list[_Place], told: tuple[Told, ...]) -> tuple[LeRobotPart, ...]:
        if not places:
            return (self._part(places, told, None, None),) if told else ()
        rows = sum(place.group.rows for place in places)
        wanted = self.wishes.part_frames
        while True:
            bounds = _bounds([place.group for place in places], wanted)
            parts = tuple(
                self._part(places, told, first, last)
                for first, last in zip((None, *bounds), (*bounds, None), strict=True)
            )
            twice = sum(part.frames for part in parts) - rows
            if len(parts) == 1 or twice <= _MAX_TWICE * rows:
                return parts
            wanted *= 2

    def _part(self, places: list[_Place], told: tuple[Told, ...], below: int | None, last: int | None) -> LeRobotPart:
        """The episodes above `below`, up to `last`."""
        first = None if below is None else below + 1
        mine: dict[int, list[Group]] = {}
        for place in places:
            group = place.group
            outside = (
                group.least is not None
                and group.greatest is not None
                and ((first is not None and group.greatest < first) or (last is not None and group.least > last))
            )
            if not outside:
                mine.setdefault(place.file, []).append(group)
        pieces = tuple(
            FilePiece(self.files[number], tuple(groups), self.footers[self.files[number]])
            for number, groups in mine.items()
        )
        return LeRobotPart(
            pieces=pieces,
            told=tuple(
                one for one in told if (first is None or one.index >= first) and (last is None or one.index <= last)
            ),
            columns=ColumnNames.of(self.info),
            frames=sum(group.rows for groups in mine.values() for group in groups),
            first=first,
            last=last,
            has_all=not self.broken,
        )


def _known(file: ParquetFile, group: Group) -> Group:
    """A row group whose statistics do not tell its episodes, with the least and greatest as the column has them."""
    if group.least is not None or EPISODE not in file.names:
        return group
    try:
        found = extent(file.read((EPISODE,), (group.number,)), EPISODE, file.path)
    except DatasetFileError:
        # The part that wants its rows will tell.
        return group
    return group if found is None else replace(group, least=found[0], greatest=found[1])


def _bounds(groups: Sequence[Group], part_frames: int) -> list[int]:
    """The last `episode_index` of each part but the last, so that parts have about so many frames."""
    ends = sorted((group.greatest, group.rows) for group in groups if group.greatest is not None)
    if len(ends) < len(groups):
        return []
    starts = sorted(group.least for group in groups if group.least is not None)
    bounds: list[int] = []
    rows = 0
    for at, (greatest, count) in enumerate(ends):
        rows += count
        is_last = at + 1 == len(ends) or ends[at + 1][0] == greatest
        if rows >= part_frames and not is_last:
            # An episode that goes on in the next row group goes with that one.
            straddles = bisect_left(starts, greatest + 1) > at + 1
            bound = greatest - 1 if straddles else greatest
            if not bounds or bound > bounds[-1]:
                bounds.append(bound)
                rows = 0
    return bounds


def _numbers(template: str, path: str) -> tuple[int, int] | None:
    """Chunk and file number of a data file's path; None when the template does not tell."""
    import re

    pattern = re.escape(template)
    for name in ("chunk_index", "file_index"):
        pattern = re.sub(r"\\\{" + name + r"(:0?\d+d?)?\\\}", f"(?P<{name}>[0-9]+)", pattern, count=1)
    found = re.fullmatch(pattern, path)
    if found is None or len(found.groupdict()) < 2:
        return None
    return int(found["chunk_index"]), int(found["file_index"])
