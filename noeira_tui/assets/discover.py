"""Finding the `assets.kv` files below a root, without walking through what cannot hold one."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

MANIFEST_NAME = "assets.kv"
MAX_FOLDERS = 100_000

_SKIPPED_NAMES = frozenset({"node_modules", "__pycache__", "site-packages"})
_SKIPPED_SUFFIXES = (".zarr", ".egg-info")
# A virtual environment and a conda environment; a cache that tags itself (bford.info/cachedir).
_SKIPPED_IF_HOLDING = frozenset({"pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"})


@dataclass(frozen=True)
class Discovery:
    """The files found, sorted; folders that could not be read; whether the whole tree was looked at."""

    manifests: tuple[Path, ...]
    unreadable: tuple[Path, ...] = ()
    is_complete: bool = True


def find_manifests(root: Path, *, skip: Collection[Path] = (), max_folders: int = MAX_FOLDERS) -> Discovery:
    """Look for `assets.kv` files below `root`; `skip` names folders that are not entered (this box's own cache).

    Hidden folders, virtual environments, `node_modules`, caches (tagged ones, and mount points named so) and links are
    not entered. After `max_folders` folders the search stops and says that it is not complete.
    """
    skipped = {os.path.realpath(folder) for folder in skip}
    found: list[Path] = []
    unreadable: list[Path] = []
    waiting = [str(root)]
    entered = 0
    while waiting:
        if entered >= max_folders:
            return Discovery(tuple(sorted(found)), tuple(sorted(unreadable)), is_complete=False)
        folder = waiting.pop()
        entered += 1
        try:
            with os.scandir(folder) as entries:
                listing = list(entries)
        except OSError:
            unreadable.append(Path(folder))
            continue
        if folder != str(root) and any(entry.name in _SKIPPED_IF_HOLDING for entry in listing):
            continue
        for entry in listing:
            if entry.name == MANIFEST_NAME and _is_file(entry):
                found.append(Path(entry.path))
            elif _may_enter(entry) and not (skipped and os.path.realpath(entry.path) in skipped):
                waiting.append(entry.path)
    return Discovery(tuple(sorted(found)), tuple(sorted(unreadable)))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _may_enter(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if name.startswith(".") or name in _SKIPPED_NAMES or name.endswith(_SKIPPED_SUFFIXES):
        return False
    try:
        if not entry.is_dir(follow_symlinks=False):
            return False
    except OSError:
        return False
    return not ("cache" in name.lower() and os.path.ismount(entry.path))
