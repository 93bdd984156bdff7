"""The episodes of a LeRobot dataset: which frames each has and where they are, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.facts import Episode, Problem, VideoSpan
from noeira_tui.datasets.jsonfacts import Problems, finite_number, whole_number
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.layout import EPISODES_FOLDER, EPISODES_LINES, EPISODES_TABLE, INFO, Generation, fill
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    "episode_index",
    "tasks",
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)
_VIDEO_COLUMNS = ("chunk_index", "file_index", "from_timestamp", "to_timestamp")


@dataclass
class VideoColumns:
    """Where each episode is in the videos of one camera."""

    files: list[str | None] = field(default_factory=list)
    from_s: list[float | None] = field(default_factory=list)
    to_s: list[float | None] = field(default_factory=list)


@dataclass
class EpisodeTable:
    """All episodes, one list a column, in the order of the tables. It is filled once and then only read."""

    file: str
    indices: list[int] = field(default_factory=list)
    told_lengths: list[int | None] = field(default_factory=list)
    tasks: list[tuple[str, ...]] = field(default_factory=list)
    data_files: list[str | None] = field(default_factory=list)
    from_index: list[int | None] = field(default_factory=list)
    to_index: list[int | None] = field(default_factory=list)
    videos: dict[str, VideoColumns] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    problems: dict[int, list[Problem]] = field(default_factory=dict)
    _rows: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.indices)

    def page(self, offset: int, limit: int) -> tuple[Episode, ...]:
        return tuple(self.episode(row) for row in range(max(0, offset), min(len(self), offset + limit)))

    def find(self, index: int) -> Episode | None:
        row = self.row_of(index)
        return None if row is None else self.episode(row)

    def row_of(self, index: int) -> int | None:
        """The row of an `episode_index`."""
        if len(self._rows) != len(self.indices):
            self._rows = {number: row for row, number in reversed(list(enumerate(self.indices)))}
        return self._rows.get(index)

    @property
    def lengths(self) -> Sequence[int]:
        return [length for length in self.told_lengths if length is not None]

    def episode(self, row: int) -> Episode:
        """One row as a fact."""
        videos: dict[str, VideoSpan] = {}
        for camera, columns in self.videos.items():
            file = columns.files[row]
            if file is not None:
                videos[camera] = VideoSpan(file, columns.from_s[row], columns.to_s[row])
        return Episode(
            index=self.indices[row],
            length=self.told_lengths[row],
            tasks=self.tasks[row],
            data_file=self.data_files[row],
            videos=videos,
            problems=tuple(self.problems.get(row, ())),
        )

    def blame(self, row: int, problem: Problem) -> None:
        """Note that an episode has a problem."""
        noted = self.problems.setdefault(row, [])
        if problem not in noted:
            noted.append(problem)


_MAX_BROKEN = 50
"""So many tables in a row that cannot be read are a place that answers so whatever it is asked for. One that denies
what it does not have, as a bucket does that may not be listed, is believed at once."""


def read_episodes(source: Source, info: LeRobotInfo, problems: Problems) -> EpisodeTable:
    """Read where all episodes are. What is absent or broken is a problem, and what can be read is in the table."""
    if info.generation is Generation.V2:
        return _read_lines(source, info, problems)
    table = EpisodeTable(EPISODES_FOLDER, videos={camera: VideoColumns() for camera in info.videos})
    names: dict[str, str] = {}
    for path, file in _tables(source, info, table, problems):
        try:
            _add_table(file, path, info, table, names, problems)
        except DatasetFileError as err:
            problems.add(err.code, path, "", err.message)
    return table


def _tables(
    source: Source, info: LeRobotInfo, table: EpisodeTable, problems: Problems
) -> Iterator[tuple[str, ParquetFile]]:
    """The episode tables by their numbers, one after the other until there are enough rows or no more tables.

    Nothing is listed: a stray second copy beside them is not counted, and a server without listings will do.
    """
    chunk, number, broken = 0, 0, 0
    while True:
        path = EPISODES_TABLE.format(chunk=chunk, file=number)
        try:
            file = open_parquet(source, path)
        except DatasetFileError as err:
            if err.code != "missing_file" or (chunk, number) == (0, 0):
                problems.add(err.code, path, "", err.message)
                if err.code == "missing_file":
                    yield from _listed(source, problems)
                    return
                broken += 1
                if err.code == "denied" or broken >= _MAX_BROKEN:
                    return
            elif number == 0:
                return
            else:
                chunk, number = chunk + 1, 0
                continue
        else:
            broken = 0
            yield path, file
        if info.episodes is not None and len(table) >= info.episodes:
            return
        number += 1
        if number >= info.chunk_size:
            chunk, number = chunk + 1, 0


def _listed(source: Source, problems: Problems) -> Iterator[tuple[str, ParquetFile]]:
    """The tables that have other names than they should, where they can be listed."""
    if not source.can_list:
        return
    for folder in source.listing(EPISODES_FOLDER).folders[:1000]:
        for name in source.listing(f"{EPISODES_FOLDER}/{folder}").files:
            path = f"{EPISODES_FOLDER}/{folder}/{name}"
            if not name.endswith(".parquet"):
                continue
            try:
                file = open_parquet(source, path)
            except DatasetFileError as err:
                problems.add(err.code, path, "", err.message)
                continue
            yield path, file


def _add_table(
    file: ParquetFile,
    path: str,
    info: LeRobotInfo,
    table: EpisodeTable,
    names: dict[str, str],
    problems: Problems,
) -> None:
    wanted = [name for name in _COLUMNS if name in file.names]
    wanted += [
        f"videos/{camera}/{part}"
        for camera in info.videos
        for part in _VIDEO_COLUMNS
        if f"videos/{camera}/{part}" in file.names
    ]
    for name in ("episode_index", "length", "data/chunk_index", "data/file_index"):
        if name not in file.names:
            problems.add("missing_field", path, name, f"{path} has no column `{name}`.")
    rows = _Rows(file.read(wanted), path, problems)
    first = len(table)
    indices = rows.whole("episode_index")
    table.indices += [first + row if index is None else index for row, index in enumerate(indices)]
    table.told_lengths += rows.whole("length")
    table.tasks += rows.tasks()
    table.from_index += rows.whole("dataset_from_index")
    table.to_index += rows.whole("dataset_to_index")
    table.tables += [path] * rows.count
    table.data_files += _paths(rows, "data", info.data_path, {}, "data_path", names, problems)
    for camera, columns in table.videos.items():
        place = f"videos/{camera}"
        columns.files += _paths(rows, place, info.video_path, {"video_key": camera}, "video_path", names, problems)
        columns.from_s += rows.numbers(f"{place}/from_timestamp")
        columns.to_s += rows.numbers(f"{place}/to_timestamp")


class _Rows:
    """The columns of one table, each value believed only where it makes sense."""

    def __init__(self, table: pa.Table, path: str, problems: Problems) -> None:
        self._table = table
        self._path = path
        self._problems = problems
        self.count = int(table.num_rows)

    def whole(self, name: str) -> list[int | None]:
        """A column of whole numbers, which some writers store as doubles."""
        values = [whole_number(value) for value in self._values(name)]
        if name in self._table.column_names and None in values:
            self._problems.add(
                "wrong_type",
                self._path,
                name,
                f"{self._path}: `{name}` is no whole number in row {values.index(None)}.",
            )
        return values

    def numbers(self, name: str) -> list[float | None]:
        return [finite_number(value) for value in self._values(name)]

    def tasks(self) -> list[tuple[str, ...]]:
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        lists = (
            tuple(str(task) for task in value)
            if isinstance(value, list)
            else (value,)
            if isinstance(value, str)
            else ()
            for value in self._values("tasks")
        )
        return [shared.setdefault(tasks, tasks) for tasks in lists]

    def _values(self, name: str) -> list[object]:
        if name not in self._table.column_names:
            return [None] * self.count
        values: list[object] = self._table[name].to_pylist()
        return values


def _paths(
    rows: _Rows,
    place: str,
    template: str,
    more: Mapping[str, str],
    field_name: str,
    names: dict[str, str],
    problems: Problems,
) -> list[str | None]:
    paths: list[str | None] = []
    for chunk, file in zip(rows.whole(f"{place}/chunk_index"), rows.whole(f"{place}/file_index"), strict=True):
        path = None
        if chunk is not None and file is not None:
            path = fill(template, {"chunk_index": chunk, "file_index": file, **more})
            if path is None:
                problems.add("bad_path", INFO, field_name, f"{INFO}: `{field_name}` {template[:120]!r} names no file.")
        paths.append(None if path is None else names.setdefault(path, path))
    return paths


def _read_lines(source: Source, info: LeRobotInfo, problems: Problems) -> EpisodeTable:
    """The episodes of v2: a line each, and a file each by its number."""
    table = EpisodeTable(EPISODES_LINES, videos={camera: VideoColumns() for camera in info.videos})
    try:
        rows = source.json_lines(EPISODES_LINES)
    except DatasetFileError as err:
        problems.add(err.code, EPISODES_LINES, "", err.message)
        return table
    for line, row in enumerate(rows, 1):
        index = whole_number(row.get("episode_index")) if isinstance(row, dict) else None
        if not isinstance(row, dict) or index is None or index < 0:
            problems.add(
                "wrong_type",
                EPISODES_LINES,
                "episode_index",
                f"{EPISODES_LINES}, line {line}: no whole `episode_index`.",
            )
            continue
        length = whole_number(row.get("length"))
        if length is None:
            problems.add("wrong_type", EPISODES_LINES, "length", f"{EPISODES_LINES}, line {line}: no whole `length`.")
        tasks = row.get("tasks")
        table.indices.append(index)
        table.told_lengths.append(length)
        table.tasks.append(tuple(str(task) for task in tasks) if isinstance(tasks, list) else ())
        table.from_index.append(None)
        table.to_index.append(None)
        table.tables.append(EPISODES_LINES)
        values = {"episode_index": index, "episode_chunk": index // info.chunk_size}
        table.data_files.append(_filled(info.data_path, values, "data_path", problems))
        for camera, columns in table.videos.items():
            columns.files.append(_filled(info.video_path, {**values, "video_key": camera}, "video_path", problems))
            columns.from_s.append(None)
            columns.to_s.append(None)
    return table


def _filled(template: str, values: Mapping[str, int | str], field_name: str, problems: Problems) -> str | None:
    path = fill(template, values)
    if path is None:
        problems.add("bad_path", INFO, field_name, f"{INFO}: `{field_name}` {template[:120]!r} names no file.")
    return path


def known_files(table: EpisodeTable) -> dict[str, list[int]]:
    """Every file that episodes need, with the rows that need it."""
    files: dict[str, list[int]] = {}
    for row, file in enumerate(table.data_files):
        if file is not None:
            files.setdefault(file, []).append(row)
    for columns in table.videos.values():
        for row, file in enumerate(columns.files):
            if file is not None:
                files.setdefault(file, []).append(row)
    return files
