"""`meta/info.json`: what the recorder says about the recording, read once and believed only where it makes sense."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.recordings.layout import INFO, WRITER_STATS

_DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


@dataclass(frozen=True)
class Info:
    """Counts and `fps` are None where they cannot be read. `cameras` are the features that are kept as video.

    `data_path` and `video_path` are templates with `chunk_index`, `file_index` and `video_key`.
    """

    episodes: int | None = None
    frames: int | None = None
    fps: float | None = None
    tasks: int | None = None
    version: str | None = None
    cameras: tuple[str, ...] = ()
    data_path: str = _DATA_PATH
    video_path: str = _VIDEO_PATH

    @property
    def layout(self) -> tuple[object, ...]:
        """What the tables are read by; the counts, which change with every episode, are not in it."""
        return (self.fps, self.cameras, self.data_path, self.video_path)

    @property
    def is_v3(self) -> bool:
        """Whether it is of the layout that is mirrored; without a version it is taken for it."""
        return self.version is None or self.version.startswith("v3")


def read_info(folder: Path) -> Info | None:
    """What `meta/info.json` says; None while it cannot be read."""
    data = json_object(folder / INFO)
    if data is None:
        return None
    version, features = data.get("codebase_version"), data.get("features")
    data_path, video_path = data.get("data_path"), data.get("video_path")
    return Info(
        episodes=_count(data.get("total_episodes")),
        frames=_count(data.get("total_frames")),
        fps=_number(data.get("fps")),
        tasks=_count(data.get("total_tasks")),
        version=version[:40] if isinstance(version, str) else None,
        cameras=_cameras(features) if isinstance(features, dict) else (),
        data_path=data_path if isinstance(data_path, str) and data_path else _DATA_PATH,
        video_path=video_path if isinstance(video_path, str) and video_path else _VIDEO_PATH,
    )


def read_finished(folder: Path) -> bool | None:
    """What the writer says about itself; None without a word from it, or while its file is being rewritten."""
    for name in WRITER_STATS:
        data = json_object(folder / name)
        if data is not None:
            finished = data.get("finished")
            return finished if isinstance(finished, bool) else None
    return None


def json_object(path: Path) -> dict[str, object] | None:
    """A small JSON object on disk; None for anything else. It does not travel past this module."""
    try:
        if not path.is_file():
            # A pipe of that name would be read for ever.
            return None
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _cameras(features: dict[str, object]) -> tuple[str, ...]:
    return tuple(
        name for name, feature in features.items() if isinstance(feature, dict) and feature.get("dtype") == "video"
    )


def _number(value: object) -> float | None:
    """A JSON number that is finite; anything else is absent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 0 and number.is_integer() else None
