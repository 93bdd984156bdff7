"""What metadata alone cannot tell, still by ranges: the rows each episode has, the frames each mp4 has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.jsonfacts import Problems, whole_number
from noeira_tui.datasets.lerobot.episodes import EpisodeTable
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.layout import INFO
from noeira_tui.datasets.mp4 import VideoIndex, read_index
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.source import Source

T = TypeVar("T")

_TOLERANCE = 1.5
_LONG_FRAME = 2.5
_FROZEN_S = 1.0
_FROZEN_FRAMES = 15
_FROZEN_SHARE = 0.04


@dataclass(frozen=True)
class _Rows:
    """Rows of each episode in one file, or why they cannot be told."""

    file: str
    counts: dict[int, int]
    names: tuple[str, ...] = ()
    failure: Problem | None = None


def files_to_check(table: EpisodeTable, there: frozenset[str]) -> int:
    """How many files `check_rows` and `check_videos` look at."""
    videos = (file for columns in table.videos.values() for file in columns.files)
    return len(there & {file for file in (*table.data_files, *videos) if file is not None})


def _counted(source: Source, look: Callable[[str], T]) -> Callable[[str], T]:
    """The same look, which counts the files it was given: who waits for all of them is told how many are done."""

    def counting(file: str) -> T:
        try:
            return look(file)
        finally:
            source.traffic.checked()

    return counting


def check_rows(
    source: Source, info: LeRobotInfo, table: EpisodeTable, there: frozenset[str], problems: Problems
) -> None:
    """Compare the rows each data file has of each episode with the episodes that point at it."""
    wanted: dict[str, list[int]] = {}
    for row, file in enumerate(table.data_files):
        if file is not None and file in there:
            wanted.setdefault(file, []).append(row)
    found = source.each(_counted(source, lambda file: _count_rows(source, file)), list(wanted))
    where = {index: one.file for one in found for index in one.counts}
    for one in found:
        if one.failure is not None:
            problems.extend((one.failure,))
            for row in wanted[one.file]:
                table.blame(row, one.failure)
            continue
        _check_columns(info, one, problems)
        for row in wanted[one.file]:
            _check_episode_rows(table, row, one, where, problems)
        pointed = {table.indices[row] for row in wanted[one.file]}
        for index in sorted(set(one.counts) - pointed)[:20]:
            if table.row_of(index) is None:
                message = f"{one.file} has {one.counts[index]:,} rows of episode {index}, which is in no episode table."
                problems.add("rows_left_over", one.file, "episode_index", message)
    rows = sum(sum(one.counts.values()) for one in found)
    whole = (
        all(one.failure is None for one in found)
        and None not in table.data_files
        and set(wanted) == set(table.data_files)
    )
    if whole and info.frames is not None and rows != info.frames:
        message = f"{INFO}: `total_frames` is {info.frames:,}, the data files have {rows:,} rows."
        problems.add("counts_disagree", INFO, "total_frames", message)


def _check_columns(info: LeRobotInfo, one: _Rows, problems: Problems) -> None:
    names = set(one.names)
    for feature in info.features:
        if feature.dtype == "video" or feature.name in names:
            continue
        if not any(name.startswith(f"{feature.name}.") for name in names):
            message = f"{one.file} has no column `{feature.name}`, which {INFO} promises."
            problems.add("missing_column", one.file, feature.name, message)


def _check_episode_rows(table: EpisodeTable, row: int, one: _Rows, where: dict[int, str], problems: Problems) -> None:
    index, length, rows = table.indices[row], table.told_lengths[row], one.counts.get(table.indices[row], 0)
    if length is None or rows == length:
        return
    if rows == 0:
        elsewhere = f"; they are in {where[index]}" if index in where else ""
        message = f"{one.file} has no rows of episode {index}, which points at it{elsewhere}."
        table.blame(row, problems.add("rows_missing", one.file, "episode_index", message))
        return
    message = f"{one.file} has {rows:,} rows of episode {index}, its length is {length:,}."
    table.blame(row, problems.add("rows_disagree", one.file, "episode_index", message))


def _count_rows(source: Source, path: str) -> _Rows:
    """Rows per episode: from the statistics where a row group has one episode, else from that one small column."""
    try:
        file = open_parquet(source, path)
        counts = Counter[int]()
        if "episode_index" not in file.names:
            raise DatasetFileError(f"{path} has no column `episode_index`.", code="missing_column", file=path)
        mixed: list[int] = []
        for number, span in enumerate(file.spans("episode_index")):
            if span.least is not None and span.least == span.greatest:
                counts[span.least] += span.rows
            elif span.rows:
                mixed.append(number)
        if mixed:
            counts.update(_values(file, mixed))
    except DatasetFileError as err:
        field = "episode_index" if err.code == "missing_column" else ""
        return _Rows(path, {}, failure=Problem(err.code, path, field, err.message))
    return _Rows(path, dict(counts), file.names)


def _values(file: ParquetFile, groups: list[int]) -> list[int]:
    values = (whole_number(value) for value in file.read(("episode_index",), groups)["episode_index"].to_pylist())
    return [value for value in values if value is not None]


def check_videos(
    source: Source, info: LeRobotInfo, table: EpisodeTable, there: frozenset[str], problems: Problems
) -> None:
    """Compare each mp4's own frames and times with the episodes that point into it."""
    wanted: dict[str, tuple[str, list[int]]] = {}
    for camera, columns in table.videos.items():
        for row, file in enumerate(columns.files):
            if file is not None and file in there:
                wanted.setdefault(file, (camera, []))[1].append(row)

    def look(file: str) -> VideoIndex | Problem:
        try:
            return read_index(source, file)
        except DatasetFileError as err:
            return Problem(err.code, file, "", err.message)

    for file, found in zip(wanted, source.each(_counted(source, look), list(wanted)), strict=True):
        camera, rows = wanted[file]
        if isinstance(found, Problem):
            problems.extend((found,))
            for row in rows:
                table.blame(row, found)
        else:
            _check_video(info, table, camera, file, rows, found, problems)


def _check_video(
    info: LeRobotInfo,
    table: EpisodeTable,
    camera: str,
    file: str,
    rows: list[int],
    video: VideoIndex,
    problems: Problems,
) -> None:
    lengths = [table.told_lengths[row] for row in rows]
    expected = sum(length for length in lengths if length is not None)
    if None not in lengths and video.frames != expected:
        more = video.frames - expected
        what = "left over, as from a discarded take" if more > 0 else "missing"
        message = (
            f"{file} has {video.frames:,} frames ({video.duration_s:.3f} s), the {len(rows):,} episode(s) in it need "
            f"{expected:,}: {abs(more):,} {what}."
        )
        problem = problems.add("video_frames", file, camera, message)
        if len(rows) == 1 or more < 0:
            table.blame(rows[-1], problem)
    if not info.fps or not video.frames:
        return
    drift = video.duration_s - video.frames / info.fps
    if abs(drift) > _TOLERANCE / info.fps:
        message = (
            f"{file}: {video.frames:,} frames take {video.duration_s:.3f} s, at {info.fps:g} a second they should take "
            f"{video.frames / info.fps:.3f} s."
        )
        problems.add("video_drift", file, camera, message)
    _check_still(info.fps, camera, file, video, problems)
    _check_ends(info.fps, table, camera, file, rows, video, problems)


def _check_still(fps: float, camera: str, file: str, video: VideoIndex, problems: Problems) -> None:
    """A picture that stands for long, by its duration or by frames that hold next to no change."""
    at = 0.0
    for duration in video.durations:
        if duration > _LONG_FRAME / fps:
            message = f"{file}: one frame at {at:.2f} s stands for {duration:.2f} s; frames are missing there."
            problems.add("video_gap", file, camera, message)
        at += duration
    keys = set(video.keys)
    sizes = [size for number, size in enumerate(video.sizes) if number not in keys]
    if len(sizes) < 2 * _FROZEN_FRAMES:
        return
    limit = median(sizes) * _FROZEN_SHARE
    run = 0
    for number, size in enumerate((*video.sizes, limit + 1)):
        if size <= limit or (number in keys and run):
            # A key frame has the whole picture, moving or not: it does not end a standstill.
            run += 1
            continue
        if run >= max(_FROZEN_FRAMES, _FROZEN_S * fps):
            message = f"{file}: the picture stands still for {run / fps:.1f} s from {(number - run) / fps:.1f} s on."
            problems.add("video_frozen", file, camera, message)
        run = 0


def _check_ends(
    fps: float, table: EpisodeTable, camera: str, file: str, rows: list[int], video: VideoIndex, problems: Problems
) -> None:
    """No episode's span goes beyond the end of its video."""
    columns = table.videos[camera]
    end = max(video.times) + 1 / fps
    for row in rows:
        to_s = columns.to_s[row]
        if to_s is not None and to_s > end + _TOLERANCE / fps:
            message = f"{file} ends at {end:.3f} s, episode {table.indices[row]} is to go to {to_s:.3f} s."
            table.blame(row, problems.add("video_span", file, camera, message))
