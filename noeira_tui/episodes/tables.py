"""The catalog of episodes: two append-only Delta tables, in a folder or a bucket, that other engines read as well.

No transaction spans two tables: scores are written first, then episodes, and whoever reads ignores scores without an
episode. What is added is compared with the hashes that are there, and committed only on the version that was compared
with: of two that would add the same episode the later one is refused, and compares again with what is there now. No row
that is there is read for it, so that adding takes as much memory at the first episode as at the hundred thousandth.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from noeira_tui.core.errors import ConfigError, DatasetError, NoeiraError, TransferError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.compaction import SMALL_FILES, compact_small_files
from noeira_tui.episodes.known import KnownIds
from noeira_tui.episodes.lease import Lease, NoLease, honours_conditional_put
from noeira_tui.episodes.place import BucketPlace, CatalogPlace, FolderPlace, open_place
from noeira_tui.episodes.rows import (
    EpisodeRow,
    ScoreRow,
    episode_schema,
    episode_table,
    score_schema,
    score_table,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from deltalake import DeltaTable
    from numpy.typing import NDArray

_Row = TypeVar("_Row")

EPISODES, SCORES = "episodes", "quality_scores"
MARKER = "catalog.json"
_LAYOUT = 1
_MAX_TRIES = 50
_LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True)
class Known:
    """What a catalog has: hashes of the registered episodes and of those a scorer has scored, sorted uint64."""

    registered: NDArray[np.uint64]
    scored: NDArray[np.uint64]

    @property
    def settled(self) -> NDArray[np.uint64]:
        """Those that are registered and scored: nothing is to be done about them."""
        import numpy as np

        if np.array_equal(self.registered, self.scored):
            return self.registered
        return np.intersect1d(self.registered, self.scored, assume_unique=True)


class EpisodeCatalog:
    """One catalog, open for reading and adding. Not for two threads at once.

    Every method raises DatasetError, NetworkError or TransferError.
    """

    def __init__(
        self,
        place: CatalogPlace,
        episodes: DeltaTable,
        scores: DeltaTable,
        lease: Lease | NoLease,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`say` hears of small files that could not be put together."""
        self.place = place
        self._say = say
        self.episodes = episodes
        self.scores = scores
        self._lease = lease
        self._registered = KnownIds(episodes)
        self._scored: dict[str, KnownIds] = {}

    @property
    def id(self) -> str:
        """What tells this catalog from another one that is made later in its place."""
        return str(self.episodes.metadata().id)

    def known(self, scorer_version: str) -> Known:
        """The hashes that are there, and those that `scorer_version` has scored, as of the last look or addition."""
        with _translated(self.place):
            scored = self._scored_by(scorer_version)
            scored.catch_up()
            self._registered.catch_up()
        return Known(self._registered.numbers, scored.numbers)

    def lacking(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of some episodes that were not registered at the last look."""
        return frozenset(self._registered.lacking(ids))

    def added_by(self, batch_id: str) -> frozenset[str]:
        """The episodes that one ingest registered."""
        import pyarrow.dataset as ds

        with _translated(self.place):
            mine = ds.field("ingest_batch_id") == batch_id
            rows = self.episodes.to_pyarrow_dataset().to_table(columns=["episode_id"], filter=mine)
        return frozenset(rows["episode_id"].to_pylist())

    def add(self, episodes: Sequence[EpisodeRow], scores: Sequence[ScoreRow], cancel: CancelToken) -> frozenset[str]:
        """Add what is not there yet; gives the ids of the episodes that were. A crash in between adds none or all."""
        with self._lease.held(cancel):
            for version in dict.fromkeys(row.scorer_version for row in scores):
                mine = {row.episode_id: row for row in scores if row.scorer_version == version}
                self._append(self._scored_by(version), mine, score_table, cancel)
            return self._append(self._registered, {row.episode_id: row for row in episodes}, episode_table, cancel)

    def _scored_by(self, version: str) -> KnownIds:
        return self._scored.setdefault(version, KnownIds(self.scores, version))

    def _append(
        self,
        known: KnownIds,
        rows: Mapping[str, _Row],
        as_table: Callable[[Sequence[_Row]], pa.Table],
        cancel: CancelToken,
    ) -> frozenset[str]:
        for attempt in range(_MAX_TRIES):
            cancel.check()
            with _translated(self.place):
                new = known.lacking(rows)
                if new:
                    known.refresh()
                    new = known.lacking(new)
                if not new:
                    return frozenset()
                self._lease.check()
                if isinstance(self.place, FolderPlace):
                    self.place.refuse_read_only(EPISODES if known is self._registered else SCORES)
                if known.append(as_table([rows[one] for one in new])):
                    if known.files >= SMALL_FILES:
                        self._tidy(known.table)
                    return frozenset(new)
            # Somebody else committed meanwhile: what they added is to be compared with as well.
            cancel.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.02 * 2**attempt)))
        raise TransferError(
            f"Others commit to {self.place.uri} all the time; nothing was added.", hint="Try again.", retryable=True
        )

    def _tidy(self, table: DeltaTable) -> None:
        """Put small files together. What was added is added, whatever comes of this."""
        import pyarrow as pa
        from deltalake.exceptions import DeltaError

        try:
            compact_small_files(table)
        except (DeltaError, pa.ArrowException, OSError) as err:
            self._say(f"{self.place.uri}: its small files could not be put together: {_reason(err)}")


class NoCatalogError(ConfigError):
    """There is no catalog of episodes at a place."""

    title = "No catalog"


def open_catalog(uri: str) -> EpisodeCatalog:
    """A catalog that exists. Raises NoCatalogError when there is none."""
    place = open_place(uri)
    if place.read(MARKER) is None:
        raise NoCatalogError(
            f"There is no catalog of episodes at {uri}.",
            hint="`noeira-tui ingest URI` makes one; --catalog names another place.",
        )
    return _opened(place, NoLease(), lambda text: None)


def make_catalog(uri: str, say: Callable[[str], None], cancel: CancelToken) -> EpisodeCatalog:
    """A catalog for adding to, made where there is none. In a bucket the store is probed once, when it is made.

    `say` hears that only one writer at a time can be let in. Raises ConfigError for a place that holds none.
    """
    place = open_place(uri)
    lease: Lease | NoLease = NoLease()
    with _translated(place):
        marker = place.read(MARKER)
        needs_lease = _needs_lease(marker, place)
        if needs_lease and isinstance(place, BucketPlace):
            lease = Lease(place, say)
            if marker is None:
                say(f"{place.uri}: this store does not refuse a second PUT of a key; one ingest at a time writes to it")
        if marker is None:
            with lease.held(cancel):
                _create(place, EPISODES, episode_schema(), "Every episode once, by the hash of its numbers")
                _create(place, SCORES, score_schema(), "Scores of episodes; new mathematics adds rows beside the old")
                place.write(MARKER, json.dumps({"layout": _LAYOUT, "needs_lease": needs_lease}).encode())
    return _opened(place, lease, say)


def _needs_lease(marker: bytes | None, place: CatalogPlace) -> bool:
    if marker is None:
        return isinstance(place, BucketPlace) and not honours_conditional_put(place)
    try:
        told = json.loads(marker)
        layout, needs_lease = told["layout"], told["needs_lease"]
    except (ValueError, KeyError, TypeError) as err:
        raise DatasetError(f"{place.uri}/{MARKER} cannot be read: it is no catalog of this program.") from err
    if layout != _LAYOUT:
        raise DatasetError(f"{place.uri} was made by a newer version (layout {layout}).", hint="Use that version.")
    return bool(needs_lease)


def _opened(place: CatalogPlace, lease: Lease | NoLease, say: Callable[[str], None]) -> EpisodeCatalog:
    with _translated(place):
        # Episodes first: every one of them has its score by then.
        episodes, scores = _table(place, EPISODES), _table(place, SCORES)
    for table, needed in ((episodes, "content_hash"), (scores, "overall_score")):
        if needed not in {field.name for field in table.schema().fields}:
            raise DatasetError(f"{table.table_uri} is another kind of table: it has no column {needed!r}.")
    return EpisodeCatalog(place, episodes, scores, lease, say)


def _table(place: CatalogPlace, name: str) -> DeltaTable:
    from deltalake import DeltaTable

    return DeltaTable(f"{place.uri}/{name}", storage_options=dict(place.table_options))


def _create(place: CatalogPlace, name: str, schema: pa.Schema, description: str) -> None:
    from deltalake import DeltaTable, Schema
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        DeltaTable.create(
            f"{place.uri}/{name}",
            Schema.from_arrow(schema),
            mode="ignore",
            name=name,
            description=description,
            configuration={"delta.appendOnly": "true"},
            storage_options=dict(place.table_options),
        )
    except DeltaError as err:
        # Made by another ingest in the same moment, or not to be made at all: opening it tells.
        try:
            _table(place, name)
        except TableNotFoundError:
            raise DatasetError(f"No catalog can be made at {place.uri}: {_reason(err)}.", title="Catalog") from err


class _translated:  # noqa: N801  reads as a word where it is used
    """Turns what the table library raises into our errors."""

    def __init__(self, place: CatalogPlace) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: object) -> None:
        if err is None or isinstance(err, NoeiraError):
            return
        import pyarrow as pa
        from deltalake.exceptions import DeltaError, TableNotFoundError

        if isinstance(err, TableNotFoundError):
            raise DatasetError(f"A table of the catalog {self._place.uri} is missing.") from err
        if isinstance(err, DeltaError | pa.ArrowException | OSError | ValueError):
            raise DatasetError(
                f"The catalog {self._place.uri} cannot be used: {_reason(err)}.", title="Catalog"
            ) from err


def _reason(err: BaseException) -> str:
    """What the table library says, in one line; what the system said, where that is somewhere in it."""
    if isinstance(err, OSError) and err.strerror:
        return err.strerror
    text = re.sub(r"\x1b\[\d*m", "", str(err))
    found = re.search(r'message: "([^"]+)"|[:↳] ([^:↳\n]+) \(os error \d+\)', text)
    if found is not None:
        return str(found[1] or found[2])
    lines = text.splitlines()
    return (lines[0].removesuffix(".") if lines else type(err).__name__)[:300]
