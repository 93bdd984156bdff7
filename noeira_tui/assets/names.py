"""Names of an archive's members: which are refused, and which two mean the same place."""

from __future__ import annotations

import os
import unicodedata

from noeira_tui.core.errors import ArchiveError

MAX_NAME_BYTES = 1024
MAX_SEGMENTS = 64
_MAX_SEGMENT_BYTES = 255
_SHOWN_CHARACTERS = 120


def member_path(name: str) -> str:
    """A member's name as a plain relative path; empty for the root itself.

    Raises ArchiveError, naming the member, for one that is absolute, climbs with `..`, or is no portable name.
    """
    if "\0" in name or "\\" in name:
        raise refused(name, "its name holds a NUL or a backslash")
    if name.startswith("/"):
        raise refused(name, "it is absolute")
    if len(name) > MAX_NAME_BYTES // 4 and len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise refused(name, f"its name is longer than {MAX_NAME_BYTES} bytes")
    segments = [segment for segment in name.split("/") if segment not in {"", "."}]
    if ".." in segments:
        raise refused(name, "it climbs with `..`")
    if len(segments) > MAX_SEGMENTS:
        raise refused(name, f"it lies more than {MAX_SEGMENTS} folders deep")
    if any(len(segment) > 63 and len(os.fsencode(segment)) > _MAX_SEGMENT_BYTES for segment in segments):
        raise refused(name, f"a part of its name is longer than {_MAX_SEGMENT_BYTES} bytes")
    return "/".join(segments)


def refused(name: str, why: str) -> ArchiveError:
    """The error for a member that must not be unpacked."""
    shown = name if len(name) <= _SHOWN_CHARACTERS else name[:_SHOWN_CHARACTERS] + "…"
    return ArchiveError(
        f"The member {shown!r} is refused: {why}. Nothing of the pack was installed.",
        hint="Ask whoever published the pack for another archive.",
    )


def place_of(path: str) -> str:
    """What two paths share that mean the same place on some file system: case and spelling of accents do not count."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


class Places:
    """The places that members have taken so far.

    A pack must mean the same on every box, so two files whose names differ only in case are duplicates everywhere;
    folders may repeat.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = {""}
        self._known_parents: set[str] = {""}

    def add_file(self, path: str) -> None:
        """Take the place of a file or link, and of the folders above it. Raises ArchiveError for a duplicate."""
        place = place_of(path)
        if place in self._files or place in self._folders:
            raise refused(path, "another member has the same name")
        self.add_folder(path.rpartition("/")[0])
        self._files.add(place)

    def add_folder(self, path: str) -> None:
        """Take the place of a folder and those above it. Raises ArchiveError where a file is."""
        if path in self._known_parents:
            return
        place = place_of(path)
        if place in self._files:
            raise refused(path, "another member has the same name")
        self.add_folder(path.rpartition("/")[0])
        self._folders.add(place)
        self._known_parents.add(path)
