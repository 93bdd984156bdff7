"""All episodes of a catalog as columns: for displays that sort and filter a hundred thousand of them as one types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.facts import EpisodeInfo
from noeira_tui.episodes.flags import METRICS, Metrics
from noeira_tui.episodes.query import CatalogReader

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_CODED = ("source_uri", "source_format", "robot", "task", "language_instruction", "cameras", "scorer_version", "flags",
          "ingested_at")  # fmt: skip
"""Columns with few different values: kept once each."""

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
    """N episodes with their latest scores, by dataset and number. `numbers` are float64 of shape (N,): `score`,
    `frames`, `time` (seconds), `episode` and every metric by its name; NaN where there is none."""

    table: pa.Table
    coded: Mapping[str, Coded]
    numbers: Mapping[str, NDArray[np.float64]]
    flag_sets: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def sources(self) -> Coded:
        """Where each was first ingested from."""
        return self.coded["source_uri"]

    def id_at(self, row: int) -> str:
        return str(self.table["episode_id"][row].as_py())

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

        def number(name: str) -> Any:
            return self.table[name][row].as_py()

        reasons = json.loads(self.table["reasons"][row].as_py() or "{}")
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
            num_frames=number("num_frames") or 0,
            duration_s=number("duration_s") or 0.0,
            fps=number("fps") or 0.0,
            cameras=tuple(cameras.split(_LIST_END)) if cameras else (),
            state_dim=number("state_dim"),
            action_dim=number("action_dim"),
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
    coded = {name: _coded(table[name]) for name in _CODED}
    names = {"score": "overall_score", "frames": "num_frames", "time": "duration_s", "episode": "episode_index"}
    numbers = {
        told: _floats(table[column]) for told, column in (*names.items(), *((metric, metric) for metric in METRICS))
    }
    flag_sets = tuple(tuple(text.split(_LIST_END)) if text else () for text in coded["flags"].names)
    return EpisodeColumns(
        table.select(["episode_id", "num_frames", "duration_s", "fps", "state_dim", "action_dim", "reasons"]),
        coded,
        numbers,
        flag_sets,
    )


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    import numpy as np
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
