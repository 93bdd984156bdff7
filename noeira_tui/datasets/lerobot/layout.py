"""Where a LeRobot dataset keeps things, by its version and the path templates in its `info.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS_PARQUET = "meta/tasks.parquet"
TASKS_LINES = "meta/tasks.jsonl"
EPISODES_LINES = "meta/episodes.jsonl"
EPISODES_STATS_LINES = "meta/episodes_stats.jsonl"
EPISODES_FOLDER = "meta/episodes"
EPISODES_TABLE = "meta/episodes/chunk-{chunk:03d}/file-{file:03d}.parquet"

V3_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
V3_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
V2_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
V2_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"

FRAME_COLUMNS = ("timestamp", "frame_index", "episode_index", "index", "task_index")

_FIELD = re.compile(r"\{([a-z_]+)(?::0?([0-9]{1,2})d?)?\}")


class Generation(StrEnum):
    """The two ways of laying files out: one file an episode, or many episodes a file with a table of places."""

    V2 = "v2"
    V3 = "v3"


def generation_of(version: str | None, data_path: str | None) -> Generation:
    """Which layout a dataset has: by its version where that is known, else by what its path template needs."""
    if version is not None and re.match(r"v?[12](\.|$)", version):
        return Generation.V2
    if version is not None and re.match(r"v?3(\.|$)", version):
        return Generation.V3
    return Generation.V2 if data_path is not None and "episode_index" in data_path else Generation.V3


def fill(template: str, values: Mapping[str, int | str]) -> str | None:
    """A path template with its fields filled; None when it needs others, or its path leaves the dataset.

    Only plain `{name}` and `{name:03d}` fields are filled: a template is text from outside, not a format to obey.
    """
    failed = False

    def one(match: re.Match[str]) -> str:
        nonlocal failed
        value = values.get(match[1])
        if value is None or (match[2] and isinstance(value, str)):
            failed = True
            return ""
        return f"{value:0{int(match[2])}d}" if match[2] and isinstance(value, int) else str(value)

    path = _FIELD.sub(one, template)
    return None if failed or "{" in path or not is_inside(path) else path


def is_inside(path: str) -> bool:
    """Whether a relative path stays in the folder it is relative to."""
    parts = path.split("/")
    return bool(path) and not path.startswith("/") and "\\" not in path and "\0" not in path and ".." not in parts
