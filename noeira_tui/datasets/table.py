"""A dataset that is one parquet file with a row a step, as catalog datasets often are: its footer tells the most."""

from __future__ import annotations

from collections import Counter

from noeira_tui.core.errors import DatasetError
from noeira_tui.datasets.facts import DatasetInfo, Feature, FeatureStats, Picture, Problem, Series, is_action
from noeira_tui.datasets.jsonfacts import Problems, whole_number
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.layout import Generation
from noeira_tui.datasets.lerobot.series import OpenTables, read_series
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes, unknown_episodes
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.spans import Lengths

_INDEX = "episode_index"
_OBSERVED = ("observation", "obs", "state")


class TableReader:
    """Looks at one parquet file."""

    def __init__(self) -> None:
        self._problems = Problems()
        self._files = OpenTables()
        self._episodes: Lengths | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems.found

    def summary(self, source: Source) -> DatasetInfo:
        file = self._files.get(source, "")
        features = tuple(_feature(name, file.type_of(name)) for name in file.names)
        spans = file.spans(_INDEX)
        told = [span.greatest for span in spans if span.greatest is not None]
        return DatasetInfo(
            uri=source.shown,
            format="parquet",
            num_episodes=max(told) + 1 if len(told) == len(spans) and told else None,
            total_frames=file.rows,
            features=features,
            observation=tuple(feature for feature in features if feature.name.startswith(_OBSERVED)),
            action=tuple(feature for feature in features if is_action(feature.name)),
            has_timestamps="timestamp" in file.names,
            problems=self.problems,
        )

    def frames(self, source: Source) -> int | None:
        return self.summary(source).total_frames

    def episodes(self, source: Source) -> Lengths:
        if self._episodes is None:
            file = self._files.get(source, "")
            counts = Counter[int]()
            if _INDEX not in file.names:
                message = f"{source.name} has no column `{_INDEX}`: where episodes end is not told."
                self._problems.add("missing_column", source.name, _INDEX, message)
            else:
                values = file.read([_INDEX])[_INDEX].to_pylist()
                counts.update(value for value in map(whole_number, values) if value is not None)
            self._episodes = Lengths(tuple(counts[index] for index in sorted(counts)), source.name)
        return self._episodes

    def deepen(self, source: Source) -> None:
        """The column of episodes is all there is to look at."""
        self.episodes(source)

    def series(self, source: Source, episode_index: int) -> Series:
        episode = self.episodes(source).find(episode_index)
        if episode is None:
            raise DatasetError(f"There is no episode {episode_index}.")
        names = self._files.get(source, "").names
        state = next((name for start in _OBSERVED for name in names if name.startswith(start)), "observation.state")
        return read_series(source, _NO_INFO, episode, self._files, path="", state=state)

    def proprio(self, source: Source, wishes: ReadingWishes) -> ProprioPlan:
        raise unknown_episodes(source)

    def stats(self, source: Source) -> tuple[FeatureStats, ...]:
        return ()

    def picture(self, source: Source, episode_index: int, camera: str, at_s: float) -> Picture:
        raise DatasetError(f"There is no camera {camera!r}.")


_NO_INFO = LeRobotInfo("parquet", None, Generation.V3, None, None, None, None, None, 1000, "", "", (), ())


def _feature(name: str, kind: str) -> Feature:
    """A column as a feature: a list of fixed length has that shape, one of any length is told by -1."""
    inner, _, length = kind.partition("[")
    size = length.rstrip("]")
    element = inner.rpartition(": ")[2].split(">")[0] if "<" in inner else inner
    shape = (int(size),) if size.isdigit() else (-1,) if "list<" in inner else (1,)
    return Feature(name, {"float": "float32", "double": "float64", "halffloat": "float16"}.get(element, element), shape)
