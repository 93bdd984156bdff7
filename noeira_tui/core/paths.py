"""Where things are on this box, and which relative paths may be written to it."""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath

from noeira_tui.core.errors import ConfigError

MAX_PATH_CHARACTERS = 512
MAX_PATH_SEGMENTS = 8
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)

SEGMENT_RULE = "letters, digits, '.', '_' and '-', beginning with a letter or a digit"


def is_segment(text: str) -> bool:
    """Whether a text can be one path segment of the catalog protocol (a name, a version, a project)."""
    return len(text) <= MAX_PATH_CHARACTERS and _SEGMENT.fullmatch(text) is not None


def require_segments(**names: str) -> None:
    """Refuse names, given as what they are (`name`, `version`), that cannot be one path segment. Raises ConfigError."""
    for what, text in names.items():
        if not is_segment(text):
            raise ConfigError(f"The {what} {text!r} cannot be used.", hint=f"A {what} is {SEGMENT_RULE}.")


def is_wire_path(text: str) -> bool:
    """Whether a relative path obeys the protocol: at most 512 characters and 8 segments by the segment rule.

    Such a path cannot be absolute, climb with `..`, or hold NUL, backslashes or hidden names.
    """
    if len(text) > MAX_PATH_CHARACTERS:
        return False
    segments = text.split("/")
    return len(segments) <= MAX_PATH_SEGMENTS and all(_SEGMENT.fullmatch(segment) for segment in segments)


def suffix_of(name: str) -> str:
    """The suffix a file name keeps when it is stored under another name: `.tar.zst`, `.h5`, or nothing.

    Two suffixes are kept only for archives (`.tar.*`), so that `walker.v1.h5` has the suffix `.h5`.
    """
    path = PurePosixPath(name)
    suffixes = path.suffixes
    wanted = "".join(suffixes[-2:]) if len(suffixes) >= 2 and suffixes[-2] in {".tar", ".zarr"} else path.suffix
    return wanted if re.fullmatch(r"(\.[A-Za-z0-9_-]+)*", wanted, re.ASCII) else ""


def is_file(path: Path) -> bool:
    """Whether a file is there; False too where one may not look (`Path.is_file` raises in a closed folder)."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False too where one may not look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def git_work_tree(start: Path) -> Path | None:
    """The git work tree around a folder, found by its `.git`; None outside one."""
    for folder in (start, *start.parents):
        if is_file(folder / ".git") or is_folder(folder / ".git"):
            return folder
    return None


def absolute(path: Path, base: Path) -> Path:
    """`path` with `~` expanded, resolved against `base`; symbolic links are kept as they are."""
    try:
        expanded = path.expanduser()
    except RuntimeError as err:
        raise ConfigError(f"The home folder in {path} cannot be told: {err}.") from err
    return Path(os.path.normpath(base / expanded))
