"""A LeRobot v3 writer of the checkpointing kind: after each episode everything on disk is whole.

One mp4 per episode and camera and one data file per episode are closed first, then `meta/` is rewritten, `info.json`
last. `meta/noeira_writer_stats.json` says whether the recorder has finished.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noeira_tui.core.files import write_atomically
from noeira_tui.demo.motion import HEIGHT, WIDTH, Motion, Robot, make_motion
from noeira_tui.demo.stats import FeatureStats, aggregate, stats_of
from noeira_tui.demo.tables import (
    FILES_IN_CHUNK,
    EpisodeRow,
    episodes_table,
    frame_columns,
    frames_table,
    listed_stats,
    read_episodes,
    tasks_table,
)
from noeira_tui.demo.video import Mp4Writer, codec_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
WRITER_STATS_PATH = "meta/noeira_writer_stats.json"

_PIXEL_STEP = 8


class LeRobotWriter:
    """Records episodes of a robot into a folder, going on after those that are there already."""

    def __init__(self, folder: Path, robot: Robot, fps: int = 15) -> None:
        self.folder = folder
        self.robot = robot
        self.fps = fps
        table = folder / EPISODES_PATH
        self._rows: tuple[EpisodeRow, ...] = read_episodes(table) if table.is_file() else ()
        self._started_at = time.time()
        self._say_finished(False)

    @property
    def episodes(self) -> int:
        """Episodes that are whole on disk."""
        return len(self._rows)

    @property
    def frames(self) -> int:
        """Frames of the episodes that are whole on disk."""
        return sum(row.length for row in self._rows)

    def record(self, frames: int, seed: int, pace: Callable[[int], bool] = lambda frame: True) -> bool:
        """Record one episode of at most `frames` frames; `pace` is asked before each and ends the episode with False.

        An episode of less than a second is discarded. Returns whether it was kept.
        """
        motion = make_motion(self.robot, frames, seed)
        videos = {camera: self._open_video(camera) for camera in self.robot.cameras}
        samples: dict[str, list[NDArray[np.uint8]]] = {camera: [] for camera in self.robot.cameras}
        length = 0
        while length < frames and pace(length):
            for camera, video in videos.items():
                picture = self.robot.draw(camera, motion.states[length])
                video.write(picture)
                samples[camera].append(picture[::_PIXEL_STEP, ::_PIXEL_STEP].reshape(-1, 3))
            length += 1
        if length < min(frames, self.fps):
            for video in videos.values():
                video.discard()
            return False
        for video in videos.values():
            video.close()
        self._keep(Motion(motion.states[:length], motion.actions[:length]), samples)
        return True

    def finish(self) -> None:
        """Say that nothing more will be written."""
        self._say_finished(True)

    def _open_video(self, camera: str) -> Mp4Writer:
        chunk, file = divmod(self.episodes, FILES_IN_CHUNK)
        path = VIDEO_PATH.format(video_key=camera, chunk_index=chunk, file_index=file)
        return Mp4Writer(self.folder / path, self.fps, HEIGHT, WIDTH)

    def _keep(self, motion: Motion, samples: dict[str, list[NDArray[np.uint8]]]) -> None:
        import numpy as np

        tasks = self._tasks([*self._rows, self.robot.task])
        columns = frame_columns(motion, self.fps, self.episodes, self.frames, tasks.index(self.robot.task))
        length = len(motion.states)
        stats = {name: stats_of(values) for name, values in columns.items()}
        for camera, pictures in samples.items():
            stats[camera] = stats_of(np.concatenate(pictures) / 255.0, count=length)
        row = EpisodeRow(self.episodes, self.robot.task, length, self.frames, stats)
        self._write(DATA_PATH.format(chunk_index=row.place[0], file_index=row.place[1]), frames_table(columns))
        self._rows = (*self._rows, row)
        self._write_meta(tasks)

    def _write_meta(self, tasks: Sequence[str]) -> None:
        totals = {name: aggregate([row.stats[name] for row in self._rows]) for name in self._rows[0].stats}
        self._write("meta/tasks.parquet", tasks_table(tasks))
        self._write(EPISODES_PATH, episodes_table(self._rows, self.robot.cameras, self.fps))
        self._write("meta/stats.json", _json({name: self._listed(name, stats) for name, stats in totals.items()}))
        self._say_finished(False)
        self._write("meta/info.json", _json(self._info(len(tasks))))

    def _tasks(self, rows: Sequence[EpisodeRow | str]) -> list[str]:
        """The tasks in the order in which they came up."""
        return list(dict.fromkeys(row if isinstance(row, str) else row.task for row in rows))

    def _listed(self, name: str, stats: FeatureStats) -> dict[str, Any]:
        return listed_stats(stats, name, name in self.robot.cameras)

    def _info(self, tasks: int) -> dict[str, Any]:
        joints = {"dtype": "float32", "shape": [len(self.robot.joints)], "names": list(self.robot.joints)}
        numbers = {name: {"dtype": "int64", "shape": [1], "names": None} for name in _INT_FEATURES}
        return {
            "codebase_version": "v3.0",
            "robot_type": self.robot.type,
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": tasks,
            "chunks_size": FILES_IN_CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": self.fps,
            "splits": {"train": f"0:{self.episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH,
            "features": {
                "observation.state": joints,
                "action": joints,
                **{camera: self._camera_feature() for camera in self.robot.cameras},
                "timestamp": {"dtype": "float32", "shape": [1], "names": None},
                **numbers,
            },
        }

    def _camera_feature(self) -> dict[str, Any]:
        return {
            "dtype": "video",
            "shape": [HEIGHT, WIDTH, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": HEIGHT,
                "video.width": WIDTH,
                "video.codec": codec_name(),
                "video.pix_fmt": "yuv420p",
                "video.is_depth_map": False,
                "video.fps": self.fps,
                "video.channels": 3,
                "has_audio": False,
            },
        }

    def _say_finished(self, finished: bool) -> None:
        said = {
            "finished": finished,
            "episodes": self.episodes,
            "frames": self.frames,
            "started_at": round(self._started_at, 3),
            "updated_at": round(time.time(), 3),
        }
        self._write(WRITER_STATS_PATH, _json(said))

    def _write(self, path: str, data: bytes) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)


_INT_FEATURES = ("frame_index", "episode_index", "index", "task_index")


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, indent=4).encode()


def write_recording(folder: Path, robot: Robot, episodes: int, seed: int, fps: int = 15) -> None:
    """A finished recording of `episodes` episodes, two to four seconds each; the same seed gives the same motions."""
    writer = LeRobotWriter(folder, robot, fps)
    for number in range(writer.episodes, episodes):
        writer.record(fps * 2 + (seed + number * 7) % (fps * 2), seed + number)
    writer.finish()
