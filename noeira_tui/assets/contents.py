"""What an unpacked pack holds, as frozen facts."""

from __future__ import annotations

from dataclasses import dataclass

SINGLE_FILE = "file"
"""The name in the cache of what is no archive; it is installed under the name its declaration gives."""


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """One file of an unpacked pack. `path` is relative to its tree; `inode` is the one it had when it was written."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int
    sha256: str


@dataclass(frozen=True)
class Unpacked:
    """What an archive held: its kind, its files, and the folders it names (empty ones are made too)."""

    kind: str
    files: tuple[UnpackedFile, ...]
    folders: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)
