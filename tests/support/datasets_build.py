"""Datasets made for tests: LeRobot v3 with as many episodes as wanted, mp4s as large as wanted, zarr of both kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CAMERAS = ("observation.images.front", "observation.images.wrist")
FPS = 30


def write_v3(
    folder: Path,
    *,
    episodes: int = 5,
    frames: int = 40,
    cameras: tuple[str, ...] = CAMERAS,
    joints: int = 6,
    statistics: bool = True,
    video_bytes: int = 0,
) -> Path:
    """A LeRobot v3 dataset with one data file, a row group an episode, and one mp4 a camera.

    The mp4s are short unless `video_bytes` asks for more than their frames take.
    """
    rng = np.random.default_rng(episodes * 1000 + frames)
    lengths = [frames + index % 7 for index in range(episodes)]
    total = sum(lengths)
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    _write_info(folder, episodes, total, cameras, joints)
    index = "__index_level_0__"
    pq.write_table(pa.table({"task_index": [0, 1], index: ["pick", "place"]}), folder / "meta" / "tasks.parquet")
    _write_episodes(folder, lengths, cameras, joints, statistics)
    _write_data(folder, lengths, joints, rng)
    for camera in cameras:
        path = folder / "videos" / camera / "chunk-000" / "file-000.mp4"
        write_mp4(path, total, size_bytes=video_bytes)
    stats = {"observation.state": {"min": [0.0] * joints, "max": [1.0] * joints, "mean": [0.5] * joints}}
    (folder / "meta" / "stats.json").write_text(json.dumps(stats))
    return folder


def _write_info(folder: Path, episodes: int, total: int, cameras: tuple[str, ...], joints: int) -> None:
    vector = {"dtype": "float32", "shape": [joints], "names": [f"j{number}" for number in range(joints)]}
    number = {"dtype": "int64", "shape": [1], "names": None}
    picture = {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"]}
    info = {
        "codebase_version": "v3.0",
        "robot_type": "so101_follower",
        "total_episodes": episodes,
        "total_frames": total,
        "total_tasks": 2,
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{episodes}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "features": {
            "observation.state": vector,
            "action": vector,
            **dict.fromkeys(cameras, picture),
            "timestamp": {"dtype": "float32", "shape": [1], "names": None},
            **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), number),
        },
    }
    (folder / "meta" / "info.json").write_text(json.dumps(info, indent=4))


def _write_episodes(folder: Path, lengths: list[int], cameras: tuple[str, ...], joints: int, statistics: bool) -> None:
    ends = np.cumsum(lengths)
    starts = ends - lengths
    zeros = np.zeros(len(lengths), np.int64)
    columns: dict[str, Any] = {
        "episode_index": np.arange(len(lengths)),
        "tasks": [["pick" if row % 2 else "place"] for row in range(len(lengths))],
        "length": np.array(lengths),
        "data/chunk_index": zeros,
        "data/file_index": zeros,
        "dataset_from_index": starts,
        "dataset_to_index": ends,
    }
    for camera in cameras:
        columns[f"videos/{camera}/chunk_index"] = zeros
        columns[f"videos/{camera}/file_index"] = zeros
        columns[f"videos/{camera}/from_timestamp"] = starts / FPS
        columns[f"videos/{camera}/to_timestamp"] = ends / FPS
    if statistics:
        rng = np.random.default_rng(1)
        for feature in ("observation.state", "action", *cameras, "timestamp", "frame_index", "episode_index", "index"):
            for name in ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"):
                columns[f"stats/{feature}/{name}"] = list(rng.random((len(lengths), joints)))
    columns["meta/episodes/chunk_index"] = zeros
    columns["meta/episodes/file_index"] = zeros
    pq.write_table(pa.table(columns), folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")


def _write_data(folder: Path, lengths: list[int], joints: int, rng: np.random.Generator) -> None:
    writer: pq.ParquetWriter | None = None
    first = 0
    for episode, length in enumerate(lengths):
        values = rng.standard_normal((2, length * joints)).astype(np.float32)
        frames = np.arange(length)
        table = pa.table(
            {
                "observation.state": pa.FixedSizeListArray.from_arrays(pa.array(values[0]), joints),
                "action": pa.FixedSizeListArray.from_arrays(pa.array(values[1]), joints),
                "timestamp": pa.array((frames / FPS).astype(np.float32)),
                "frame_index": pa.array(frames),
                "episode_index": pa.array(np.full(length, episode)),
                "index": pa.array(frames + first),
                "task_index": pa.array(np.full(length, episode % 2)),
            }
        )
        writer = writer or pq.ParquetWriter(folder / "data" / "chunk-000" / "file-000.parquet", table.schema)
        writer.write_table(table)
        first += length
    assert writer is not None
    writer.close()


def write_mp4(
    path: Path, frames: int, *, size_bytes: int = 0, height: int = 48, width: int = 64, gop: int = 10
) -> None:
    """An mp4 of moving pictures; with `size_bytes` of noise, repeated until the file is about that large."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    with av.open(str(path), "w", format="mp4") as container:
        options = {"g": str(gop), "bf": "0", "preset": "ultrafast"}
        if size_bytes:
            options |= {"qp": "4"}
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        packets: list[bytes] = []
        keys: list[bool] = []
        base = rng.integers(0, 255, (height, width, 3), np.uint8)
        unique = min(frames, 2 * gop)
        for number in range(unique):
            picture = rng.integers(0, 255, base.shape, np.uint8) if size_bytes else np.roll(base, number, axis=1)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                packets.append(bytes(packet))
                keys.append(packet.is_keyframe)
        for packet in stream.encode(None):
            packets.append(bytes(packet))
            keys.append(packet.is_keyframe)
        count = max(frames, int(size_bytes / (sum(map(len, packets)) / len(packets)))) if size_bytes else frames
        for number in range(count):
            packet = av.Packet(packets[number % len(packets)])
            packet.stream = stream
            packet.time_base = stream.time_base or stream.codec_context.time_base
            step = round(1 / (FPS * float(packet.time_base)))
            packet.pts = packet.dts = number * step
            packet.duration = step
            packet.is_keyframe = keys[number % len(packets)]
            container.mux(packet)


def write_zarr(folder: Path, *, generation: int, consolidated: bool, extra_arrays: int = 0, episodes: int = 4) -> Path:
    """A store in the layout of Diffusion Policy, written by the zarr that is installed."""
    import warnings

    import zarr

    ends = np.cumsum([10 + row for row in range(episodes)]).astype(np.int64)
    frames = int(ends[-1])
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = zarr.open_group(str(folder), mode="w", zarr_format=3 if generation == 3 else 2)
        root.attrs["fps"] = 20
        data, meta = root.create_group("data"), root.create_group("meta")
        arrays = {
            "state": rng.standard_normal((frames, 5)).astype(np.float32),
            "action": rng.standard_normal((frames, 2)).astype(np.float32),
            "img": rng.integers(0, 255, (frames, 12, 16, 3), np.uint8),
        }
        arrays |= {f"extra_{number:02d}": np.arange(frames, dtype=np.float64) for number in range(extra_arrays)}
        for name, values in arrays.items():
            array = data.create_array(name, shape=values.shape, dtype=values.dtype, chunks=(7, *values.shape[1:]))
            array[:] = values
        made = meta.create_array("episode_ends", shape=ends.shape, dtype=ends.dtype, chunks=ends.shape)
        made[:] = ends
        if consolidated:
            zarr.consolidate_metadata(str(folder), zarr_format=3 if generation == 3 else 2)
    return folder
