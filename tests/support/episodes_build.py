"""Episodes made for tests of ingest, written as LeRobot v3, v2.1 or zarr, laid out as badly as wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.hashing import content_hash

FPS = 30
V3_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
V2_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"


@dataclass(frozen=True, eq=False)
class Take:
    """One episode: its index and its numbers."""

    index: int
    state: NDArray[np.float32]
    action: NDArray[np.float32]
    times: NDArray[np.float32]
    frames: NDArray[np.int64]

    @property
    def length(self) -> int:
        return len(self.state)

    @property
    def digest(self) -> str:
        """The hash that it must have, wherever it is read from."""
        return content_hash(EpisodeFrames(self.state, self.action, self.times))


def take(index: int, length: int = 40, *, joints: int = 4, seed: int = 0) -> Take:
    """An episode of smooth motion."""
    rng = np.random.default_rng([seed, index, length])
    at = np.arange(length) / FPS
    phases, speeds = rng.random((2, joints)) * 6
    state = np.sin(at[:, None] * speeds + phases).astype(np.float32)
    action = (state + rng.normal(0, 0.01, state.shape)).astype(np.float32)
    return Take(index, state, action, at.astype(np.float32), np.arange(length))


def takes(count: int, length: int = 40, *, seed: int = 0, first: int = 0) -> list[Take]:
    return [take(first + number, length + number % 5, seed=seed) for number in range(count)]


def rows_of(episodes: Sequence[Take], *, image_bytes: int = 0) -> pa.Table:
    """Their frames one behind the other, with pictures in a column of their own if wanted."""
    index = np.concatenate([np.full(one.length, one.index) for one in episodes])
    joints = episodes[0].state.shape[1]

    def vectors(name: str) -> pa.Array:
        values = np.concatenate([getattr(one, name) for one in episodes])
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), joints)

    columns: dict[str, Any] = {"observation.state": vectors("state"), "action": vectors("action")}
    if image_bytes:
        rng = np.random.default_rng(1)
        pictures = [{"bytes": rng.bytes(image_bytes), "path": f"{row}.png"} for row in range(len(index))]
        columns["observation.images.top"] = pa.array(
            pictures, pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        )
    return pa.table(
        columns
        | {
            "timestamp": np.concatenate([one.times for one in episodes]),
            "frame_index": np.concatenate([one.frames for one in episodes]),
            "episode_index": index,
            "index": np.arange(len(index)),
            "task_index": np.zeros(len(index), np.int64),
        }
    )


def write_info(folder: Path, episodes: Sequence[Take], version: str, data_path: str, **more: object) -> None:
    joints = episodes[0].state.shape[1]
    vector = {"dtype": "float32", "shape": [joints], "names": [f"j{number}" for number in range(joints)]}
    number = {"dtype": "int64", "shape": [1], "names": None}
    info = {
        "codebase_version": version,
        "robot_type": "so101_follower",
        "total_episodes": len(episodes),
        "total_frames": sum(one.length for one in episodes),
        "total_tasks": 1,
        "chunks_size": 1000,
        "fps": FPS,
        "data_path": data_path,
        "features": {
            "observation.state": vector,
            "action": vector,
            "timestamp": {"dtype": "float32", "shape": [1], "names": None},
            **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), number),
        },
        **more,
    }
    (folder / "meta").mkdir(parents=True, exist_ok=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))


def write_v3(
    folder: Path,
    episodes: Sequence[Take],
    *,
    cuts: Sequence[int] = (),
    group_rows: int = 100,
    order: NDArray[np.intp] | None = None,
    image_bytes: int = 0,
    told: Mapping[int, int] | None = None,
    data_files: Sequence[int] | None = None,
    statistics: bool = True,
) -> Path:
    """LeRobot v3. `cuts` are the rows at which a new data file begins, whichever episode that cuts in two; `order` is
    another order of the rows; `told` are the lengths in the episode table, when they are others than the real ones."""
    write_info(folder, episodes, "v3.0", V3_DATA)
    table = rows_of(episodes, image_bytes=image_bytes)
    table = table if order is None else table.take(pa.array(order))
    (folder / "data" / "chunk-000").mkdir(parents=True, exist_ok=True)
    edges = [0, *cuts, table.num_rows]
    for number, (start, stop) in enumerate(pairwise(edges)):
        path = folder / "data" / "chunk-000" / f"file-{number:03d}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=group_rows, write_statistics=statistics)
    starts = np.cumsum([0, *(one.length for one in episodes)])[:-1]
    found = [int(np.searchsorted(edges, start, "right")) - 1 for start in starts]
    write_episode_table(folder, episodes, data_files if data_files is not None else found, told or {})
    tasks = pa.table({"task_index": [0], "__index_level_0__": ["push the cube"]})
    pq.write_table(tasks, folder / "meta" / "tasks.parquet")
    return folder


def write_episode_table(
    folder: Path, episodes: Sequence[Take], data_files: Sequence[int], told: Mapping[int, int]
) -> None:
    lengths = np.array([told.get(one.index, one.length) for one in episodes])
    ends = np.cumsum(lengths)
    columns = {
        "episode_index": [one.index for one in episodes],
        "tasks": [["push the cube"]] * len(episodes),
        "length": lengths,
        "data/chunk_index": np.zeros(len(episodes), np.int64),
        "data/file_index": list(data_files),
        "dataset_from_index": ends - lengths,
        "dataset_to_index": ends,
    }
    path = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def write_v21(folder: Path, episodes: Sequence[Take]) -> Path:
    """LeRobot v2.1: a file an episode."""
    write_info(folder, episodes, "v2.1", V2_DATA)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    for one in episodes:
        pq.write_table(rows_of([one]), folder / "data" / "chunk-000" / f"episode_{one.index:06d}.parquet")
    lines = [{"episode_index": one.index, "tasks": ["push the cube"], "length": one.length} for one in episodes]
    (folder / "meta" / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "meta" / "tasks.jsonl").write_text(json.dumps({"task_index": 0, "task": "push the cube"}) + "\n")
    return folder


def write_zarr(folder: Path, episodes: Sequence[Take], *, generation: int, chunk_frames: int = 33) -> Path:
    """The layout of Diffusion Policy, consolidated, without timestamps."""
    import warnings

    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = zarr.open_group(str(folder), mode="w", zarr_format=3 if generation == 3 else 2)
        data, meta = root.create_group("data"), root.create_group("meta")
        for name in ("state", "action"):
            values = np.concatenate([getattr(one, name) for one in episodes])
            made = data.create_array(
                name, shape=values.shape, dtype=values.dtype, chunks=(chunk_frames, values.shape[1])
            )
            made[:] = values
        ends = np.cumsum([one.length for one in episodes]).astype(np.int64)
        array = meta.create_array("episode_ends", shape=ends.shape, dtype=ends.dtype, chunks=ends.shape)
        array[:] = ends
        zarr.consolidate_metadata(str(folder), zarr_format=3 if generation == 3 else 2)
    return folder


def zarr_digest(one: Take) -> str:
    """The hash of an episode that has no timestamps."""
    return content_hash(EpisodeFrames(one.state, one.action, None))
