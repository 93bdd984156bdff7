"""What is in a recording's folder, read cheaply enough to be repeated at every repaint."""

from __future__ import annotations

import json
import math
import os
import stat as stat_kinds
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.paths import MAX_PATH_SEGMENTS
from noeira_tui.recordings.files import Verdicts
from noeira_tui.recordings.layout import FOLDERS, INFO, README, WRITER_STATS, is_unfinished_name, travel_order

RECORDER_QUIET_S = 120.0
"""Something incomplete that has not changed for this long has no writer any more."""

RECORDER_SILENT_S = 3600.0
"""A recorder that says it is at work and has written nothing for this long is worth a remark; its word still counts."""

_VERDICTS = Verdicts()


@dataclass(frozen=True)
class LocalFile:
    """One file that belongs to a recording. `path` is relative; `reason` says why it is not complete."""

    path: str
    size_bytes: int
    mtime_ns: int
    complete: bool
    reason: str | None = None


@dataclass(frozen=True)
class LocalRecording:
    """One recording on this box. Counts and `fps` are those of `meta/info.json`, None where it cannot be read.

    `files` are in the order in which they travel; `problems` are sentences for a person.
    """

    folder: Path
    project: str
    dataset: str
    episodes: int | None
    frames: int | None
    fps: float | None
    files: tuple[LocalFile, ...]
    is_recording: bool
    problems: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all files that belong to it."""
        return sum(file.size_bytes for file in self.files)

    @property
    def incomplete(self) -> tuple[LocalFile, ...]:
        """The files that are still open, or whose writer died."""
        return tuple(file for file in self.files if not file.complete)

    @property
    def changed_at(self) -> float | None:
        """When a file of it last changed, in seconds of the wall clock; None without files."""
        return max((file.mtime_ns for file in self.files), default=0) / 1e9 or None


def read_recording(folder: Path, now: float, *, verdicts: Verdicts = _VERDICTS) -> LocalRecording:
    """Read `<projects>/<project>/datasets/<dataset>`; `now` is the wall clock in seconds.

    Files that vanish while it reads are left out, and nothing is raised: what is wrong is in `problems`.
    """
    problems: list[str] = []
    files = sorted(_read_files(folder, now, verdicts, problems), key=lambda file: travel_order(file.path))
    info = _read_info(folder, {file.path for file in files}, problems)
    flag = _finished_flag(folder)
    incomplete = [file for file in files if not file.complete]
    if flag is not None:
        is_recording = not flag
    else:
        is_recording = any(now - file.mtime_ns / 1e9 <= RECORDER_QUIET_S for file in incomplete)
    quiet_s = now - max((file.mtime_ns for file in files), default=0) / 1e9
    if flag is False and files and quiet_s > RECORDER_SILENT_S:
        problems.append(f"its writer has not finished, but nothing changed for {quiet_s / 3600:.0f} h; recorder died?")
    if incomplete and not is_recording:
        problems.append(f"{incomplete[0].path}: {incomplete[0].reason}; recorder died?")
    return LocalRecording(
        folder=folder,
        project=folder.parent.parent.name,
        dataset=folder.name,
        episodes=info.episodes,
        frames=info.frames,
        fps=info.fps,
        files=tuple(files),
        is_recording=is_recording,
        problems=tuple(problems),
    )


def _read_files(folder: Path, now: float, verdicts: Verdicts, problems: list[str]) -> Iterator[LocalFile]:
    for path, stat in _walk(folder, problems):
        try:
            reason = verdicts.reason(folder / path, stat, now)
        except FileNotFoundError:
            continue
        except OSError as err:
            reason = f"cannot be read: {err.strerror or err}"
        yield LocalFile(path, stat.st_size, stat.st_mtime_ns, reason is None, reason)


def _walk(folder: Path, problems: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The files that belong to a recording, as relative paths with their stats."""
    waiting = [name for name in FOLDERS if not (folder / name).is_symlink()]
    problems += [f"{name}/ is a link and is not entered" for name in FOLDERS if (folder / name).is_symlink()]
    readme = _stat_of(folder / README)
    if readme is not None and stat_kinds.S_ISREG(readme.st_mode):
        yield README, readme
    while waiting:
        relative = waiting.pop()
        try:
            with os.scandir(folder / relative) as entries:
                listing = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as err:
            problems.append(f"{relative}/ cannot be read: {err.strerror or err}")
            continue
        for entry in listing:
            path = f"{relative}/{entry.name}"
            if entry.name.startswith(".") or is_unfinished_name(entry.name):
                continue
            try:
                stat = entry.stat()
                is_link = entry.is_symlink()
            except OSError:
                # It vanished between the listing and now.
                continue
            if stat_kinds.S_ISREG(stat.st_mode):
                yield path, stat
            elif is_link:
                problems.append(f"{path} is a link and is not entered")
            elif stat_kinds.S_ISDIR(stat.st_mode) and path.count("/") < MAX_PATH_SEGMENTS:
                waiting.append(path)


@dataclass(frozen=True)
class _Info:
    episodes: int | None = None
    frames: int | None = None
    fps: float | None = None


def _read_info(folder: Path, paths: set[str], problems: list[str]) -> _Info:
    data = _json_object(folder / INFO)
    if data is None:
        if paths:
            problems.append(f"{INFO} cannot be read" if INFO in paths else f"there is no {INFO} (yet)")
        return _Info()
    episodes, frames, fps = (data.get(key) for key in ("total_episodes", "total_frames", "fps"))
    info = _Info(_count(episodes), _count(frames), _number(fps))
    if info.episodes and not any(path.startswith("meta/episodes") for path in paths):
        problems.append(f"{INFO} counts {info.episodes} episodes, but there is no table of them (yet)")
    version = data.get("codebase_version")
    if isinstance(version, str) and not version.startswith("v3"):
        problems.append(f"LeRobot {version[:40]} layout; recordings are mirrored in v3")
    return info


def _finished_flag(folder: Path) -> bool | None:
    """What the writer says about itself; None without a word from it, or while its file is being rewritten."""
    for name in WRITER_STATS:
        data = _json_object(folder / name)
        if data is not None:
            finished = data.get("finished")
            return finished if isinstance(finished, bool) else None
    return None


def _json_object(path: Path) -> dict[str, object] | None:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _stat_of(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


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
