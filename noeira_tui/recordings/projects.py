"""The projects on this box: each has a `project.kv` that says what it is and what it needs here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.paths import is_file, is_folder
from noeira_tui.recordings.layout import FOLDERS

DEFINITION = "project.kv"
DATASETS = "datasets"
_MAX_DEFINITION_BYTES = 1024 * 1024


@dataclass(frozen=True)
class ProjectDefinition:
    """What a `project.kv` says: `wanted` has the values of its `dataset=` lines, each once, in order."""

    description: str | None = None
    wanted: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocalProject:
    """One folder below the projects root. It is a project here when it `has_definition`.

    Without one it is listed only when it has recordings, because destroying the box would lose them.
    `recordings` are their folders, sorted by name; names that are not UTF-8 are kept as surrogates.
    """

    slug: str
    folder: Path
    has_definition: bool
    description: str | None = None
    wanted: tuple[str, ...] = ()
    recordings: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def discover_projects(projects_dir: Path) -> tuple[LocalProject, ...]:
    """Every project below `projects_dir`, sorted by name; nothing when the folder is not there."""
    found: list[LocalProject] = []
    for folder in _subfolders(projects_dir):
        has_definition = is_file(folder / DEFINITION)
        recordings = tuple(path for path in _subfolders(folder / DATASETS) if _holds_recording(path))
        if not has_definition and not recordings:
            continue
        if has_definition:
            definition = _read_definition(folder / DEFINITION)
        else:
            definition = ProjectDefinition(problems=(f"There are recordings, but no {DEFINITION}.",))
        found.append(
            LocalProject(
                slug=folder.name,
                folder=folder,
                has_definition=has_definition,
                description=definition.description,
                wanted=definition.wanted,
                recordings=recordings,
                problems=definition.problems,
            )
        )
    return tuple(found)


def parse_project(data: bytes) -> ProjectDefinition:
    """Parse a `project.kv`: `key=value` lines; blank lines and lines that begin with `#` are skipped.

    Keys that are not known here (robots, calibration, policies) belong to other tools and are left alone.
    """
    description: str | None = None
    wanted: dict[str, None] = {}
    problems: list[str] = []
    for number, line in enumerate(data.decode("utf-8-sig", "surrogateescape").split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key:
            problems.append(f"{DEFINITION}, line {number}: not a `key=value` line.")
        elif key == "description":
            description = description or value or None
        elif key == "dataset" and value:
            wanted[value] = None
    return ProjectDefinition(description, tuple(wanted), tuple(problems))


def _read_definition(path: Path) -> ProjectDefinition:
    try:
        with path.open("rb") as stream:
            return parse_project(stream.read(_MAX_DEFINITION_BYTES))
    except OSError as err:
        return ProjectDefinition(problems=(f"{path.name} cannot be read: {err.strerror or err}.",))


def _subfolders(folder: Path) -> list[Path]:
    """Folders in a folder, links to folders too, without hidden ones; nothing when it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _holds_recording(folder: Path) -> bool:
    return any(is_folder(folder / name) for name in FOLDERS)
