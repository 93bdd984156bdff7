"""Folders that this user may not look into: what is in them is in no picture, so nobody may call the box safe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from noeira_tui.core.settings import Settings

_EFFECTIVE = os.access in os.supports_effective_ids


def closed_folders(settings: Settings) -> tuple[Path, ...]:
    """Folders of projects, recordings and datasets that cannot be listed or entered, sorted; never raises."""
    found: list[Path] = []
    for folder in (settings.data_dir, settings.projects_dir):
        found += _closed(folder)
    for project in _folders(settings.projects_dir):
        if _may_look_into(project):
            found += _closed(project / "datasets")
    return tuple(sorted(found))


def _closed(folder: Path) -> Iterator[Path]:
    """The folder itself, or else those directly in it."""
    if not _may_look_into(folder):
        yield folder
        return
    for inner in _folders(folder):
        if not _may_look_into(inner):
            yield inner


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return []


def _may_look_into(folder: Path) -> bool:
    """Whether it can be listed and entered; True too when it is not there."""
    if os.access(folder, os.R_OK | os.X_OK, effective_ids=_EFFECTIVE):
        return True
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
