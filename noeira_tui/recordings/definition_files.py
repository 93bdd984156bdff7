"""The files that define a project: which they are, what is here, and where one from the service may be written."""

from __future__ import annotations

import os
import stat as stat_kinds
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import DatasetError, DestinationError, SourceChangedError
from noeira_tui.core.paths import MAX_PATH_SEGMENTS, is_wire_path
from noeira_tui.core.progress import CancelToken
from noeira_tui.recordings.layout import is_unfinished_name
from noeira_tui.recordings.projects import DEFINITION
from noeira_tui.transfer.facts import FileStamp
from noeira_tui.transfer.hashing import hash_file

CALIBRATION = "calibration"
POLICIES = "policies"
PLACES = f"{DEFINITION}, {CALIBRATION}/ and {POLICIES}/*.kv"
_BAD_NAME = "its name cannot travel: letters, digits, '.', '_' and '-', at most 8 folders deep"


@dataclass(frozen=True)
class LocalDefinition:
    """One definition file here. `path` is relative to the project's folder.

    `problem` says why it has no digest: it cannot be read, is too large, or changed while it was read.
    """

    path: str
    size_bytes: int = 0
    sha256: str | None = None
    stamp: FileStamp | None = None
    problem: str | None = None


def is_definition_path(path: str) -> bool:
    """Whether a path from a service may be a definition file: it obeys the protocol and lies in one of the places."""
    if not is_wire_path(path) or _is_passing(path.rsplit("/", 1)[-1]):
        return False
    segments = path.split("/")
    if segments[0] == CALIBRATION:
        return len(segments) > 1
    return path == DEFINITION or (segments[0] == POLICIES and len(segments) == 2 and path.endswith(".kv"))


def scan_definitions(
    folder: Path, max_file_bytes: int, cancel: CancelToken | None = None
) -> tuple[LocalDefinition, ...]:
    """Every definition file in a project's folder with its digest, sorted by path. Links are followed to be read.

    Hidden files, editors' copies and unfinished downloads are left out; a file that cannot travel is there with its
    problem. Raises DatasetError for a folder that cannot be listed, CancelledError.
    """
    return tuple(_look(folder, path, max_file_bytes, cancel) for path in sorted(_candidates(folder)))


def destination(folder: Path, path: str) -> Path:
    """Where a definition file is written. Raises DestinationError when a link or a folder is in its place.

    Nothing may lead outside the project's folder, so no link below it is followed; nothing is made here.
    """
    place = folder
    segments = path.split("/")
    for depth, segment in enumerate(segments, 1):
        place = place / segment
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            break
        except OSError as err:
            raise DestinationError(f"{place} cannot be looked at: {err.strerror or err}.") from err
        if stat_kinds.S_ISLNK(mode):
            raise DestinationError(f"{place} is a link; nothing is written through or over it.")
        if stat_kinds.S_ISDIR(mode) != (depth < len(segments)):
            kind = "a folder" if stat_kinds.S_ISDIR(mode) else "no folder"
            raise DestinationError(f"{place} is {kind}; {path} cannot be written.")
    return folder / path


def _is_passing(name: str) -> bool:
    return is_unfinished_name(name) or name.startswith(".") or name.endswith(("~", ".part.journal"))


def _candidates(folder: Path) -> Iterator[str]:
    if os.path.lexists(folder / DEFINITION):
        yield DEFINITION
    yield from _walk(folder, CALIBRATION, ())
    for name, _ in _entries(folder / POLICIES):
        if name.endswith(".kv"):
            yield f"{POLICIES}/{name}"


def _walk(folder: Path, path: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """The files below a folder. `above` are the folders on the way, so that a link to one of them ends there."""
    try:
        stat = (folder / path).stat()
    except FileNotFoundError:
        return
    except OSError:
        yield path
        return
    here = (stat.st_dev, stat.st_ino)
    if here in above:
        return
    if len(above) >= MAX_PATH_SEGMENTS:
        yield path
        return
    for name, is_folder in _entries(folder / path):
        below = f"{path}/{name}"
        if is_folder:
            yield from _walk(folder, below, (*above, here))
        else:
            yield below


def _entries(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder without passing ones, and whether they are folders; none when it is not there."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir()) for entry in entries if not _is_passing(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as err:
        raise DatasetError(f"{folder} cannot be listed: {err.strerror or err}.", title="Project") from err


def _look(folder: Path, path: str, max_file_bytes: int, cancel: CancelToken | None) -> LocalDefinition:
    if not is_wire_path(path):
        return LocalDefinition(path, problem=_BAD_NAME)
    file = folder / path
    try:
        stat = file.stat()
        if not stat_kinds.S_ISREG(stat.st_mode):
            return LocalDefinition(path, problem="it is not a regular file")
        if stat.st_size > max_file_bytes:
            return LocalDefinition(path, stat.st_size, problem=too_large(stat.st_size, max_file_bytes))
        digest, stamp = hash_file(file, cancel=cancel)
    except SourceChangedError as err:
        return LocalDefinition(path, problem=err.message)
    except OSError as err:
        return LocalDefinition(path, problem=f"it cannot be read: {err.strerror or err}")
    return LocalDefinition(path, stamp.size_bytes, digest, stamp)


def too_large(size_bytes: int, max_file_bytes: int) -> str:
    """Why a file over the service's bound does not travel."""
    return f"it has {size_bytes:,} bytes; a definition file has at most {max_file_bytes:,}"
