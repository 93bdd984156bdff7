"""The cache of unpacked packs, keyed by the digest of their archive: what installs link to.

```
assets/
  packs/<sha256>/tree/…      the files, read-only
  packs/<sha256>/index.json  their sizes, times, inodes and digests
  archives/<sha256>          a download on its way, with its `.part`
  new/<sha256>-…/            an unpacking on its way
  claims/                    who is at work on what
```
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.assets.contents import Unpacked, UnpackedFile
from noeira_tui.core.errors import SourceChangedError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.owner import boot_id
from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.hashing import hash_file

_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# noeira-tui keeps unpacked asset packs here; bford.info/cachedir tells what this file means.
"""
_VERSION = 1
_CHECK_EVERY = 256


@dataclass(frozen=True)
class Entry:
    """One cached pack: its folder, what is in it, and the bytes of its archive."""

    sha256: str
    folder: Path
    archive_bytes: int
    contents: Unpacked
    is_shared: bool = False
    boot_id: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether a power cut may have taken what was written last: another boot wrote it, and nobody hashed it since.

        Of a shared cache that cannot be told, and could not be noted.
        """
        return not self.is_shared and self.boot_id not in {"", boot_id()}

    @property
    def tree(self) -> Path:
        return self.folder / "tree"


class PackCache:
    """One cache folder; with `read_only` nothing in it is ever written (a lab's shared disk)."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        self.read_only = read_only
        self.packs = folder / "packs"
        self.archives = folder / "archives"
        self.claims = folder / "claims"
        self._new = folder / "new"

    def prepare(self) -> None:
        """Make the folders. Raises OSError."""
        for folder in (self.packs, self.archives, self.claims, self._new):
            folder.mkdir(parents=True, exist_ok=True)
        tag = self.folder / "CACHEDIR.TAG"
        if not tag.exists():
            # Back-ups skip a folder that holds it, and so does our own search for assets.kv.
            write_atomically(tag, _TAG)

    def archive_path(self, sha256: str) -> Path:
        """Where the archive of a pack is downloaded to."""
        return self.archives / sha256

    def load(self, sha256: str) -> Entry | None:
        """The entry as its index tells it; None when there is none, or its index cannot be read."""
        folder = self.packs / sha256
        try:
            told = json.loads((folder / "index.json").read_bytes())
            if told["version"] != _VERSION or told["sha256"] != sha256:
                return None
            files = tuple(UnpackedFile(*row) for row in told["files"])
            contents = Unpacked(str(told["kind"]), files, tuple(told["folders"]))
            return Entry(sha256, folder, int(told["archive_bytes"]), contents, self.read_only, str(told["boot_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def entries(self) -> Iterator[Entry]:
        """Every entry that can be read, by digest."""
        try:
            names = sorted(path.name for path in self.packs.iterdir())
        except OSError:
            return
        for name in names:
            entry = self.load(name)
            if entry is not None:
                yield entry

    def damage(self, entry: Entry, cancel: CancelToken) -> tuple[Entry, tuple[str, ...]]:
        """The entry with its present times and inodes, and the files that are gone or not what they were.

        Files whose size, time and inode are as they were written are not opened; others are hashed, as all are of a
        doubtful pack.
        """
        thorough = entry.is_doubtful
        files: list[UnpackedFile] = []
        damaged: list[str] = []
        for number, file in enumerate(entry.contents.files):
            if not number % _CHECK_EVERY:
                cancel.check()
            found = self._now(entry, file, cancel, thorough=thorough)
            files.append(found or file)
            if found is None:
                damaged.append(file.path)
        if damaged or (tuple(files) == entry.contents.files and not thorough):
            return entry, tuple(damaged)
        proven = "" if thorough else entry.boot_id
        fresh = replace(entry, contents=replace(entry.contents, files=tuple(files)), boot_id=proven)
        if not self.read_only:
            self._write_index(fresh.folder, fresh)
        return fresh, ()

    def _now(self, entry: Entry, file: UnpackedFile, cancel: CancelToken, *, thorough: bool) -> UnpackedFile | None:
        """The file as it is now, None when it is damaged."""
        path = f"{entry.tree}/{file.path}"
        try:
            stat = os.lstat(path)
        except OSError:
            return None
        if stat.st_size != file.size_bytes or stat.st_mode & 0o170000 != 0o100000:
            return None
        # A shared cache may have been copied from elsewhere: its inodes say nothing.
        same = stat.st_mtime_ns == file.mtime_ns and (self.read_only or stat.st_ino == file.inode)
        if same and not thorough:
            return file
        try:
            digest = hash_file(Path(path), cancel=cancel)[0]
        except (OSError, SourceChangedError):
            return None
        if digest != file.sha256:
            return None
        return file if self.read_only else replace(file, mtime_ns=stat.st_mtime_ns, inode=stat.st_ino)

    def staging(self, sha256: str) -> Path:
        """A fresh folder to unpack into; what killed processes left of the same pack is removed.

        Only for the holder of the pack's claim.
        """
        self._new.mkdir(parents=True, exist_ok=True)
        self.sweep(sha256)
        folder = self._new / f"{sha256}-{secrets.token_hex(6)}"
        folder.mkdir()
        return folder

    def sweep(self, sha256: str) -> None:
        """Remove what killed processes left of a pack that they unpacked. Only for the holder of the pack's claim."""
        for left in self._new.glob(f"{sha256}-*"):
            shutil.rmtree(left, ignore_errors=True)

    def publish(self, staged: Path, entry: Entry) -> Entry:
        """Put an unpacked pack in its place; what was there before goes. Raises OSError.

        Nothing is synced, which would take as long as the whole pull: a pack that another boot of this machine wrote
        is hashed once before it is used (`Entry.is_doubtful`).
        """
        placed = replace(entry, folder=self.packs / entry.sha256, boot_id=boot_id())
        self._write_index(staged, placed)
        if not placed.boot_id:
            flush_file_system(staged)
        away = self._retire(placed.folder)
        staged.rename(placed.folder)
        if away is not None:
            shutil.rmtree(away, ignore_errors=True)
        return placed

    def remove(self, sha256: str) -> None:
        """Remove an entry: at once as others see it. Only for the holder of its claim."""
        away = self._retire(self.packs / sha256)
        if away is not None:
            shutil.rmtree(away, ignore_errors=True)

    def touch(self, entry: Entry) -> None:
        """Note that an entry was used just now."""
        if not entry.is_shared:
            try:
                os.utime(entry.folder / "index.json")
            except OSError:
                # Only a remark for those who prune.
                return

    def last_used_at(self, entry: Entry) -> float:
        """When an entry was last installed from, in seconds since the epoch."""
        try:
            return (entry.folder / "index.json").stat().st_mtime
        except OSError:
            return 0.0

    def names_on_the_way(self, sha256: str) -> Iterator[os.stat_result]:
        """The files of a pack that was unpacked and is not put in its place yet, or not installed."""
        for left in self._new.glob(f"{sha256}-*"):
            for folder, _, names in os.walk(left):
                for name in names:
                    with suppress(OSError):
                        yield (Path(folder) / name).lstat()

    def leftovers(self) -> tuple[Path, ...]:
        """Downloads and unpackings that were not finished, sorted."""
        found: list[Path] = []
        for folder in (self.archives, self._new):
            try:
                found += folder.iterdir()
            except OSError:
                continue
        return tuple(sorted(found))

    def _retire(self, folder: Path) -> Path | None:
        away = self._new / f"{folder.name}-old-{secrets.token_hex(6)}"
        self._new.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(away)
        except FileNotFoundError:
            return None
        return away

    def _write_index(self, folder: Path, entry: Entry) -> None:
        rows = [[f.path, f.size_bytes, f.mtime_ns, f.inode, f.sha256] for f in entry.contents.files]
        told = {
            "version": _VERSION,
            "sha256": entry.sha256,
            "archive_bytes": entry.archive_bytes,
            "kind": entry.contents.kind,
            "boot_id": entry.boot_id,
            "folders": entry.contents.folders,
            "files": rows,
        }
        # Not synced, as the files are not; half an index is no index, and the pack is fetched again.
        beside = folder / f"index.{secrets.token_hex(4)}"
        beside.write_text(json.dumps(told), "utf-8")
        beside.replace(folder / "index.json")


def flush_file_system(folder: Path) -> None:
    """Have everything written on the file system of `folder` so far, in one call instead of one a file."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync = getattr(library, "syncfs", None)
        if sync is None or sync(fd):
            os.sync()
    finally:
        os.close(fd)
