"""The parquet tables of a LeRobot v3 dataset: frames, episodes, tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noeira_tui.demo.stats import NAMES, QUANTILES, FeatureStats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noeira_tui.demo.motion import Motion

FILES_IN_CHUNK = 1000
SCALARS = ("timestamp", "frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True)
class EpisodeRow:
    """One episode: its frames are `from_index` up to, not with, `from_index + length` of the whole dataset.

    Frames and videos of episode n are in the n-th data file and the n-th video of each camera.
    """

    index: int
    task: str
    length: int
    from_index: int
    stats: Mapping[str, FeatureStats]

    @property
    def place(self) -> tuple[int, int]:
        """Chunk and file index of its data file and its videos."""
        return divmod(self.index, FILES_IN_CHUNK)


def frame_columns(motion: Motion, fps: int, episode: int, from_index: int, task_index: int) -> dict[str, NDArray[Any]]:
    """The columns of one episode's frames, by feature; joints have shape (frames, joints), the others (frames, 1)."""
    import numpy as np

    length = len(motion.states)
    frames = np.arange(length, dtype=np.int64)
    scalars: dict[str, NDArray[Any]] = {
        "timestamp": (frames / fps).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(length, episode, np.int64),
        "index": frames + from_index,
        "task_index": np.full(length, task_index, np.int64),
    }
    columns: dict[str, NDArray[Any]] = {"observation.state": motion.states, "action": motion.actions}
    for name, values in scalars.items():
        columns[name] = values.reshape(-1, 1)
    return columns


def frames_table(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """One episode's frames as a parquet file."""
    import pyarrow as pa

    arrays: dict[str, Any] = {}
    features: dict[str, Any] = {}
    for name, values in columns.items():
        value = {"dtype": str(values.dtype), "_type": "Value"}
        if name in SCALARS:
            arrays[name] = pa.array(values[:, 0])
            features[name] = value
        else:
            arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
            features[name] = {"feature": value, "length": values.shape[1], "_type": "List"}
    table = pa.table(arrays).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    return _parquet(table)


def tasks_table(tasks: Sequence[str]) -> bytes:
    """`meta/tasks.parquet`, with the text in a pandas index, as LeRobot's own writer leaves it."""
    import pyarrow as pa

    def column(name: str | None, field: str | None, kind: tuple[str, str]) -> dict[str, str | None]:
        return {"name": name, "field_name": field, "pandas_type": kind[0], "numpy_type": kind[1], "metadata": None}

    index = "__index_level_0__"
    pandas = {
        "index_columns": [index],
        "column_indexes": [column(None, None, ("unicode", "object"))],
        "columns": [column("task_index", "task_index", ("int64", "int64")), column(None, index, ("unicode", "object"))],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.3.3",
    }
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), index: pa.array(tasks, pa.string())})
    return _parquet(table.replace_schema_metadata({"pandas": json.dumps(pandas)}))


def episodes_table(rows: Sequence[EpisodeRow], cameras: Sequence[str], fps: int) -> bytes:
    """`meta/episodes/…`: where each episode is, and its statistics."""
    import pyarrow as pa

    whole = {
        "episode_index": [row.index for row in rows],
        "tasks": [[row.task] for row in rows],
        "length": [row.length for row in rows],
        "data/chunk_index": [row.place[0] for row in rows],
        "data/file_index": [row.place[1] for row in rows],
        "dataset_from_index": [row.from_index for row in rows],
        "dataset_to_index": [row.from_index + row.length for row in rows],
    }
    columns = {name: pa.array(values) for name, values in whole.items()}
    for camera in cameras:
        columns[f"videos/{camera}/chunk_index"] = pa.array([row.place[0] for row in rows])
        columns[f"videos/{camera}/file_index"] = pa.array([row.place[1] for row in rows])
        columns[f"videos/{camera}/from_timestamp"] = pa.array([0.0 for _ in rows], pa.float64())
        columns[f"videos/{camera}/to_timestamp"] = pa.array([row.length / fps for row in rows], pa.float64())
    for feature in rows[0].stats:
        for name in NAMES:
            values = [_listed(row.stats[feature], feature, name, feature in cameras) for row in rows]
            columns[f"stats/{feature}/{name}"] = pa.array(values)
    columns["meta/episodes/chunk_index"] = pa.array([0 for _ in rows], pa.int64())
    columns["meta/episodes/file_index"] = pa.array([0 for _ in rows], pa.int64())
    return _parquet(pa.table(columns))


def read_episodes(path: Path) -> tuple[EpisodeRow, ...]:
    """The rows of an episodes table that this module wrote."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path).to_pylist()
    features = [name.split("/")[1] for name in (rows[0] if rows else {}) if name.endswith("/mean")]
    return tuple(
        EpisodeRow(
            index=row["episode_index"],
            task=row["tasks"][0],
            length=row["length"],
            from_index=row["dataset_from_index"],
            stats={feature: _stats_from(row, feature) for feature in features},
        )
        for row in rows
    )


def listed_stats(stats: FeatureStats, feature: str, is_picture: bool) -> dict[str, Any]:
    """A feature's statistics as `meta/stats.json` has them."""
    return {name: _listed(stats, feature, name, is_picture) for name in NAMES}


def _listed(stats: FeatureStats, feature: str, name: str, is_picture: bool) -> list[Any]:
    if name == "count":
        return [stats.count]
    values: list[Any] = stats.value(name).tolist()  # type: ignore[union-attr] # only `count` is a plain number
    if is_picture:
        return [[[value]] for value in values]
    if name in {"min", "max"} and feature in SCALARS and feature != "timestamp":
        return [int(value) for value in values]
    return values


def _stats_from(row: Mapping[str, Any], feature: str) -> FeatureStats:
    import numpy as np

    def flat(name: str) -> NDArray[np.float64]:
        return np.asarray(row[f"stats/{feature}/{name}"], np.float64).reshape(-1)

    return FeatureStats(
        flat("min"),
        flat("max"),
        flat("mean"),
        flat("std"),
        row[f"stats/{feature}/count"][0],
        tuple(flat(name) for name in QUANTILES),
    )


def _parquet(table: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="snappy")
    data: bytes = sink.getvalue().to_pybytes()
    return data
