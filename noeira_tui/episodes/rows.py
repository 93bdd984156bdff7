"""The rows of the two tables, and their columns: a contract that other engines rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from noeira_tui.episodes.flags import METRICS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from noeira_tui.episodes.score import Score


@dataclass(frozen=True)
class EpisodeRow:
    """One row of `episodes`. `extra` is a JSON object: `episode_index`, and in `reasons` why a check raised a flag."""

    episode_id: str
    content_hash: str
    source_uri: str
    source_format: str
    robot: str | None
    task: str | None
    language_instruction: str | None
    num_frames: int
    duration_s: float
    fps: float
    cameras: tuple[str, ...]
    state_dim: int | None
    action_dim: int | None
    ingest_batch_id: str
    ingested_at: datetime
    extra: str


@dataclass(frozen=True)
class ScoreRow:
    """One row of `quality_scores`. `flags` are the score's and those of the checks."""

    episode_id: str
    scorer_version: str
    score: Score
    flags: tuple[str, ...]
    computed_at: datetime


def episode_schema() -> pa.Schema:
    """The columns of `episodes`."""
    import pyarrow as pa

    text, number, names = pa.string(), pa.float64(), pa.list_(pa.string())
    return pa.schema(
        [
            ("episode_id", text),
            ("content_hash", text),
            ("source_uri", text),
            ("source_format", text),
            ("robot", text),
            ("task", text),
            ("language_instruction", text),
            ("num_frames", pa.int64()),
            ("duration_s", number),
            ("fps", number),
            ("cameras", names),
            ("state_dim", pa.int32()),
            ("action_dim", pa.int32()),
            ("ingest_batch_id", text),
            ("ingested_at", pa.timestamp("us", "UTC")),
            ("extra", text),
        ]
    )


def score_schema() -> pa.Schema:
    """The columns of `quality_scores`."""
    import pyarrow as pa

    head = [("episode_id", pa.string()), ("scorer_version", pa.string()), ("overall_score", pa.float64())]
    metrics = [(name, pa.float64()) for name in METRICS]
    return pa.schema([*head, *metrics, ("flags", pa.list_(pa.string())), ("computed_at", pa.timestamp("us", "UTC"))])


def episode_table(rows: Sequence[EpisodeRow]) -> pa.Table:
    import pyarrow as pa

    schema = episode_schema()
    return pa.table({name: [getattr(row, name) for row in rows] for name in schema.names}, schema=schema)


def score_table(rows: Sequence[ScoreRow]) -> pa.Table:
    import pyarrow as pa

    columns: dict[str, list[Any]] = {
        "episode_id": [row.episode_id for row in rows],
        "scorer_version": [row.scorer_version for row in rows],
        "overall_score": [row.score.overall_score for row in rows],
        **{name: [getattr(row.score.metrics, name) for row in rows] for name in METRICS},
        "flags": [list(row.flags) for row in rows],
        "computed_at": [row.computed_at for row in rows],
    }
    return pa.table(columns, schema=score_schema())


def hash_numbers(ids: pa.Array) -> NDArray[np.uint64]:
    """Hashes of 16 hexadecimal digits as numbers. Raises ValueError for other ids."""
    import numpy as np
    import pyarrow as pa

    ids = ids.cast(pa.binary())
    offsets = np.frombuffer(ids.buffers()[1], np.int32)[ids.offset : ids.offset + len(ids) + 1]
    if ids.null_count or not bool(np.all(np.diff(offsets) == 16)):
        raise ValueError("an episode_id has not 16 digits")
    digits = np.frombuffer(ids.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].reshape(-1, 16)
    values = np.where(digits >= ord("a"), digits - (ord("a") - 10), digits - ord("0"))
    if bool((values > 15).any()):
        raise ValueError("an episode_id is no hexadecimal number")
    packed = (values[:, 0::2] << 4 | values[:, 1::2]).astype(np.uint8)
    return packed.view(">u8").reshape(-1).astype(np.uint64)


def now() -> datetime:
    """The time, as the tables keep it."""
    return datetime.now(UTC)
