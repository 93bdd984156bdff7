"""What is known about ingested episodes, as frozen facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from noeira_tui.core.errors import DatasetError
from noeira_tui.episodes.flags import Metrics


@dataclass(frozen=True)
class IngestFailure:
    """What could not be ingested: an episode of a dataset, or the dataset itself (`episode` is None), and why."""

    uri: str
    episode: int | None
    error: str


@dataclass(frozen=True)
class Ingested:
    """What an ingest did: episodes registered, those that were in the catalog before, and those that failed.

    `frames` are those of the registered ones; `bytes_read` and `requests` are what the datasets cost.
    """

    ingested: int = 0
    skipped: int = 0
    failed: int = 0
    frames: int = 0
    bytes_read: int = 0
    requests: int = 0
    elapsed_s: float = 0.0
    failures: tuple[IngestFailure, ...] = ()


class IngestFailedError(DatasetError):
    """Some episodes could not be ingested; the others were. `outcome` tells of all of them."""

    def __init__(self, outcome: Ingested) -> None:
        first = outcome.failures[0]
        where = f"{first.uri}, episode {first.episode}" if first.episode is not None else first.uri
        more = f" (and {outcome.failed - 1:,} more)" if outcome.failed > 1 else ""
        super().__init__(
            f"{where}: {first.error}{more}",
            title=f"{outcome.failed:,} failed, {outcome.ingested:,} ingested",
            hint="The others are in the catalog. Mend these and ingest again: nothing is done twice.",
        )
        self.outcome = outcome


@dataclass(frozen=True)
class EpisodeInfo:
    """One episode of the catalog with its latest score. `reasons` say in words what each flag was raised for;
    `cameras` are names. `overall_score` is None where no score is there yet. Times are RFC 3339, UTC."""

    episode_id: str
    episode_index: int | None
    source_uri: str
    source_format: str
    content_hash: str
    robot: str | None
    task: str | None
    language_instruction: str | None
    num_frames: int
    duration_s: float
    fps: float
    cameras: tuple[str, ...] = ()
    state_dim: int | None = None
    action_dim: int | None = None
    ingested_at: str = ""
    scorer_version: str | None = None
    overall_score: float | None = None
    flags: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)

    def reason(self, flag: str) -> str:
        """Why a flag is up, in words; for one that this version does not know, its name."""
        from noeira_tui.episodes.checks import CHECKS
        from noeira_tui.episodes.flags import FLAGS

        if flag in self.reasons:
            return self.reasons[flag]
        known = FLAGS.get(flag)
        return known.reason(self.metrics) if known is not None else CHECKS.get(flag, flag)


@dataclass(frozen=True)
class ScoreStep:
    """How many episodes score from `low` to below `high` (the last step with its end)."""

    low: float
    high: float
    episodes: int


@dataclass(frozen=True)
class CatalogStats:
    """A catalog at a glance. `flags` are episodes by flag, most first; `metrics` the mean of each metric."""

    episodes: int
    frames: int
    duration_s: float
    sources: int
    robots: tuple[str, ...]
    tasks: int
    mean_score: float | None
    min_score: float | None
    max_score: float | None
    scores: tuple[ScoreStep, ...]
    flags: Mapping[str, int]
    metrics: Mapping[str, float | None]
    unscored: int = 0


@dataclass(frozen=True)
class QueryAnswer:
    """The answer to a query: names of the columns, and rows of plain values (text, numbers, lists, None)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class StreamedAnswer:
    """The same piece by piece: its rows can be taken once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[object, ...]]
