"""Every file of a recording with its stamp, by one stat a file: what repeated looks at a recording are compared by."""

from __future__ import annotations

import hashlib
import marshal
import os
import stat as stat_kinds
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from noeira_tui.core.paths import MAX_PATH_SEGMENTS
from noeira_tui.recordings.layout import FOLDERS, README, belongs, is_unfinished_name


class Stamp(NamedTuple):
    """What tells a file from another one, or from itself after a change; in the order of `transfer.facts.FileStamp`."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Stamp:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@dataclass(frozen=True)
class Tree:
    """The files that belong to a recording, by relative path, and the folders they lie in with the folders' mtimes.

    `exists` is False when the recording's folder is not there; `problems` are sentences for a person.
    """

    files: Mapping[str, Stamp] = field(default_factory=dict)
    folders: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    exists: bool = True

    def signature(self) -> str:
        """A short text that is the same exactly when no file came, went or changed."""
        listing = [(path, *stamp) for path, stamp in sorted(self.files.items())]
        return hashlib.blake2b(marshal.dumps(listing, 2), digest_size=16).hexdigest()


class _Walk:
    def __init__(self, folder: Path) -> None:
        self._root = str(folder)
        self.files: dict[str, Stamp] = {}
        self.folders: dict[str, int] = {}
        self.problems: list[str] = []

    def tops(self) -> None:
        """README.md and everything below the folders of a recording."""
        self.touch(README)
        for name in FOLDERS:
            if os.path.islink(f"{self._root}/{name}"):  # noqa: PTH114  one call a repaint, and no Path to be made
                self.problems.append(f"{name}/ is a link and is not entered")
            else:
                self.below(name)

    def below(self, top: str) -> None:
        waiting = [top]
        while waiting:
            waiting += self.list(waiting.pop())

    def list(self, relative: str) -> list[str]:
        """Take in the files of one folder; returns its sub-folders."""
        place = f"{self._root}/{relative}"
        try:
            mtime_ns = os.stat(place).st_mtime_ns  # noqa: PTH116
            with os.scandir(place) as entries:
                listing = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as err:
            self.problems.append(f"{relative}/ cannot be read: {err.strerror or err}")
            return []
        self.folders[relative] = mtime_ns
        found: list[str] = []
        for entry in listing:
            name = entry.name
            if name[0] == "." or is_unfinished_name(name):
                continue
            path = f"{relative}/{name}"
            try:
                stat = entry.stat()
            except OSError:
                # It vanished between the listing and now, or is a link to nowhere.
                continue
            if stat_kinds.S_ISREG(stat.st_mode):
                self.files[path] = Stamp(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            elif entry.is_symlink():
                self.problems.append(f"{path} is a link and is not entered")
            elif stat_kinds.S_ISDIR(stat.st_mode) and path.count("/") < MAX_PATH_SEGMENTS:
                found.append(path)
        return found

    def touch(self, path: str) -> bool:
        """Look at one path again; whether it is a folder."""
        place = f"{self._root}/{path}"
        try:
            stat = os.stat(place)  # noqa: PTH116
        except OSError:
            self.files.pop(path, None)
            return False
        if stat_kinds.S_ISREG(stat.st_mode) and belongs(path):
            self.files[path] = Stamp.of(stat)
            return False
        self.files.pop(path, None)
        return stat_kinds.S_ISDIR(stat.st_mode) and not os.path.islink(place)  # noqa: PTH114

    def tree(self, exists: bool = True) -> Tree:
        return Tree(self.files, self.folders, tuple(self.problems), exists)


def scan(folder: Path) -> Tree:
    """Everything, by one stat a file. Never raises: what cannot be read is in `problems`."""
    if not os.path.isdir(folder):  # noqa: PTH112
        return Tree(exists=False)
    walk = _Walk(folder)
    walk.tops()
    return walk.tree()


def glance(folder: Path, before: Tree) -> Tree:
    """What a few stats tell: folders that gained or lost names are listed again, and `meta/` is looked at whole.

    A video or a table that was rewritten in place escapes it, until the next `scan`.
    """
    if not before.exists or not os.path.isdir(folder):  # noqa: PTH112
        return scan(folder)
    changed = [path for path, mtime_ns in before.folders.items() if _mtime_ns(folder, path) != mtime_ns]
    # A whole new folder of a recording shows in none of the folders that were known.
    changed += [name for name in FOLDERS if name not in before.folders and (folder / name).is_dir()]
    rewritten = [path for path, stamp in before.files.items() if path[:5] == "meta/" and _differs(folder, path, stamp)]
    walk = _copy(folder, before)
    walk.touch(README)
    if not changed and not rewritten and walk.files.get(README) == before.files.get(README):
        return before
    for path in rewritten:
        walk.touch(path)
    lost = set(changed)
    for path in [path for path in walk.files if path.rpartition("/")[0] in lost]:
        del walk.files[path]
    for path in changed:
        for found in walk.list(path):
            if found not in before.folders:
                walk.below(found)
        if not (folder / path).is_dir():
            _forget_below(walk, path)
    return walk.tree()


def touch(folder: Path, before: Tree, paths: Iterable[str]) -> Tree:
    """The tree after some of its paths were reported as changed; folders among them are listed whole."""
    walk = _copy(folder, before)
    for path in paths:
        if path.split("/", 1)[0] not in (*FOLDERS, README):
            continue
        if walk.touch(path):
            walk.below(path)
        elif path in walk.folders:
            _forget_below(walk, path)
    return walk.tree()


def changed_paths(before: Tree, after: Tree) -> Collection[str]:
    """Paths that came, went or changed."""
    if before.files is after.files:
        return ()
    known, now = before.files, after.files
    return [path for path, stamp in now.items() if known.get(path) != stamp] + [p for p in known if p not in now]


def _mtime_ns(folder: Path, path: str) -> int | None:
    try:
        return os.stat(f"{folder}/{path}").st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _differs(folder: Path, path: str, stamp: Stamp) -> bool:
    try:
        return Stamp.of(os.stat(f"{folder}/{path}")) != stamp  # noqa: PTH116
    except OSError:
        return True


def _copy(folder: Path, before: Tree) -> _Walk:
    walk = _Walk(folder)
    walk.files, walk.folders, walk.problems = dict(before.files), dict(before.folders), list(before.problems)
    return walk


def _forget_below(walk: _Walk, path: str) -> None:
    for name in [name for name in walk.files if name.startswith(path + "/")]:
        del walk.files[name]
    for name in [name for name in walk.folders if name == path or name.startswith(path + "/")]:
        del walk.folders[name]
