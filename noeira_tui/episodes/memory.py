"""Which files were ingested into a catalog, kept beside its tables: what did not change since is not read again.

It is a memory, not the truth: without it everything is read once more and found to be there. It belongs to the catalog,
so that it holds for every box that ingests into it, and says for which tables it was written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from noeira_tui.datasets.store import FileMark
from noeira_tui.episodes.place import CatalogPlace, name_of

_FOLDER = "sources"


@dataclass(frozen=True)
class Remembered:
    """What was read of one dataset: its files as they were, those that were not there, and how many episodes they gave.
    `stamp` is what else the result depends on: the tables, the scorer. Without `is_whole` some file's changes cannot be
    told."""

    stamp: str
    episodes: int
    files: Mapping[str, FileMark] = field(default_factory=dict)
    is_whole: bool = False
    absent: tuple[str, ...] = ()

    def is_current(self, now: Mapping[str, FileMark]) -> bool:
        """Whether nothing changed at all: every file is what it was, and none came that was not there."""
        return self.is_whole and len(self.unchanged(now)) == len(self.files) and not any(p in now for p in self.absent)

    def unchanged(self, now: Mapping[str, FileMark]) -> frozenset[str]:
        """The files that are certainly what they were."""
        return frozenset(
            path
            for path, mark in self.files.items()
            if mark.tag and mark.size_bytes is not None and now.get(path) == mark
        )


class SourceMemory:
    """What one catalog remembers of one dataset. `host` is the box of a local one, empty for a remote one."""

    def __init__(self, place: CatalogPlace, uri: str, host: str, stamp: str) -> None:
        self._place = place
        self._uri = uri
        self._host = host
        self._stamp = stamp
        self._name = _name(host, uri)
        # How a folder that was named by its address was remembered once.
        self._former = f"file://{uri}" if host else uri

    @property
    def is_there(self) -> bool:
        """Whether there is anything to recall. Raises what the place raises."""
        return self._place.read(self._name) is not None

    def recall(self) -> Remembered | None:
        """What is remembered; None when nothing is, or it is about other tables or another scorer."""
        data = self._place.read(self._name)
        if data is None and self._former != self._uri:
            data = self._place.read(_name(self._host, self._former))
        if data is None:
            return None
        try:
            told = json.loads(data)
            files = {str(path): FileMark(int(size), str(tag)) for path, (size, tag) in told["files"].items()}
            absent = tuple(str(path) for path in told.get("absent", ()))
            found = Remembered(str(told["stamp"]), int(told["episodes"]), files, told["is_whole"] is True, absent)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Damaged, or of another version: the dataset is read, and this is written anew.
            return None
        return found if found.stamp == self._stamp and told.get("uri") in {self._uri, self._former} else None

    def keep(self, episodes: int, files: Mapping[str, FileMark], *, is_whole: bool, absent: Sequence[str] = ()) -> None:
        """Remember files whose episodes are all in the catalog; `is_whole` tells that there are no others but
        those that are `absent` and would matter. Raises what the place raises."""
        told = {
            "uri": self._uri,
            "host": self._host,
            "stamp": self._stamp,
            "episodes": episodes,
            "is_whole": is_whole and all(mark.tag and mark.size_bytes is not None for mark in files.values()),
            "files": {
                path: [mark.size_bytes, mark.tag]
                for path, mark in sorted(files.items())
                if mark.tag and mark.size_bytes is not None
            },
            "absent": sorted(absent),
        }
        self._place.write(self._name, json.dumps(told).encode())


def _name(host: str, uri: str) -> str:
    return f"{_FOLDER}/{name_of(host, uri)}.json"
