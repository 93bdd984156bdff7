"""What is in a recording's folder, read cheaply enough to be repeated at every repaint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.core.errors import BesideError
from noeira_tui.core.paths import SEGMENT_RULE, is_segment
from noeira_tui.recordings.files import Verdicts
from noeira_tui.recordings.info import Info, read_finished, read_info
from noeira_tui.recordings.layout import INFO, WRITER_STATS, travel_order
from noeira_tui.recordings.tables import EPISODES, TableReader, Tables
from noeira_tui.recordings.tree import Stamp, Tree, scan

RECORDER_QUIET_S = 120.0
"""Something incomplete that has not changed for this long has no writer any more."""

RECORDER_SILENT_S = 3600.0
"""A recorder that says it is at work and has written nothing for this long is worth a remark; its word still counts."""

FINISHED_QUIET_S = 600.0
"""Without a word from the recorder, a recording whose tables agree has finished when nothing changed for so long."""

_VERDICTS = Verdicts()
_NOTHING_KNOWN: Mapping[str, Stamp] = {}


@dataclass(frozen=True)
class LocalFile:
    """One file that belongs to a recording. `path` is relative; `reason` says why it is not complete, `obstacle` why
    it cannot travel as it is, complete or not."""

    path: str
    size_bytes: int
    mtime_ns: int
    complete: bool
    reason: str | None = None
    stamp: Stamp | None = None
    obstacle: str | None = None


@dataclass(frozen=True)
class LocalRecording:
    """One recording on this box. Counts and `fps` are those of `meta/info.json`, None where it cannot be read.

    `files` are in the order in which they travel; `problems` are sentences for a person. `tables` is what the
    recording's own tables hold, None where they were not asked for. `finished` is the recorder's own word, None
    without one; `quiet_s` is how long nothing changed.
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
    info: Info | None = None
    tables: Tables | None = None
    finished: bool | None = None
    quiet_s: float = 0.0

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

    @property
    def readable_episodes(self) -> int | None:
        """Episodes that info.json counts and the tables hold; None where neither could be read."""
        if self.tables is None or self.info is None or not self.info.is_v3:
            return self.episodes
        return min(self.tables.episodes, self.episodes if self.episodes is not None else self.tables.episodes)

    @property
    def has_finished(self) -> bool:
        """Whether the recorder is through: it says so, or all agrees and nothing changed for ten minutes."""
        if self.finished is not None:
            return self.finished
        agrees = self.tables is None or (not self.tables.unreadable and self.tables.episodes == self.episodes)
        return bool(self.files) and not self.incomplete and agrees and self.quiet_s >= FINISHED_QUIET_S

    @property
    def is_written_to(self) -> bool:
        """Whether more may come any moment: it is being recorded, and by a recorder that is not silent for long."""
        return self.is_recording and self.quiet_s <= RECORDER_SILENT_S


def read_recording(
    folder: Path,
    now: float,
    *,
    verdicts: Verdicts = _VERDICTS,
    tables: TableReader | None = None,
    tree: Tree | None = None,
    known: Mapping[str, Stamp] = _NOTHING_KNOWN,
    is_copy: Callable[[str, int, int], bool] = lambda path, inode, mtime_ns: False,
) -> LocalRecording:
    """Read `<projects>/<project>/datasets/<dataset>`; `now` is the wall clock in seconds.

    With `tables` the episodes tables are read too. `tree` is a scan made before; `known` are files that were complete
    with this stamp; `is_copy` tells by path, inode and mtime whether a pull put a file there. Files that vanish while
    it reads are left out, and nothing is raised: what is wrong is in `problems`.
    """
    tree = scan(folder) if tree is None else tree
    problems = list(tree.problems)
    files = sorted(_judge(folder, tree, known, verdicts, now), key=lambda file: travel_order(file.path))
    info = read_info(folder)
    found = None
    if tables is not None and info is not None and info.is_v3:
        stamps = {file.path: file.stamp for file in files if file.complete and file.stamp is not None}
        try:
            found = tables.read(folder, info, stamps)
        except BesideError as err:
            # Nothing is known of them, which is no fault of theirs.
            problems.append(f"its tables could not be read: {err.why}")
        else:
            files = [_unreadable(file, found) for file in files]
    flag = read_finished(folder)
    if flag is False and any(_is_copied(tree.files.get(name), name, is_copy) for name in WRITER_STATS):
        # A recorder on another box says so, and it does not write here.
        flag = None
    incomplete = [file for file in files if not file.complete]
    if flag is not None:
        is_recording = not flag
    else:
        is_recording = any(now - file.mtime_ns / 1e9 <= RECORDER_QUIET_S for file in incomplete)
    recording = LocalRecording(
        folder=folder,
        project=folder.parent.parent.name,
        dataset=folder.name,
        episodes=info.episodes if info is not None else None,
        frames=info.frames if info is not None else None,
        fps=info.fps if info is not None else None,
        files=tuple(files),
        is_recording=is_recording,
        info=info,
        tables=found,
        finished=flag,
        quiet_s=max(0.0, now - max((file.mtime_ns for file in files), default=0) / 1e9),
    )
    return replace(recording, problems=(*problems, *_problems(recording)))


def _is_copied(stamp: Stamp | None, name: str, is_copy: Callable[[str, int, int], bool]) -> bool:
    return stamp is not None and is_copy(name, stamp.inode, stamp.mtime_ns)


def _judge(folder: Path, tree: Tree, known: Mapping[str, Stamp], verdicts: Verdicts, now: float) -> Iterator[LocalFile]:
    for path, stamp in tree.files.items():
        if known.get(path) == stamp:
            yield LocalFile(path, stamp.size_bytes, stamp.mtime_ns, True, None, stamp)
            continue
        try:
            reason = verdicts.reason(folder / path, stamp, now)
        except FileNotFoundError:
            continue
        except OSError as err:
            reason = f"cannot be read: {err.strerror or err}"
        yield LocalFile(path, stamp.size_bytes, stamp.mtime_ns, reason is None, reason, stamp)


def _unreadable(file: LocalFile, tables: Tables) -> LocalFile:
    reason = tables.unreadable.get(file.path)
    return file if reason is None else replace(file, complete=False, reason=reason)


def _problems(recording: LocalRecording) -> Iterator[str]:
    """What a person should know, most telling first."""
    paths = {file.path for file in recording.files}
    info, tables, incomplete = recording.info, recording.tables, recording.incomplete
    if not is_segment(recording.dataset):
        yield f"it cannot be pushed under the name of its folder: a name is {SEGMENT_RULE}"
    if info is None:
        if paths:
            yield f"{INFO} cannot be read" if INFO in paths else f"there is no {INFO} (yet)"
    else:
        if tables is not None and info.episodes is not None and tables.episodes != info.episodes:
            if not _is_open(recording):
                yield f"{INFO} counts {info.episodes} episodes, the tables hold {tables.episodes}"
        elif info.episodes and info.is_v3 and not any(path.startswith("meta/episodes") for path in paths):
            yield f"{INFO} counts {info.episodes} episodes, but there is no table of them (yet)"
        elif tables is not None and info.frames is not None and tables.frames != info.frames:
            yield f"{INFO} counts {info.frames} frames, the tables hold {tables.frames}"
        if not info.is_v3:
            yield f"LeRobot {info.version} layout; recordings are mirrored in v3"
    if recording.finished is False and recording.files and recording.quiet_s > RECORDER_SILENT_S:
        hours = recording.quiet_s / 3600
        yield f"its writer has not finished, but nothing changed for {hours:.0f} h; recorder died?"
    if incomplete and not recording.is_recording:
        yield f"{incomplete[0].path}: {incomplete[0].reason}; recorder died?"
        yield from _losses(recording)
    if tables is not None:
        lacking = sorted(tables.names - paths)
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            yield f"the tables name {lacking[0]}{more}, which is not here"
        yield from tables.problems


def _is_open(recording: LocalRecording) -> bool:
    """Whether a recorder still has its tables open: what they lack comes when it closes them, and is no problem."""
    return recording.is_written_to and any(file.path.startswith(EPISODES) for file in recording.incomplete)


def _losses(recording: LocalRecording) -> Iterator[str]:
    """What a dead recorder took with it, and what it left."""
    if recording.tables is None or recording.episodes is None:
        return
    kept = recording.readable_episodes or 0
    videos = sum(file.complete and file.path.startswith("videos/") for file in recording.files)
    if kept < recording.episodes:
        lost = recording.episodes - kept
        yield (
            f"lost with the recorder: the rows of {lost} of {recording.episodes} episodes; "
            f"left: {kept} episodes that can be read, {videos} whole videos"
        )
