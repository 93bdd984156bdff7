"""What the cache holds, who uses it, and removing only what nobody does."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.cache import Entry, PackCache
from noeira_tui.assets.claim import holding, is_held
from noeira_tui.assets.records import Install, Installs
from noeira_tui.core.progress import CancelToken


@dataclass(frozen=True)
class CachedPack:
    """One thing in the cache. `used_by` are the destinations that have its files; `other_links` counts files that
    something else on this file system links to, of which this box has no record.

    `titles` are the names it was installed under. An unfinished download or unpacking has `is_leftover`; one that a
    process is at work on has `in_use`. `last_used_at` is seconds since the epoch.
    """

    sha256: str
    path: Path
    size_bytes: int
    files: int
    last_used_at: float
    titles: tuple[str, ...] = ()
    used_by: tuple[Path, ...] = ()
    other_links: int = 0
    in_use: bool = False
    is_leftover: bool = False
    is_shared: bool = False

    @property
    def may_go(self) -> bool:
        """Whether pruning would remove it."""
        return not (self.is_shared or self.used_by or self.other_links or self.in_use)


def list_cache(cache: PackCache, installs: Installs) -> tuple[CachedPack, ...]:
    """What a cache holds, whole packs first, the longest unused first among them."""
    noted = installs.all().values()
    packs = [_look(cache, entry, noted) for entry in cache.entries()]
    readable = {pack.sha256 for pack in packs}
    leftovers = [_leftover(cache, path) for path in (*cache.leftovers(), *_unreadable(cache, readable))]
    return (*sorted(packs, key=lambda pack: pack.last_used_at), *leftovers)


def prune(
    cache: PackCache, installs: Installs, chosen: Sequence[CachedPack], cancel: CancelToken
) -> tuple[CachedPack, ...]:
    """Remove what was listed and still may go; what was removed.

    What another process is at work on is left alone, and everything is looked at again under its claim.
    """
    removed: list[CachedPack] = []
    for pack in chosen:
        if not pack.may_go:
            continue
        cancel.check()
        with holding(cache.claims, pack.sha256, cancel, wait=False) as held:
            if held and _remove(cache, installs, pack):
                removed.append(pack)
    return tuple(removed)


def _remove(cache: PackCache, installs: Installs, pack: CachedPack) -> bool:
    """Whether it could go."""
    if pack.is_leftover:
        if pack.path.is_dir() and not pack.path.is_symlink():
            shutil.rmtree(pack.path, ignore_errors=True)
        else:
            pack.path.unlink(missing_ok=True)
        return True
    entry = cache.load(pack.sha256)
    if entry is None or not _look(cache, entry, installs.all().values(), held=True).may_go:
        return False
    cache.remove(pack.sha256)
    return True


def _look(cache: PackCache, entry: Entry, installs: Iterable[Install], *, held: bool = False) -> CachedPack:
    users = [install for install in installs if install.sha256 == entry.sha256]
    here = tuple(sorted(install.dest for install in users if _has_any(install)))
    return CachedPack(
        sha256=entry.sha256,
        path=entry.folder,
        size_bytes=entry.contents.size_bytes,
        files=len(entry.contents.files),
        last_used_at=cache.last_used_at(entry),
        titles=tuple(sorted({f"{install.pack}@{install.version}" for install in users})),
        used_by=here,
        other_links=0 if here else _links(cache, entry),
        in_use=not held and is_held(cache.claims, entry.sha256),
        is_shared=cache.read_only,
    )


def _has_any(install: Install) -> bool:
    """Whether at least one file of an install is still there."""
    return any(os.path.lexists(f"{install.dest}/{path}") for path in install.paths)


def _links(cache: PackCache, entry: Entry) -> int:
    """How many of a pack's files have names outside the cache."""
    found: list[os.stat_result] = []
    for file in entry.contents.files:
        try:
            found.append(os.lstat(f"{entry.tree}/{file.path}"))
        except OSError:
            continue
    inside = Counter(stat.st_ino for stat in (*found, *cache.names_on_the_way(entry.sha256)))
    return sum(stat.st_nlink > inside[stat.st_ino] for stat in found)


def _unreadable(cache: PackCache, readable: set[str]) -> list[Path]:
    """Packs whose index is lost: they are of no use to anybody."""
    try:
        return sorted(path for path in cache.packs.iterdir() if path.name not in readable)
    except OSError:
        return []


def _leftover(cache: PackCache, path: Path) -> CachedPack:
    sha256 = path.name[:64]
    try:
        used_at = path.stat().st_mtime
    except OSError:
        used_at = 0.0
    return CachedPack(
        sha256=sha256,
        path=path,
        size_bytes=_bytes_below(path),
        files=0,
        last_used_at=used_at,
        in_use=is_held(cache.claims, sha256),
        is_leftover=True,
        is_shared=cache.read_only,
    )


def _bytes_below(path: Path) -> int:
    total = 0
    try:
        if not path.is_dir():
            return path.lstat().st_blocks * 512
        for folder, _, names in os.walk(path):
            total += sum((Path(folder) / name).lstat().st_size for name in names)
    except OSError:
        # It is being finished or removed just now.
        return total
    return total
