"""One recording here against the same one on the service: what a push would send, what a pull would fetch.

Three digests decide for each file: here, there, and at the last sync; two cannot tell "I edited it" from "they edited
it". Nothing is hashed here: digests come from a cache, and where it has none the file counts as not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RowStatus
from noeira_tui.core.states import State
from noeira_tui.recordings.layout import INFO, travel_order
from noeira_tui.recordings.read import LocalFile, LocalRecording
from noeira_tui.recordings.settle import CLOSING, needed_by_info, waiting
from noeira_tui.recordings.tables import EPISODES


class FileState(StrEnum):
    """One file of a recording, seen from this box."""

    CURRENT = "current"
    AHEAD = "ahead"
    BEHIND = "behind"
    DIVERGED = "diverged"
    HELD = "held"
    MISSING = "missing"
    UNVERIFIED = "unverified"


@dataclass(frozen=True)
class FileComparison:
    """One file and its state. `sha256` is the digest here, else there; `reason` says why it is held or refused.

    `is_new` tells, for an `ahead` file, that the service has none of that path; for a `missing` one, that this box
    never had it.
    """

    path: str
    state: FileState
    size_bytes: int
    sha256: str | None = None
    reason: str | None = None
    is_new: bool = False


@dataclass(frozen=True)
class RecordingState:
    """What a recording is, with counts of files: `ahead` would be sent, `behind` fetched, `held_back` wait.

    `unsent_bytes` are only on this box (held-back files count); `bytes_to_fetch` is what a pull would move. `reason`
    explains a state that the counts do not.
    """

    state: State
    ahead: int = 0
    behind: int = 0
    held_back: int = 0
    unsent_bytes: int = 0
    bytes_to_fetch: int = 0
    reason: str | None = None
    files: tuple[FileComparison, ...] = ()

    @property
    def has_other_episodes(self) -> bool:
        """Whether the service's episodes are others than those here."""
        of_episodes = (INFO, EPISODES, "data/", "videos/")
        return any(file.state is FileState.DIVERGED and file.path.startswith(of_episodes) for file in self.files)


def compare(
    local: LocalRecording | None,
    remote: RecordingAnswer | None,
    digest_of: Callable[[Path], str | None],
    last_synced: Mapping[str, str],
    *,
    wanted: bool = False,
) -> RecordingState:
    """Compare a recording here (None: not here) with the service's answer (None: it does not know it).

    `digest_of` gives the known digest of a local file, None when it has not been hashed since it changed;
    `last_synced` maps paths to the digests of the last sync; `wanted` tells that a `dataset=` line names it.
    Remote paths that break the protocol's rule are left out.
    """
    there = {row.path: row for row in remote.files if row.is_safe} if remote is not None else {}
    ready = {path: row for path, row in there.items() if row.status is RowStatus.READY and row.sha256}
    if local is None or not local.files:
        return _not_here(remote, ready, wanted or bool(last_synced))
    here = {file.path: file for file in local.files}
    files = [_file_here(file, ready.get(path), local.folder, digest_of, last_synced) for path, file in here.items()]
    files = _hold_back(local, ready, files)
    files += [
        FileComparison(
            path, FileState.MISSING, row.size_bytes or 0, row.sha256, "only on the service", path not in last_synced
        )
        for path, row in ready.items()
        if path not in here
    ]
    files.sort(key=lambda file: travel_order(file.path))
    state, reason = _state_of(local, remote, files)
    counts = Counter(file.state for file in files)
    return RecordingState(
        state=state,
        ahead=counts[FileState.AHEAD],
        behind=counts[FileState.BEHIND] + counts[FileState.MISSING],
        held_back=counts[FileState.HELD],
        unsent_bytes=sum(file.size_bytes for file in files if file.state in _UNSENT),
        bytes_to_fetch=sum(ready[file.path].size_bytes or 0 for file in files if file.state in _FETCHED),
        reason=reason,
        files=tuple(files),
    )


_OTHERS = frozenset({FileState.DIVERGED, FileState.BEHIND})
_UNSENT = frozenset({FileState.AHEAD, FileState.HELD, FileState.DIVERGED})
_FETCHED = frozenset({FileState.BEHIND, FileState.MISSING})


def _hold_back(
    local: LocalRecording, ready: Mapping[str, FileRow], files: list[FileComparison]
) -> list[FileComparison]:
    """Hold back what would be sent too early: unnamed files, and `info.json` above something that cannot be had."""
    waits = dict(waiting(local, ready.keys()))
    needed = needed_by_info(local) | {INFO}
    other = next((file for file in files if file.state in _OTHERS and file.path in needed), None)
    if other is not None:
        why = "is in conflict" if other.state is FileState.DIVERGED else "is newer on the service"
        tables = {file.path for file in files if file.path.startswith(EPISODES)}
        waits |= {path: f"it needs {other.path}, which {why}" for path in (CLOSING | tables) if path not in waits}
    return [
        replace(file, state=FileState.HELD, reason=waits[file.path])
        if file.state is FileState.AHEAD and file.path in waits
        else file
        for file in files
    ]


def _not_here(remote: RecordingAnswer | None, ready: Mapping[str, FileRow], wanted: bool) -> RecordingState:
    if remote is None:
        return RecordingState(State.MISSING, reason="wanted here, but the service does not have it either")
    files = tuple(
        FileComparison(row.path, FileState.MISSING, row.size_bytes or 0, row.sha256, is_new=True)
        for row in sorted(ready.values(), key=lambda row: travel_order(row.path))
    )
    size = sum(file.size_bytes for file in files)
    if not files:
        return RecordingState(State.PENDING, reason="none of its files has been uploaded completely")
    reason = None if INFO in ready else f"{INFO} is not on the service yet"
    state = State.MISSING if wanted else State.REMOTE
    return RecordingState(state, behind=len(files), bytes_to_fetch=size, reason=reason, files=files)


def _file_here(
    file: LocalFile,
    row: FileRow | None,
    folder: Path,
    digest_of: Callable[[Path], str | None],
    last_synced: Mapping[str, str],
) -> FileComparison:
    def told(state: FileState, digest: str | None = None, reason: str | None = None) -> FileComparison:
        return FileComparison(file.path, state, file.size_bytes, digest, reason, row is None)

    if not file.complete:
        return told(FileState.HELD, reason=file.obstacle or file.reason)
    if row is None:
        return told(FileState.AHEAD, digest_of(folder / file.path))
    digest = digest_of(folder / file.path)
    base = last_synced.get(file.path)
    same_size = row.size_bytes is None or row.size_bytes == file.size_bytes
    if digest is not None and digest == row.sha256:
        return told(FileState.CURRENT, digest)
    if digest is None and same_size:
        return told(FileState.UNVERIFIED, reason="not hashed since it changed")
    # From here on the contents differ, by digest or by size.
    if base == row.sha256:
        return told(FileState.AHEAD, digest)
    if base is None:
        return told(FileState.DIVERGED, digest, "differs from the service's, and no sync is remembered")
    if digest is None:
        return told(FileState.UNVERIFIED, reason="not hashed since it changed; the service's is newer")
    if digest == base:
        return told(FileState.BEHIND, digest)
    return told(FileState.DIVERGED, digest, "changed here and on the service")


def _state_of(
    local: LocalRecording, remote: RecordingAnswer | None, files: list[FileComparison]
) -> tuple[State, str | None]:
    kinds = Counter(file.state for file in files)
    held = next((file for file in files if file.state is FileState.HELD), None)
    incomplete = {file.path for file in local.incomplete}
    if local.is_recording:
        # What info.json waits for is what readers wait for.
        waits = next((file.reason for file in files if file.path == INFO and file.state is FileState.HELD), None)
        return State.RECORDING, waits or (f"{held.path}: {held.reason}" if held else None)
    broken = next((file for file in files if file.state is FileState.HELD and file.path in incomplete), None)
    if broken is not None:
        return State.PARTIAL, f"{broken.path}: {broken.reason}; recorder died?"
    if remote is None:
        return State.LOCAL, None
    # What waits is only here too: it is ahead, and says why it was not sent.
    ahead, behind = kinds[FileState.AHEAD] + kinds[FileState.HELD], kinds[FileState.BEHIND]
    missing = [file for file in files if file.state is FileState.MISSING]
    if kinds[FileState.DIVERGED]:
        conflict = next(file for file in files if file.state is FileState.DIVERGED)
        return State.DIVERGED, f"{conflict.path}: {conflict.reason}"
    if ahead and (behind or missing):
        return State.DIVERGED, "some files are only newer here, others only on the service"
    if ahead:
        is_grown = any(file.state in {FileState.AHEAD, FileState.HELD} and file.is_new for file in files)
        return (State.AHEAD if is_grown else State.MODIFIED), f"{held.path}: {held.reason}" if held else None
    if missing:
        # Never had, beside a sync that is remembered or newer files: they recorded on. Else a pull that stopped.
        recorded_on = all(file.is_new for file in missing) and behind > 0
        return (State.STALE, None) if recorded_on else (State.PARTIAL, f"{len(missing)} files are not here")
    if behind:
        return State.STALE, None
    return (State.UNVERIFIED if kinds[FileState.UNVERIFIED] else State.CURRENT), None
