"""All episodes of a catalog as columns: for displays that sort and filter a hundred thousand of them as one types.

The columns are numpy's and strings: an app can have them read in another process, and needs neither Arrow nor DuckDB.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from noeira_tui.core.beside import Beside
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.facts import EpisodeInfo
from noeira_tui.episodes.flags import METRICS, Metrics
from noeira_tui.episodes.query import CatalogReader

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_CODED = ("source_uri", "source_format", "robot", "task", "language_instruction", "cameras", "scorer_version", "flags",
          "ingested_at", "reasons")  # fmt: skip
"""Columns with few different values, or none in many rows: kept once each."""

_LIST_END = "\x1f"
"""Between the entries of a list: no name has it."""

_KNOWN_EXTRA = "CASE WHEN json_valid(extra) THEN extra END"
_SELECT = f"""
SELECT episode_id, source_uri, source_format, robot, task, language_instruction,
    array_to_string(cameras, '{_LIST_END}') AS cameras, scorer_version,
    array_to_string(flags, '{_LIST_END}') AS flags,
    strftime(ingested_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS ingested_at,
    num_frames, duration_s, fps, state_dim, action_dim, overall_score, {", ".join(METRICS)},
    try_cast(({_KNOWN_EXTRA})->>'$.episode_index' AS BIGINT) AS episode_index,
    CAST(({_KNOWN_EXTRA})->'$.reasons' AS VARCHAR) AS reasons
FROM scored_episodes"""
_BATCH_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of N values, few of them different: `names[codes[row]]` is a row's; None where there is none."""

    names: tuple[str | None, ...]
    codes: NDArray[np.int32]

    def at(self, row: int) -> str | None:
        return self.names[int(self.codes[row])]


@dataclass(frozen=True, eq=False)
class EpisodeColumns:
    """N episodes with their latest scores, by dataset and number. `ids` are bytes of shape (N,). `numbers` are float64
    of shape (N,): `score`, `frames`, `time` (seconds), `episode`, `fps`, `state_dim`, `action_dim` and every metric by
    its name; NaN where there is none."""

    ids: NDArray[np.bytes_]
    coded: Mapping[str, Coded]
    numbers: Mapping[str, NDArray[np.float64]]
    flag_sets: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sources(self) -> Coded:
        """Where each was first ingested from."""
        return self.coded["source_uri"]

    def id_at(self, row: int) -> str:
        return bytes(self.ids[row]).decode()

    def ids_at(self, rows: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The ids of many rows."""
        return [one.decode() for one in self.ids[rows].tolist()]

    def have(self, ids: Collection[str]) -> NDArray[np.bool_]:
        """Which rows have one of some ids, shape (N,)."""
        import numpy as np

        order, known = self._by_id
        wanted = np.array([one.encode() for one in ids], np.bytes_)
        begun = np.zeros(len(known) + 1, np.int64)
        np.add.at(begun, np.searchsorted(known, wanted, "left"), 1)
        np.add.at(begun, np.searchsorted(known, wanted, "right"), -1)
        found = np.zeros(len(known), bool)
        found[order] = np.cumsum(begun[:-1]) > 0
        return found

    def row_of(self, episode_id: str) -> int | None:
        """The first row with an id."""
        import numpy as np

        order, known = self._by_id
        at = int(np.searchsorted(known, episode_id.encode()))
        return int(order[at]) if at < len(known) and known[at] == episode_id.encode() else None

    @cached_property
    def _by_id(self) -> tuple[NDArray[np.int64], NDArray[np.bytes_]]:
        """The rows in the order of their ids, and these ids."""
        import numpy as np

        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    def flags_at(self, row: int) -> tuple[str, ...]:
        return self.flag_sets[int(self.coded["flags"].codes[row])]

    def number_at(self, name: str, row: int) -> float | None:
        value = float(self.numbers[name][row])
        return value if value == value else None

    def index_at(self, row: int) -> int | None:
        """The episode's number in its dataset."""
        value = self.number_at("episode", row)
        return None if value is None else int(value)

    def episode(self, row: int) -> EpisodeInfo:
        """Everything about one episode."""

        def whole(name: str) -> int | None:
            value = self.number_at(name, row)
            return None if value is None else int(value)

        reasons = json.loads(self.coded["reasons"].at(row) or "{}")
        cameras = self.coded["cameras"].at(row)
        digest = self.id_at(row)
        return EpisodeInfo(
            episode_id=digest,
            content_hash=digest,
            episode_index=self.index_at(row),
            source_uri=self.coded["source_uri"].at(row) or "",
            source_format=self.coded["source_format"].at(row) or "",
            robot=self.coded["robot"].at(row),
            task=self.coded["task"].at(row),
            language_instruction=self.coded["language_instruction"].at(row),
            num_frames=whole("frames") or 0,
            duration_s=self.number_at("time", row) or 0.0,
            fps=self.number_at("fps", row) or 0.0,
            cameras=tuple(cameras.split(_LIST_END)) if cameras else (),
            state_dim=whole("state_dim"),
            action_dim=whole("action_dim"),
            ingested_at=self.coded["ingested_at"].at(row) or "",
            scorer_version=self.coded["scorer_version"].at(row),
            overall_score=self.number_at("score", row),
            flags=self.flags_at(row),
            reasons={str(key): str(text) for key, text in reasons.items()} if isinstance(reasons, dict) else {},
            metrics=Metrics(**{name: self.number_at(name, row) for name in METRICS}),
        )


def read_columns(catalog: str, *, cancel: CancelToken | None = None) -> EpisodeColumns:
    """Every episode of the catalog at a place.

    Raises NoCatalogError when there is no catalog, DatasetError, NetworkError, CancelledError.
    """
    import pyarrow as pa

    parts: list[pa.Table] = []
    with CatalogReader(catalog) as reader:
        for batch in reader.batches(_SELECT, _BATCH_ROWS):
            if cancel is not None:
                cancel.check()
            parts.append(_encoded(batch))
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    return _columns(table.take(_natural_order(table)))


def read_columns_beside(
    catalog: str, *, cancel: CancelToken | None = None, timeout_s: float | None = None
) -> EpisodeColumns:
    """The same, read in a process of its own: none of the libraries that it takes is loaded here.

    Raises BesideError too, when that process ended or took longer than `timeout_s`.
    """
    token = CancelToken() if cancel is None else cancel
    with Beside() as beside:
        return beside.call(_read_columns, catalog, cancel=token, timeout_s=timeout_s)


def _read_columns(catalog: str, cancel: CancelToken) -> EpisodeColumns:
    return read_columns(catalog, cancel=cancel)


def _encoded(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {name: batch.column(name) for name in batch.schema.names}
    for name in _CODED:
        found[name] = pc.dictionary_encode(found[name].cast(pa.string()))
    return pa.table(found)


def _natural_order(table: pa.Table) -> NDArray[np.int64]:
    """By dataset and number: equal values keep this order whatever one sorts by."""
    import numpy as np

    sources = _coded(table["source_uri"])
    names = [name or "" for name in sources.names]
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return np.lexsort((_floats(table["episode_index"]), ranks[sources.codes]))


def _coded(column: pa.ChunkedArray) -> Coded:
    import numpy as np

    whole = column.combine_chunks()
    names = (*whole.dictionary.to_pylist(), None)
    codes = whole.indices.fill_null(len(names) - 1).to_numpy(zero_copy_only=False).astype(np.int32)
    return Coded(names, codes)


def _columns(table: pa.Table) -> EpisodeColumns:
    import numpy as np

    coded = {name: _coded(table[name]) for name in _CODED}
    names = {"score": "overall_score", "frames": "num_frames", "time": "duration_s", "episode": "episode_index"}
    same = ("fps", "state_dim", "action_dim", *METRICS)
    numbers = {told: _floats(table[column]) for told, column in (*names.items(), *zip(same, same, strict=True))}
    flag_sets = tuple(tuple(text.split(_LIST_END)) if text else () for text in coded["flags"].names)
    ids = np.array([one.encode() for one in table["episode_id"].to_pylist()], np.bytes_)
    return EpisodeColumns(ids, coded, numbers, flag_sets)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    import numpy as np
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
