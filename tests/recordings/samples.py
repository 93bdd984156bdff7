"""Small recordings made of bytes: real structure, no encoder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

REAL_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Real datasets beside the repository, where they are at hand."""


def box(kind: bytes, payload: bytes = b"") -> bytes:
    return (8 + len(payload)).to_bytes(4) + kind + payload


MP4 = box(b"ftyp", b"isom") + box(b"mdat", b"frames") + box(b"moov", b"index")


def episodes_table(lengths: list[int], files: list[int] | None = None) -> bytes:
    """An episodes table: episode n has `lengths[n]` frames, in the data file `files[n]` of chunk 0."""
    sink = pa.BufferOutputStream()
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    table = pa.table(
        {
            "episode_index": pa.array(range(len(lengths)), pa.int64()),
            "length": pa.array(lengths, pa.int64()),
            "dataset_from_index": pa.array(starts, pa.int64()),
            "dataset_to_index": pa.array([a + b for a, b in zip(starts, lengths, strict=True)], pa.int64()),
            "data/chunk_index": pa.array([0 for _ in lengths], pa.int64()),
            "data/file_index": pa.array(files or [0 for _ in lengths], pa.int64()),
        }
    )
    pq.write_table(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


PARQUET = episodes_table([50, 48])
"""A whole table, wherever one is needed; as `meta/episodes/` it holds the two episodes of INFO."""
INFO = {"codebase_version": "v3.0", "total_episodes": 2, "total_frames": 98, "fps": 15}

FRONT = "videos/observation.images.front/chunk-000/file-000.mp4"
TABLE = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"


def make_recording(projects: Path, project: str = "tower", dataset: str = "trial") -> Path:
    """A complete recording of six files, last changed long ago."""
    folder = projects / project / "datasets" / dataset
    contents = {
        FRONT: MP4,
        TABLE: PARQUET,
        EPISODES: PARQUET,
        "meta/tasks.parquet": PARQUET,
        "meta/stats.json": b"{}",
        "meta/info.json": json.dumps(INFO).encode(),
    }
    for path, data in contents.items():
        put(folder / path, data)
    return folder


def put(path: Path, data: bytes, changed_at: float = 1_000_000.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (changed_at, changed_at))
    return path
