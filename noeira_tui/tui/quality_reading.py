"""Reading a catalog of episodes beside the app: all of it for the quality screen, one episode for the inspector."""

from __future__ import annotations

import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noeira_tui.core.errors import CancelledError, DatasetError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.tui.rejecting import LEROBOT, local_folder, rejected_of, rejected_there
from noeira_tui.tui.text import Line

if TYPE_CHECKING:
    from noeira_tui.datasets.facts import Series
    from noeira_tui.datasets.source import Resolvers
    from noeira_tui.episodes.browse import EpisodeColumns
    from noeira_tui.tui.glyphs import Glyphs
    from noeira_tui.tui.ports import BoxLike
    from noeira_tui.tui.quality_table import QualityTable

_NEEDED = ("deltalake", "duckdb", "xxhash")
_MARKER = "catalog.json"

_BESIDE_PLOT_S = 120.0
"""A plot waits no longer for what a catalog knows of its episode."""


@lru_cache
def _is_there(library: str) -> bool:
    """Asked at every move of a cursor, and looked for on disk once."""
    return find_spec(library) is not None


def missing_extra() -> str | None:
    """What to install before anything can be ingested, in words; None when everything is there."""
    for name in _NEEDED:
        if not _is_there(name):
            return f"It needs {name}, which is not installed: pip install 'noeira-tui[episodes]'"
    return None


def read_quality(catalog: str, cancel: CancelToken) -> QualityTable:
    """Everything in the catalog at a place, and which of it is rejected on this box.

    Raises NoCatalogError when there is none, DatasetError, NetworkError, CancelledError.
    """
    from noeira_tui.episodes.browse import read_columns_beside
    from noeira_tui.tui.quality_table import QualityTable, Wanted

    columns = read_columns_beside(catalog, cancel=cancel)
    rejected = read_rejections(columns, cancel)
    table = QualityTable(columns, rejected)
    # Made here, so that the first paint finds them made.
    _ = (table.flags, table.medians, table.flagged, table.rows(Wanted()))
    return table


def read_rejections(columns: EpisodeColumns, cancel: CancelToken) -> dict[str, frozenset[int]]:
    """The rejected episodes of all datasets of a catalog that are on this box."""
    found: dict[str, frozenset[int]] = {}
    for source in columns.sources.names:
        cancel.check()
        episodes = rejected_of(source) if source and local_folder(source) is not None else frozenset()
        if source and episodes:
            found[source] = episodes
    return found


def read_remote_rejections(
    columns: EpisodeColumns, resolvers: Resolvers, cancel: CancelToken
) -> dict[str, frozenset[int]]:
    """Those of its LeRobot v3 datasets elsewhere: a small request each, none where a place did not answer before.

    Raises CancelledError.
    """
    import numpy as np

    formats = columns.coded["source_format"]
    is_lerobot = np.array([name == LEROBOT for name in formats.names], bool)[formats.codes]
    found: dict[str, frozenset[int]] = {}
    silent: set[str] = set()
    for code in np.unique(columns.sources.codes[is_lerobot]).tolist():
        source = columns.sources.names[code]
        host = "" if source is None else "//".join(urlsplit(source)[:2])
        if source is None or local_folder(source) is not None or host in silent:
            continue
        try:
            episodes = rejected_there(source, resolvers, cancel)
        except CancelledError:
            raise
        except DatasetError:
            # The list is damaged: told by whoever looks at the dataset itself.
            continue
        except NoeiraError:
            silent.add(host)
            continue
        if episodes:
            found[source] = episodes
    return found


class Catalogs:
    """Which catalog of episodes the app looks at: this root's, or another one that was asked for."""

    def __init__(self, box: BoxLike) -> None:
        self._box = box
        self._chosen: str | None = None
        self.changes = 0
        """How often an ingest may have changed it: of one in a bucket nothing else tells that cheaply."""

    @property
    def chosen(self) -> str | None:
        """The one that was asked for; None for the root's."""
        return self._chosen

    @property
    def place(self) -> str:
        """Where it is."""
        from noeira_tui.jobs.episode_kinds import catalog_place

        return catalog_place(self._chosen, self._box.settings)

    @property
    def resolvers(self) -> Resolvers:
        """What opens datasets on the service, as the settings say."""
        from noeira_tui.jobs.addresses import resolvers

        return resolvers(self._box.settings)

    def choose(self, place: str) -> None:
        """Look at another one. Raises ConfigError for what cannot be one."""
        from noeira_tui.jobs.episode_kinds import catalog_place

        self._chosen = catalog_place(place, self._box.settings)


class EpisodeQuality:
    """What a catalog knows of the episodes that the inspector looks at. May be called from several threads."""

    def __init__(self, catalogs: Catalogs, glyphs: Glyphs) -> None:
        self._catalogs = catalogs
        self._glyphs = glyphs
        self._lock = threading.Lock()
        self._read: tuple[object, EpisodeColumns] | None = None

    def lines(self, uri: str, series: Series) -> tuple[Line, ...] | None:
        """The quality of an episode as lines; None for what is in no catalog, or in one that cannot be read."""
        from noeira_tui.tui import quality_lines

        if missing_extra() is not None:
            return None
        place = self._catalogs.place
        try:
            with self._lock:
                columns = self._columns(place, uri)
            row = None if columns is None else _row_of(columns, uri, series)
        except NoeiraError:
            # The quality screen tells why; a plot does not need it.
            return None
        if columns is None or row is None:
            return None
        info = columns.episode(row)
        rejected = series.episode_index in rejected_of(uri, self._catalogs.resolvers)
        return quality_lines.brief(info, self._glyphs, rejected=rejected)

    def _columns(self, place: str, uri: str) -> EpisodeColumns | None:
        """All of the catalog, read anew when it changed."""
        from noeira_tui.episodes.browse import read_columns_beside

        folder = local_folder(place)
        stamp = None if folder is None else _stamp(folder)
        if folder is not None and stamp is None:
            return None
        key = (place, stamp, self._catalogs.changes)
        if self._read is None or self._read[0] != key:
            self._read = (key, read_columns_beside(place, timeout_s=_BESIDE_PLOT_S))
        return self._read[1]


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """What changes with every commit to a catalog in a folder; None when there is no catalog."""
    try:
        (folder / _MARKER).stat()
        return tuple((folder / table / "_delta_log").stat().st_mtime_ns for table in ("episodes", "quality_scores"))
    except OSError:
        return None


def _row_of(columns: EpisodeColumns, uri: str, series: Series) -> int | None:
    """The row of an episode: by the dataset's address and its number, else by its contents; the newest of several."""
    import numpy as np

    from noeira_tui.episodes.place import plain_address

    plain = plain_address(uri)
    names = columns.sources.names
    rows = np.zeros(0, np.int64)
    if plain in names:
        mask = (columns.sources.codes == names.index(plain)) & (columns.numbers["episode"] == series.episode_index)
        rows = np.flatnonzero(mask)
    if len(rows) == 1:
        return int(rows[0])
    at = columns.row_of(_digest(series))
    if at is not None:
        return at
    return int(max(rows, key=lambda row: columns.coded["ingested_at"].at(int(row)) or "")) if len(rows) else None


def _digest(series: Series) -> str:
    """The hash of an episode whose times begin at zero, as recorders write them."""
    from noeira_tui.episodes.frames import EpisodeFrames
    from noeira_tui.episodes.hashing import content_hash

    return content_hash(EpisodeFrames(series.state, series.action, series.timestamps))
