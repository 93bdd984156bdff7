"""Episodes that are kept on disk and not trained on: `meta/rejected_episodes.json` of a recording, read and changed.

The file is a part of the recording, so the mirror carries it like any other. Entries and fields that somebody else put
there are kept.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.core.files import write_atomically
from noeira_tui.recordings.layout import INFO

if TYPE_CHECKING:
    from noeira_tui.datasets.source import Source

REJECTED = "meta/rejected_episodes.json"
_KEY = "rejected_episodes"
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class RejectedEdit:
    """A change that was written. `before` are the file's bytes until then, None when there was no file; `rejected` and
    `kept` are the episodes whose verdict changed, `total` counts the rejected ones now."""

    folder: Path
    before: bytes | None
    after: bytes
    rejected: tuple[int, ...]
    kept: tuple[int, ...]
    total: int


def read_rejected(folder: Path) -> frozenset[int]:
    """The numbers of the rejected episodes of a recording; none without the file. Raises DatasetFileError."""
    return _numbers(_entries(_document(_bytes(folder))))


def read_rejected_at(source: Source) -> frozenset[int]:
    """The same of a recording anywhere, by one small request. Raises DatasetFileError, NetworkError and its kin."""
    try:
        data = source.whole(REJECTED, _MAX_BYTES)
    except DatasetFileError as err:
        if err.code != "missing_file":
            raise
        return frozenset()
    return _numbers(_entries(_document(data)))


def edit_rejected(folder: Path, *, reject: Iterable[int] = (), keep: Iterable[int] = ()) -> RejectedEdit:
    """Reject episodes of a recording, and take others back, in one write that a power cut does not halve.

    Raises DatasetFileError for a file that is damaged, cannot be written, or belongs to no recording.
    """
    if not (folder / INFO).is_file():
        raise _failure(f"{folder} has no {INFO}: it is no recording.", "missing_file")
    before = _bytes(folder)
    document = _document(before)
    entries = _entries(document)
    known = _numbers(entries)
    added = tuple(sorted(set(reject) - known))
    gone = tuple(sorted(set(keep) & known))
    numbers = sorted((known | set(added)) - set(gone))
    # What is no number was put there by somebody who knows why.
    others = [entry for entry in entries if not _is_number(entry)]
    after = _written(document | {_KEY: [*numbers, *others]})
    if added or gone:
        _write(folder, after)
    return RejectedEdit(folder, before, after if added or gone else before or b"", added, gone, len(numbers))


def undo_rejected(edit: RejectedEdit) -> frozenset[int]:
    """Give every episode the verdict it had before; what is rejected then.

    Where there was no file an empty list stays: the mirror carries no deletion, so a file that was sent already would
    come back with the next pull. Raises DatasetFileError when somebody changed the file since.
    """
    if _bytes(edit.folder) != edit.after:
        raise _failure(
            f"{edit.folder / REJECTED} was changed by somebody else since.", "changed", hint="Look at it again first."
        )
    _write(edit.folder, _written({_KEY: []}) if edit.before is None else edit.before)
    return read_rejected(edit.folder)


def _bytes(folder: Path) -> bytes | None:
    path = folder / REJECTED
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            raise _failure(f"{path} is no list of episodes.", "damaged_file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as err:
        raise _failure(f"{path} cannot be read: {err.strerror}.", "unreadable") from err


def _document(data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise _failure(f"{REJECTED} is damaged: it is no JSON.", "damaged_file") from err
    if not isinstance(told, dict):
        raise _failure(f"{REJECTED} is damaged: it is no object.", "damaged_file")
    return told


def _entries(document: dict[str, Any]) -> list[Any]:
    entries = document.get(_KEY, [])
    if not isinstance(entries, list):
        raise _failure(f"{REJECTED} is damaged: {_KEY} is no list.", "damaged_file")
    return entries


def _is_number(entry: object) -> bool:
    return isinstance(entry, int) and not isinstance(entry, bool)


def _numbers(entries: Iterable[Any]) -> frozenset[int]:
    return frozenset(entry for entry in entries if _is_number(entry))


def _written(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _write(folder: Path, data: bytes) -> None:
    path = folder / REJECTED
    try:
        if path.is_symlink():
            raise _failure(f"{path} is a link; what it leads to may belong to others.", "unwritable")
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        write_atomically(path, data, mode=mode)
    except OSError as err:
        raise _failure(f"{path} cannot be written: {err.strerror}.", "unwritable") from err


def _failure(message: str, code: str, *, hint: str = "") -> DatasetFileError:
    told = hint or "Mend the file, or take it away: then no episode is rejected."
    return DatasetFileError(message, code=code, file=REJECTED, hint=told)
