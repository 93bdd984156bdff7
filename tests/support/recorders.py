"""Two recorders that write as the real ones do, in the same order and with the same gaps, with tiny contents.

`CheckpointingRecorder` closes one mp4 per episode and camera and rewrites all of `meta/` after each episode.

`LeRobotRecorder` writes as LeRobot 0.6.1 does (`dataset_writer.py`, `dataset_metadata.py`, `video_utils.py`):
`tasks.parquet` when a task is new; frames into an open data file whose footer comes when it is closed; each camera's
video encoded in a `tmp*/` folder of the root, moved for a first one, else joined with the newest into a file in the
system's temporary folder (`moov` first) and moved over it; episode rows buffered, ten at a time into an open table;
`info.json` and `stats.json` rewritten in place after every episode.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CAMERAS = ("observation.images.front", "observation.images.wrist")
FPS = 15
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"

Step = Callable[[str], None]
"""Called between two writes with what comes next: a place to look, to wait, or to die."""


def box(kind: bytes, payload: bytes) -> bytes:
    return (8 + len(payload)).to_bytes(4) + kind + payload


@dataclass
class _Recorder:
    """What both have in common. `seed` makes the contents."""

    folder: Path
    seed: int = 0
    cameras: tuple[str, ...] = CAMERAS
    chunks_size: int = 1000
    step: Step = lambda what: None
    episodes: int = 0
    frames: int = 0
    tasks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def payload(self, frames: int) -> bytes:
        """What stands for the encoded frames of one episode."""
        return self._random.randbytes(40 * frames)

    def table(self, length: int) -> pa.Table:
        return pa.table(
            {
                "observation.state": pa.array([self._random.random() for _ in range(length)], pa.float32()),
                "timestamp": pa.array([frame / FPS for frame in range(length)], pa.float32()),
                "frame_index": pa.array(range(length), pa.int64()),
                "episode_index": pa.array([self.episodes] * length, pa.int64()),
                "index": pa.array(range(self.frames, self.frames + length), pa.int64()),
            }
        )

    def info(self) -> dict[str, Any]:
        video = {"dtype": "video", "shape": [96, 128, 3], "names": ["height", "width", "channels"]}
        return {
            "codebase_version": "v3.0",
            "robot_type": "so101_follower",
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": len(self.tasks),
            "chunks_size": self.chunks_size,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": FPS,
            "splits": {"train": f"0:{self.episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH,
            "features": {"observation.state": {"dtype": "float32", "shape": [1], "names": None}}
            | dict.fromkeys(self.cameras, video),
        }

    def stats(self) -> dict[str, Any]:
        return {"observation.state": {"mean": [self._random.random()], "count": [self.frames]}}

    def write_in_place(self, path: str, data: object) -> None:
        """As LeRobot's `write_json`: opened and truncated, then written, with a moment in between."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=4)
        with place.open("w") as stream:
            stream.write(text[: len(text) // 2])
            stream.flush()
            self.step(f"half of {path}")
            stream.write(text[len(text) // 2 :])
        self.step(path)

    def write_tasks(self) -> None:
        place = self.folder / "meta/tasks.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"task_index": range(len(self.tasks)), "__index_level_0__": self.tasks}), place)
        self.step("meta/tasks.parquet")


@dataclass
class CheckpointingRecorder(_Recorder):
    """After each episode everything on disk is whole; `meta/noeira_writer_stats.json` says whether more may come."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def record(self, frames: int = 20, task: str = "push the block") -> None:
        """One episode: its videos grow and are closed, then the data file, then `meta/` with `info.json` last."""
        self.say_finished(False)
        chunk, file = divmod(self.episodes, self.chunks_size)
        place: dict[str, Any] = {"chunk_index": chunk, "file_index": file}
        for camera in self.cameras:
            self._video(self.folder / VIDEO_PATH.format(video_key=camera, **place), frames)
        if task not in self.tasks:
            self.tasks.append(task)
        data = self.folder / DATA_PATH.format(**place)
        data.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(self.table(frames), data)
        self.step("data")
        self.rows.append(_row(self, frames, task, (chunk, file), dict.fromkeys(self.cameras, (chunk, file, 0.0))))
        self.episodes += 1
        self.frames += frames
        self.write_tasks()
        _replace(self.folder / EPISODES_PATH.format(chunk_index=0, file_index=0), self.rows)
        self.step("meta/episodes")
        self.write_in_place("meta/stats.json", self.stats())
        self.say_finished(False)
        self.write_in_place("meta/info.json", self.info())

    def finish(self) -> None:
        self.say_finished(True)

    def say_finished(self, finished: bool) -> None:
        self.write_in_place("meta/noeira_writer_stats.json", {"finished": finished, "episodes": self.episodes})

    def _video(self, place: Path, frames: int) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as stream:
            stream.write(box(b"ftyp", b"isom") + b"\0\0\0\0mdat")
            stream.flush()
            self.step(f"open {place.name}")
            payload = self.payload(frames)
            stream.write(payload)
            stream.flush()
            self.step(f"growing {place.name}")
            stream.seek(12)
            stream.write((8 + len(payload)).to_bytes(4))
            stream.seek(0, 2)
            stream.write(box(b"moov", b"index"))
        self.step(f"closed {place.name}")


@dataclass
class LeRobotRecorder(_Recorder):
    """The tables stay open until `finalize`, or until `data_file_bytes` are reached; `abandon` is a recorder killed."""

    data_file_bytes: int = 100_000_000
    video_file_bytes: int = 200_000_000
    metadata_buffer: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self._data: pq.ParquetWriter | None = None
        self._meta: pq.ParquetWriter | None = None
        self._buffer: list[dict[str, Any]] = []
        self._data_place = [0, 0]
        self._meta_place = [0, 0]
        self._videos: dict[str, tuple[int, int, float, bytes]] = {}
        self.write_in_place("meta/info.json", self.info())

    def record(self, frames: int = 20, task: str = "push the block") -> None:
        """`add_frame` for each frame, then `save_episode`."""
        images = [self.folder / "images" / camera / f"episode-{self.episodes:06d}" for camera in self.cameras]
        for folder in images:
            folder.mkdir(parents=True, exist_ok=True)
            for frame in range(0, frames, 5):
                (folder / f"frame-{frame:06d}.png").write_bytes(b"\x89PNG")
        self.step("images")
        if task not in self.tasks:
            self.tasks.append(task)
            self.write_tasks()
        self._save_data(frames)
        videos = {}
        for camera, folder in zip(self.cameras, images, strict=True):
            temporary = Path(tempfile.mkdtemp(dir=self.folder)) / f"{camera}_{self.episodes:03d}.mp4"
            payload = self.payload(frames)
            temporary.write_bytes(box(b"ftyp", b"isom") + box(b"mdat", payload) + box(b"moov", b"index"))
            shutil.rmtree(folder)
            self.step("encoded")
            videos[camera] = self._save_video(camera, temporary, payload, frames)
            shutil.rmtree(temporary.parent)
            if self.episodes == 0:
                self.write_in_place("meta/info.json", self.info())
        data_place = (self._data_place[0], self._data_place[1])
        self._buffer.append(_row(self, frames, task, data_place, videos))
        if len(self._buffer) >= self.metadata_buffer:
            self._flush()
        self.episodes += 1
        self.frames += frames
        self.write_in_place("meta/info.json", self.info())
        self.write_in_place("meta/stats.json", self.stats())

    def finalize(self) -> None:
        """Close everything: only now can the rows be read."""
        if self._data is not None:
            self._data.close()
        self.step("data closed")
        self._flush()
        if self._meta is not None:
            self._meta.close()
        self.step("meta closed")
        self._data = self._meta = None

    def abandon(self) -> None:
        """Leave the files as a killed process does: what was written stays, no footer comes."""
        for writer in (self._data, self._meta):
            if writer is not None:
                place = Path(writer.where)
                there = place.read_bytes()
                writer.close()
                place.write_bytes(there)
        self._data = self._meta = None

    def _save_data(self, frames: int) -> None:
        table = self.table(frames)
        place = self.folder / DATA_PATH.format(chunk_index=self._data_place[0], file_index=self._data_place[1])
        if self._data is not None and place.stat().st_size >= self.data_file_bytes:
            self._data.close()
            self._data = None
            self._next(self._data_place)
            place = self.folder / DATA_PATH.format(chunk_index=self._data_place[0], file_index=self._data_place[1])
        if self._data is None:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._data = pq.ParquetWriter(str(place), table.schema, compression="snappy", use_dictionary=True)
        self._data.write_table(table)
        self.step("data row group")

    def _save_video(self, camera: str, temporary: Path, payload: bytes, frames: int) -> tuple[int, int, float]:
        known = self._videos.get(camera)
        if known is None or len(known[3]) + len(payload) >= self.video_file_bytes:
            position = [0, 0] if known is None else [known[0], known[1]]
            if known is not None:
                self._next(position)
            chunk, file, start, joined = position[0], position[1], 0.0, payload
            place = self.folder / VIDEO_PATH.format(video_key=camera, chunk_index=chunk, file_index=file)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(str(temporary), str(place))
        else:
            chunk, file, start, before = known
            joined = before + payload
            place = self.folder / VIDEO_PATH.format(video_key=camera, chunk_index=chunk, file_index=file)
            self._replace_video(place, joined)
            temporary.unlink()
        self._videos[camera] = (chunk, file, start + frames / FPS, joined)
        self.step(f"video {camera}")
        return chunk, file, start

    def _replace_video(self, place: Path, joined: bytes) -> None:
        data = box(b"ftyp", b"isom") + box(b"moov", b"index") + box(b"mdat", joined)
        if self.episodes % 2:
            # `shutil.move` across file systems is a plain copy over the old file.
            with place.open("wb") as stream:
                stream.write(data[: len(data) // 2])
                stream.flush()
                self.step("half of a copied video")
                stream.write(data[len(data) // 2 :])
            return
        with tempfile.NamedTemporaryFile(dir=self.folder.parent, suffix=".mp4", delete=False) as stream:
            stream.write(data)
        Path(stream.name).replace(place)

    def _flush(self) -> None:
        if not self._buffer:
            return
        table = pa.Table.from_pylist(self._buffer)
        if self._meta is None:
            chunk, file = self._meta_place
            place = self.folder / EPISODES_PATH.format(chunk_index=chunk, file_index=file)
            place.parent.mkdir(parents=True, exist_ok=True)
            self._meta = pq.ParquetWriter(str(place), table.schema, compression="snappy", use_dictionary=True)
        self._meta.write_table(table)
        self._buffer.clear()
        self.step("episode rows")

    def _next(self, place: list[int]) -> None:
        place[:] = [place[0] + 1, 0] if place[1] == self.chunks_size - 1 else [place[0], place[1] + 1]


def _row(
    recorder: _Recorder, frames: int, task: str, data: tuple[int, int], videos: dict[str, tuple[int, int, float]]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "episode_index": recorder.episodes,
        "tasks": [task],
        "length": frames,
        "data/chunk_index": data[0],
        "data/file_index": data[1],
        "dataset_from_index": recorder.frames,
        "dataset_to_index": recorder.frames + frames,
    }
    for camera, (chunk, file, start) in videos.items():
        row |= {
            f"videos/{camera}/chunk_index": chunk,
            f"videos/{camera}/file_index": file,
            f"videos/{camera}/from_timestamp": start,
            f"videos/{camera}/to_timestamp": start + frames / FPS,
        }
    return row


def _replace(place: Path, rows: Iterable[dict[str, Any]]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.tmp")
    pq.write_table(pa.Table.from_pylist(list(rows)), beside)
    beside.replace(place)
