"""Which complete files must still wait before they may be sent, and why.

A file travels when the metadata on disk names it. What the metadata does not name yet may still be replaced; and what
names other files (`info.json` above all) waits until everything it names can be had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.read import RECORDER_QUIET_S, LocalFile, LocalRecording
from noeira_tui.recordings.tables import EPISODES

TASKS = "meta/tasks.parquet"
STATS = "meta/stats.json"
CLOSING = frozenset({INFO, STATS, TASKS})
"""These tell about all episodes at once: they wait until the tables agree with them."""


def waiting(recording: LocalRecording, elsewhere: Collection[str]) -> Mapping[str, str]:
    """Complete files that must not be sent yet, with the reason. `elsewhere` are paths that the service holds.

    Without tables (they were not asked for, or the layout is not v3) only an incomplete file holds `info.json` back.
    """
    found = dict(_unnamed(recording))
    found |= {file.path: file.obstacle for file in recording.files if file.complete and file.obstacle is not None}
    blocked = _blocked(recording, elsewhere, found)
    if blocked is None:
        return found
    # A table of which info.json counts even more is closed and goes ahead; one that names what cannot be had does not.
    waits = CLOSING if _counts_more(recording) else CLOSING | needed_by_info(recording)
    for file in recording.files:
        if file.complete and file.path in waits and not file.path.startswith(("videos/", "data/")):
            found[file.path] = blocked
    return found


def _counts_more(recording: LocalRecording) -> bool:
    return recording.tables is not None and (recording.episodes or 0) > recording.tables.episodes


def needed_by_info(recording: LocalRecording) -> frozenset[str]:
    """Files that a reader of `info.json` needs: what the tables name, and the tables."""
    names = recording.tables.names if recording.tables is not None else frozenset()
    return names | {file.path for file in recording.files if file.path.startswith(EPISODES)}


def visible_when_closed(recording: LocalRecording) -> int:
    """Episodes that were counted and cannot be read before the recorder closes its tables."""
    readable = recording.readable_episodes or 0
    return max(0, (recording.episodes or 0) - readable)


def _unnamed(recording: LocalRecording) -> Iterator[tuple[str, str]]:
    """The newest video of each camera, and the newest data file, while no row names it: a recorder may replace it.

    Older ones are closed, and are sent ahead. Once the recorder is through, or silent, nothing replaces them any more.
    """
    if recording.finished or (recording.info is not None and not recording.info.is_v3):
        return
    if recording.tables is None and recording.info is not None:
        return
    names = recording.tables.names if recording.tables is not None else frozenset()
    newest: dict[str, LocalFile] = {}
    for file in recording.files:
        group = _group(file.path)
        if group is not None and file.path > (newest[group].path if group in newest else ""):
            newest[group] = file
    latest_ns = max((file.mtime_ns for file in recording.files), default=0)
    for file in newest.values():
        if not file.complete or file.path in names:
            continue
        quiet_s = recording.quiet_s + (latest_ns - file.mtime_ns) / 1e9
        if recording.is_written_to or quiet_s <= RECORDER_QUIET_S:
            yield file.path, "no episode names it yet: it may still be replaced"


def _group(path: str) -> str | None:
    """The camera of a video, or `data`; None for other files."""
    if path.startswith("data/"):
        return "data"
    return "/".join(path.split("/")[:2]) if path.startswith("videos/") else None


def _blocked(recording: LocalRecording, elsewhere: Collection[str], unnamed: Mapping[str, str]) -> str | None:
    """Why `info.json` must wait; None when everything it names can be had."""
    here = {file.path: file for file in recording.files}
    info, tables = recording.info, recording.tables
    if info is None:
        return f"{INFO} cannot be read yet" if INFO in here else f"there is no {INFO} yet"
    if tables is None or not info.is_v3:
        return next((f"waits for {file.path}: {file.reason}" for file in recording.incomplete), None)
    counted = info.episodes or 0
    open_tables = [file for file in recording.incomplete if file.path.startswith(EPISODES)]
    if counted > tables.episodes:
        told = f"{counted} episodes recorded, {tables.episodes} readable"
        if recording.is_written_to:
            return f"{told}: visible when the recorder closes"
        return f"{told}: recorder died?" if open_tables or recording.incomplete else told
    if counted < tables.episodes and recording.is_written_to:
        return f"{tables.episodes} episodes in the tables, {counted} in {INFO} yet"
    if open_tables and recording.is_written_to:
        return f"waits for {open_tables[0].path}: {open_tables[0].reason}"
    if info.tasks and TASKS not in here and TASKS not in elsewhere:
        return f"there is no {TASKS} yet"
    if TASKS in here and not here[TASKS].complete:
        return f"waits for {TASKS}: {here[TASKS].reason}"
    for name in sorted(tables.names):
        file = here.get(name)
        if file is None and name not in elsewhere:
            return f"it names {name}, which is not here"
        if file is not None and not file.complete:
            return f"it names {name}: {file.reason}"
        if file is not None and file.obstacle is not None:
            return f"it names {name}: {file.obstacle}"
        if name in unnamed:
            return f"it names {name}: {unnamed[name]}"
    return None
