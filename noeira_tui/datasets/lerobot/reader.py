"""A LeRobot dataset, looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping

from noeira_tui.core.errors import DatasetError
from noeira_tui.datasets.facts import DatasetInfo, Episode, FeatureStats, Picture, Problem, Series
from noeira_tui.datasets.jsonfacts import Problems, finite_number, whole_number
from noeira_tui.datasets.lerobot.consistency import check_files, check_table
from noeira_tui.datasets.lerobot.deep import check_rows, check_videos, files_to_check
from noeira_tui.datasets.lerobot.episodes import EpisodeTable, read_episodes
from noeira_tui.datasets.lerobot.images import read_image
from noeira_tui.datasets.lerobot.info import LeRobotInfo, parse_info
from noeira_tui.datasets.lerobot.layout import INFO, STATS, Generation
from noeira_tui.datasets.lerobot.proprio import plan_proprio
from noeira_tui.datasets.lerobot.series import OpenTables, read_series
from noeira_tui.datasets.lerobot.tasks import read_tasks
from noeira_tui.datasets.mp4 import VideoIndex, read_index
from noeira_tui.datasets.picture import read_picture
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes
from noeira_tui.datasets.source import Source

_MAX_INDICES = 16


class LeRobotReader:
    """Begins with the value of `meta/info.json`, which told the format."""

    def __init__(self, info: object) -> None:
        self._problems = Problems()
        self._info: LeRobotInfo = parse_info(info, self._problems)
        self._tasks: tuple[str, ...] | None = None
        self._table: EpisodeTable | None = None
        self._there: frozenset[str] = frozenset()
        self._files = OpenTables()
        self._videos: dict[str, VideoIndex] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems.found

    def summary(self, source: Source) -> DatasetInfo:
        info = self._info
        if self._tasks is None:
            self._tasks = read_tasks(source, info.generation, info.tasks, self._problems)
        return DatasetInfo(
            uri=source.shown,
            format=info.format,
            format_version=info.version,
            num_episodes=info.episodes,
            total_frames=info.frames,
            fps=info.fps,
            robot_type=info.robot_type,
            cameras=info.cameras,
            features=info.features,
            observation=info.observation,
            action=info.action,
            tasks=self._tasks,
            has_timestamps=info.has("timestamp"),
            problems=self.problems,
        )

    def frames(self, source: Source) -> int | None:
        return self._info.frames

    def episodes(self, source: Source) -> EpisodeTable:
        if self._table is None:
            problems = Problems()
            table = read_episodes(source, self._info, problems)
            if len(table) or not problems.found:
                check_table(self._info, table, problems)
            self._there = check_files(source, self._info, table, problems)
            # Only kept when all of it was read: a cancelled look leaves nothing half told.
            self._problems.extend(problems.found)
            self._table = table
        return self._table

    def deepen(self, source: Source) -> None:
        table = self.episodes(source)
        problems = Problems()
        source.traffic.begin_check(files_to_check(table, self._there))
        check_rows(source, self._info, table, self._there, problems)
        check_videos(source, self._info, table, self._there, problems)
        self._check_stats(source, problems)
        self._problems.extend(problems.found)

    def series(self, source: Source, episode_index: int) -> Series:
        return read_series(source, self._info, self._episode(source, episode_index), self._files)

    def proprio(self, source: Source, wishes: ReadingWishes) -> ProprioPlan:
        return plan_proprio(source, self._info, wishes)

    def stats(self, source: Source) -> tuple[FeatureStats, ...]:
        data = source.json_or_none(STATS)
        if not isinstance(data, dict):
            return ()
        return tuple(_feature_stats(name, told) for name, told in data.items() if isinstance(told, dict))

    def picture(self, source: Source, episode_index: int, camera: str, at_s: float) -> Picture:
        episode = self._episode(source, episode_index)
        known = next((known for known in self._info.cameras if known.name == camera), None)
        if known is None:
            raise DatasetError(f"There is no camera {camera!r}.")
        if known.storage == "image":
            return read_image(source, self._info, episode, camera, at_s, self._files)
        span = episode.videos.get(camera)
        if span is None:
            raise DatasetError(f"Episode {episode_index} does not say where its video of {camera} is.")
        index = self._videos.get(span.file)
        if index is None:
            index = read_index(source, span.file)
            while len(self._videos) >= _MAX_INDICES:
                self._videos.pop(next(iter(self._videos)))
            self._videos[span.file] = index
        return read_picture(source, span.file, index, camera, (span.from_s or 0.0) + at_s)

    def _episode(self, source: Source, episode_index: int) -> Episode:
        episode = self.episodes(source).find(episode_index)
        if episode is None:
            raise DatasetError(f"There is no episode {episode_index}.")
        return episode

    def _check_stats(self, source: Source, problems: Problems) -> None:
        """The statistics count the frames too; one that counts others was made of another state of the dataset."""
        if self._info.generation is not Generation.V3 or self._info.frames is None:
            return
        for one in self.stats(source):
            if one.count is not None and one.count != self._info.frames and one.name in {"timestamp", "index"}:
                problems.add(
                    "counts_disagree",
                    STATS,
                    f"{one.name}.count",
                    f"{STATS} counts {one.count:,} frames of `{one.name}`, {INFO} {self._info.frames:,}.",
                )


def _feature_stats(name: str, told: Mapping[str, object]) -> FeatureStats:
    counts = _flat(told.get("count"))
    return FeatureStats(
        name=name,
        minimum=_flat(told.get("min")),
        maximum=_flat(told.get("max")),
        mean=_flat(told.get("mean")),
        std=_flat(told.get("std")),
        count=whole_number(counts[0]) if counts else None,
    )


def _flat(value: object) -> tuple[float, ...]:
    """Numbers out of lists in lists, as cameras have them. In a list, what is no finite number keeps its place: those
    behind it belong to the dimensions behind it."""
    if isinstance(value, list):
        return tuple(
            number for inner in value for number in (_flat(inner) if isinstance(inner, list) else (_at(inner),))
        )
    number = finite_number(value)
    return () if number is None else (number,)


def _at(value: object) -> float:
    """One number of a list: infinite where it says so, NaN where it is none."""
    number = finite_number(value)
    return number if number is not None else value if isinstance(value, float) else math.nan
