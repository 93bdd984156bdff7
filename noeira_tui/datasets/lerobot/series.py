"""One episode's numbers, streamed: only its row groups, and of them only the columns that are plotted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetError
from noeira_tui.datasets.facts import Episode, Feature, Series, is_action
from noeira_tui.datasets.lerobot.columns import ColumnNames, matrix
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.source import Source

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

STATE = "observation.state"
_MAX_KEPT = 64


class OpenTables:
    """The data files whose footers were read; each is read once. Not for two threads at once on one file."""

    def __init__(self) -> None:
        self._open: dict[str, ParquetFile] = {}

    def get(self, source: Source, path: str) -> ParquetFile:
        file = self._open.get(path)
        if file is None:
            file = open_parquet(source, path)
            if len(self._open) >= _MAX_KEPT:
                self._open.pop(next(iter(self._open)))
            self._open[path] = file
        return file.on(source)


def read_series(
    source: Source,
    info: LeRobotInfo,
    episode: Episode,
    tables: OpenTables,
    *,
    path: str | None = None,
    state: str = STATE,
) -> Series:
    """State and action of an episode, in frame order; `path` is the file to look in when it is not the episode's own.

    Raises DatasetFileError, or DatasetError when it has no rows there.
    """
    import numpy as np

    if episode.data_file is None and path is None:
        raise DatasetError(f"Episode {episode.index} does not say in which file it is.")
    file = tables.get(source, path if path is not None else episode.data_file or "")
    names = ColumnNames.of(info, state)
    states, actions = names.columns(file, names.state), names.columns(file, names.action)
    order = [name for name in ("episode_index", "frame_index", "timestamp") if name in file.names]
    groups = [
        number
        for number, span in enumerate(file.spans("episode_index"))
        if span.least is None or span.greatest is None or span.least <= episode.index <= span.greatest
    ]
    table = file.read([*order, *states, *actions], groups)
    mine = np.arange(table.num_rows)
    if "episode_index" in order:
        mine = np.flatnonzero(_scalars(table, "episode_index", file) == episode.index)
    if not len(mine):
        raise DatasetError(f"{episode.data_file} has no rows of episode {episode.index}.")
    if "frame_index" in order:
        mine = mine[np.argsort(_scalars(table, "frame_index", file)[mine], kind="stable")]
    fps = info.fps or 30.0
    timestamps = np.arange(len(mine), dtype=np.float64) / fps
    if "timestamp" in order:
        timestamps = _scalars(table, "timestamp", file)[mine]
    return Series(
        episode.index,
        timestamps,
        _stacked(table, states, mine, file),
        _stacked(table, actions, mine, file),
        _dimensions(info, states),
        _dimensions(info, actions),
    )


def _scalars(table: pa.Table, name: str, file: ParquetFile) -> NDArray[np.float64]:
    values: NDArray[np.float64] = matrix(table, name, file.path)[:, 0].astype("float64")
    return values


def _stacked(
    table: pa.Table, names: list[str], mine: NDArray[np.intp], file: ParquetFile
) -> NDArray[np.float64] | None:
    import numpy as np

    if not names:
        return None
    return np.concatenate([matrix(table, name, file.path)[mine] for name in names], axis=1, dtype=np.float64)


def _dimensions(info: LeRobotInfo, columns: list[str]) -> tuple[str, ...]:
    features = {feature.name: feature for feature in info.features}
    if len(columns) > 1:
        return tuple(column.partition(".")[2] if is_action(column) else column for column in columns)
    feature: Feature | None = features.get(columns[0]) if columns else None
    return () if feature is None else feature.names
