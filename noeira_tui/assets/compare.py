"""Comparing what is at a destination with what was installed there and with what a pack wants there."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from noeira_tui.assets.place import Wanted
from noeira_tui.assets.records import DIFFERS, Install
from noeira_tui.core.errors import SourceChangedError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.transfer.hashing import hash_file

_CHECK_EVERY = 256


class Trouble(StrEnum):
    """What is wrong with one installed file."""

    GONE = "gone"
    MODIFIED = "modified"
    TOUCHED = "touched"


@dataclass(frozen=True)
class FileProblem:
    """One installed file that is not as it was installed; `path` is relative to the destination."""

    path: str
    trouble: Trouble


def glance(install: Install) -> tuple[FileProblem, ...]:
    """What differs by size and mtime; no installed file is opened."""
    base = str(install.dest)
    lstat, is_file = os.lstat, stat.S_ISREG
    problems: list[FileProblem] = []
    for path, size, mtime_ns in zip(install.paths, install.sizes, install.mtimes_ns, strict=True):
        try:
            found = lstat(f"{base}/{path}")
        except OSError:
            problems.append(FileProblem(path, Trouble.GONE))
            continue
        if found.st_mtime_ns == mtime_ns and found.st_size == size and is_file(found.st_mode):
            continue
        changed = found.st_size != size or mtime_ns == DIFFERS or not is_file(found.st_mode)
        problems.append(FileProblem(path, Trouble.MODIFIED if changed else Trouble.TOUCHED))
    return tuple(problems)


def settle(
    install: Install, problems: Sequence[FileProblem] | None, progress: Progress, cancel: CancelToken
) -> tuple[Install, tuple[FileProblem, ...]]:
    """Hash files and say for certain: those a glance found touched, or all of them with `problems` None.

    The install that is returned has the present times of the files that turned out to be unchanged, and `DIFFERS` for
    those with other contents: a glance tells them from then on.
    """
    known = {problem.path: problem.trouble for problem in (glance(install) if problems is None else problems)}
    mtimes = list(install.mtimes_ns)
    settled: list[FileProblem] = []
    for number, path in enumerate(install.paths):
        trouble = known.get(path)
        if trouble in {Trouble.GONE, Trouble.MODIFIED} and install.mtimes_ns[number] != DIFFERS:
            settled.append(FileProblem(path, trouble))
            continue
        if trouble is None and problems is not None:
            continue
        cancel.check()
        found = hash_of(f"{install.dest}/{path}", cancel, progress)
        if found is None or found[0] != install.digest(number):
            settled.append(FileProblem(path, Trouble.GONE if found is None else Trouble.MODIFIED))
            mtimes[number] = mtimes[number] if found is None else DIFFERS
        else:
            mtimes[number] = found[1]
    return install.with_mtimes(mtimes), tuple(settled)


def hash_of(path: str, cancel: CancelToken, progress: Progress | None = None) -> tuple[str, int] | None:
    """Digest and mtime of a plain file as it is now; None when there is none, or it cannot be read or holds still."""
    try:
        digest, stamp = hash_file(Path(path), progress=progress, cancel=cancel)
    except (OSError, SourceChangedError):
        return None
    return digest, stamp.mtime_ns


@dataclass(frozen=True)
class Comparison:
    """What an install has to do at its destination, all paths relative to it.

    `right` is there already, with its present time; `place` is to be put at free places; `replace` over files of ours
    (or, forced, of the user's); `remove` are our files that the pack no longer has; `in_the_way` are the user's, with
    what they are.
    """

    right: tuple[Wanted, ...]
    place: tuple[Wanted, ...]
    replace: tuple[Wanted, ...]
    remove: tuple[str, ...]
    in_the_way: tuple[tuple[str, str], ...]


class Known:
    """What this box remembers of the files at a destination: of the last install, and of one that was interrupted."""

    def __init__(self, installs: Sequence[Install]) -> None:
        self._told: dict[str, list[tuple[int, int, str]]] = {}
        for install in installs:
            for number, path in enumerate(install.paths):
                row = (install.sizes[number], install.mtimes_ns[number], install.digest(number))
                self._told.setdefault(path, []).append(row)

    def paths(self) -> Iterator[str]:
        return iter(self._told)

    def __contains__(self, path: str) -> bool:
        return path in self._told

    def digest_of(self, path: str, found: os.stat_result, full: str, cancel: CancelToken) -> tuple[str | None, bool]:
        """A file's digest, hashed only when its size or time is new; and whether it is as we installed it."""
        rows = self._told.get(path, ())
        for size, mtime_ns, digest in rows:
            if (found.st_size, found.st_mtime_ns) == (size, mtime_ns):
                return digest, True
        hashed = hash_of(full, cancel)
        digest_now = None if hashed is None else hashed[0]
        return digest_now, any(digest_now == row[2] for row in rows)


def compare(dest: Path, wanted: Sequence[Wanted], known: Known, cancel: CancelToken, *, force: bool) -> Comparison:
    """Tell what has to be done. Files that are not as they were installed are hashed. Raises CancelledError."""
    right: list[Wanted] = []
    place: list[Wanted] = []
    replace: list[Wanted] = []
    in_the_way: list[tuple[str, str]] = []
    remove = tuple(_removable(dest, {file.path for file in wanted}, known, cancel))
    going = frozenset(remove)
    folders = _Folders(dest, going)
    for number, file in enumerate(wanted):
        if not number % _CHECK_EVERY:
            cancel.check()
        blocked = folders.blocked(file.path)
        if blocked is not None:
            in_the_way.append(blocked)
            continue
        full = f"{dest}/{file.path}"
        try:
            found = os.lstat(full)
        except OSError:
            place.append(file)
            continue
        if stat.S_ISDIR(found.st_mode) and going and _holds_only(dest, file.path, going):
            place.append(file)
            continue
        why = _why_not(found)
        if why is not None and not (force and stat.S_ISLNK(found.st_mode)):
            in_the_way.append((file.path, why))
            continue
        digest, ours = (None, False) if why is not None else known.digest_of(file.path, found, full, cancel)
        if digest == file.sha256 and not force:
            right.append(dataclasses.replace(file, mtime_ns=found.st_mtime_ns))
        elif ours or force:
            replace.append(file)
        else:
            in_the_way.append((file.path, "modified" if file.path in known else "not from this pack"))
    return Comparison(tuple(right), tuple(place), tuple(replace), remove, tuple(in_the_way))


def _why_not(found: os.stat_result) -> str | None:
    if stat.S_ISREG(found.st_mode):
        return None
    if stat.S_ISDIR(found.st_mode):
        return "a folder"
    return "a link" if stat.S_ISLNK(found.st_mode) else "not a plain file"


def _holds_only(dest: Path, folder: str, paths: frozenset[str]) -> bool:
    """Whether a folder holds nothing but some of these files."""
    return all(path in paths for path in files_below(dest, folder))


def files_below(dest: Path, folder: str = "") -> Iterator[str]:
    """Everything below a folder that is no folder itself, relative to `dest`; links are not followed."""
    with os.scandir(f"{dest}/{folder}") as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(dest, path)
            else:
                yield path


def _removable(dest: Path, wanted: set[str], known: Known, cancel: CancelToken) -> Iterator[str]:
    """Files of ours that the pack no longer has, and that nobody changed."""
    for path in sorted(known.paths()):
        if path in wanted:
            continue
        full = f"{dest}/{path}"
        try:
            found = os.lstat(full)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and known.digest_of(path, found, full, cancel)[1]:
            yield path


class _Folders:
    """Whether the folders above a file are folders, each looked at once: nothing is written through a link."""

    def __init__(self, dest: Path, going: frozenset[str]) -> None:
        """Files in `going` will be removed before anything takes their place."""
        self._dest = dest
        self._going = going
        self._seen: dict[str, tuple[str, str] | None] = {"": None}

    def blocked(self, path: str) -> tuple[str, str] | None:
        """The part of the path that is no folder, and what it is; None when nothing is in the way."""
        folder = path.rpartition("/")[0]
        if folder not in self._seen:
            self._seen[folder] = self.blocked(folder) or self._look(folder)
        return self._seen[folder]

    def _look(self, folder: str) -> tuple[str, str] | None:
        try:
            mode = os.lstat(f"{self._dest}/{folder}").st_mode
        except OSError:
            return None
        if stat.S_ISDIR(mode) or folder in self._going:
            return None
        return folder, "a link" if stat.S_ISLNK(mode) else "not a folder"
