"""The layout of a LeRobot v3 recording: which files belong to it, what they are, and in which order they travel."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath

INFO = "meta/info.json"
WRITER_STATS = ("meta/noeira_writer_stats.json", "meta/mojo_rl_writer_stats.json")
"""The newer name first; the older one is only looked at without it."""

FOLDERS = ("meta", "data", "videos")
"""Only these and README.md belong to a recording; anything else is neither watched nor sent."""

README = "README.md"

_UNFINISHED_SUFFIXES = (".part", ".tmp", ".lock")


class FileKind(StrEnum):
    """What a file of a recording is, by its name."""

    VIDEO = "video"
    TABLE = "table"
    JSON = "json"
    OTHER = "other"


_KINDS = {".mp4": FileKind.VIDEO, ".parquet": FileKind.TABLE, ".json": FileKind.JSON}


def kind_of(path: str) -> FileKind:
    """The kind of a file by its suffix."""
    return _KINDS.get(PurePosixPath(path).suffix.lower(), FileKind.OTHER)


def belongs(path: str) -> bool:
    """Whether a relative path belongs to a recording: not hidden, not a lock, not a file still being made."""
    segments = path.split("/")
    if path != README and (len(segments) < 2 or segments[0] not in FOLDERS):
        return False
    return not any(segment.startswith(".") for segment in segments) and not is_unfinished_name(segments[-1])


def is_unfinished_name(name: str) -> bool:
    """Whether a file name says that it is a lock or still being made (`.part`, `.tmp`)."""
    return name.lower().endswith(_UNFINISHED_SUFFIXES)


def travel_order(path: str) -> tuple[int, str]:
    """Sort key for sending and fetching: videos, data, then `meta/`, with `info.json` last of all.

    What names other files comes after them, so that a reader in between never meets a name without its file.
    """
    if path == INFO:
        return (4, path)
    rank = {"videos": 0, "data": 1, "meta": 3}.get(path.split("/", 1)[0], 2)
    return (rank, path)
