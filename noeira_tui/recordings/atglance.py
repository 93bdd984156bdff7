"""One recording compared for a display: from what is remembered and what was said last, without asking anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from noeira_tui.catalog.synced import SyncedFiles
from noeira_tui.catalog.wire import RecordingAnswer
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.compare import FileState, RecordingState, compare
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.mirror import ready_rows
from noeira_tui.recordings.obstacles import obstacle_at_glance
from noeira_tui.recordings.read import LocalFile, LocalRecording, read_recording
from noeira_tui.recordings.tables import TableReader
from noeira_tui.recordings.tree import Stamp
from noeira_tui.transfer.facts import FileStamp

_TABLES = TableReader()


def compare_at_glance(
    db: StateDb,
    service_url: str | None,
    folder: Path,
    answer: RecordingAnswer | None,
    digest_of: Callable[[Path], str | None],
    now: float,
    *,
    look_up: Callable[[Iterable[Path]], None] = lambda paths: None,
    wanted: bool = False,
    tables: TableReader = _TABLES,
) -> tuple[LocalRecording, RecordingState]:
    """A recording here against a service's (last) answer; `digest_of` is asked only for files that no sync remembers.

    `look_up` hears which those will be; `now` is the wall clock in seconds; `tables` reads its tables, and remembers
    them. Never raises for the recording or the state
    folder.
    """
    synced = SyncedFiles(db, service_url or "", folder.parent.parent.name, folder.name, folder)
    remembered = {
        path: (file.sha256, _stamp(file.stamp)) for path, file in synced.files.items() if file.stamp is not None
    }
    known_stamps = {path: stamp for path, (_, stamp) in remembered.items()}
    local = read_recording(folder, now, tables=tables, known=known_stamps, is_copy=synced.is_copy)
    stamps = {file.path: file.stamp for file in local.files}
    start = len(str(folder)) + 1
    look_up(folder / path for path, stamp in stamps.items() if path not in remembered or remembered[path][1] != stamp)

    def digest(path: Path) -> str | None:
        name = str(path)[start:]
        known = remembered.get(name)
        return known[0] if known is not None and known[1] == stamps.get(name) else digest_of(path)

    fresh = [file for file in local.files if file.path not in remembered or remembered[file.path][1] != file.stamp]
    local = _with_obstacles(local, fresh, answer, digest)
    bases = synced.bases({path: row.sha256 or "" for path, row in ready_rows(answer).items()})
    return local, compare(local, answer, digest, bases, wanted=wanted)


def _with_obstacles(
    local: LocalRecording,
    fresh: Iterable[LocalFile],
    answer: RecordingAnswer | None,
    digest_of: Callable[[Path], str | None],
) -> LocalRecording:
    """The recording with what a push would hold back for its size or name; not what the service has in spite of it."""
    there = ready_rows(answer)
    found = {}
    for file in fresh:
        why = obstacle_at_glance(file.path, file.size_bytes)
        row = there.get(file.path)
        if why is not None and (row is None or digest_of(local.folder / file.path) != row.sha256):
            found[file.path] = why
    if not found:
        return local
    return replace(local, files=tuple(replace(file, obstacle=found.get(file.path)) for file in local.files))


def episodes_there(local: LocalRecording, compared: RecordingState, answer: RecordingAnswer | None) -> int:
    """Episodes that a reader of the service can have, as far as its last answer tells."""
    if compared.has_other_episodes:
        return 0
    if any(file.path == INFO and file.state is FileState.CURRENT for file in compared.files):
        return local.readable_episodes or 0
    if answer is None or INFO not in ready_rows(answer):
        return 0
    return min(answer.recording.n_episodes or 0, local.episodes or 0)


def _stamp(stamp: FileStamp) -> Stamp:
    return Stamp(stamp.device, stamp.inode, stamp.size_bytes, stamp.mtime_ns, stamp.ctime_ns)
