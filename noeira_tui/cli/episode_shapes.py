"""The JSON of `ingest` and `episodes`, field by field: a contract, as in `shapes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noeira_tui.episodes.facts import CatalogStats, EpisodeInfo, Ingested, StreamedAnswer

Object = dict[str, Any]


def ingested(outcome: Ingested) -> Object:
    """The document of `ingest`."""
    return {
        "ingested": outcome.ingested,
        "skipped": outcome.skipped,
        "failed": outcome.failed,
        "frames": outcome.frames,
        "bytes_read": outcome.bytes_read,
        "requests": outcome.requests,
        "elapsed_s": round(outcome.elapsed_s, 3),
        "failures": [{"uri": one.uri, "episode": one.episode, "error": one.error} for one in outcome.failures],
    }


def episode(one: EpisodeInfo) -> Object:
    """An object of `episodes list`."""
    from noeira_tui.episodes.flags import METRICS

    return {
        "episode_id": one.episode_id,
        "episode_index": one.episode_index,
        "source_uri": one.source_uri,
        "content_hash": one.content_hash,
        "robot": one.robot,
        "task": one.task,
        "language_instruction": one.language_instruction,
        "num_frames": one.num_frames,
        "duration_s": one.duration_s,
        "fps": one.fps,
        "overall_score": one.overall_score,
        "flags": list(one.flags),
        **{name: getattr(one.metrics, name) for name in METRICS},
    }


def stats(found: CatalogStats) -> Object:
    """The document of `episodes stats`."""
    return {
        "episodes": found.episodes,
        "frames": found.frames,
        "duration_s": found.duration_s,
        "sources": found.sources,
        "robots": list(found.robots),
        "tasks": found.tasks,
        "unscored": found.unscored,
        "score": {
            "mean": found.mean_score,
            "min": found.min_score,
            "max": found.max_score,
            "histogram": [{"from": one.low, "to": one.high, "episodes": one.episodes} for one in found.scores],
        },
        "flags": dict(found.flags),
        "metrics": dict(found.metrics),
    }


def answer(found: StreamedAnswer) -> Iterator[Object]:
    """The document of `episodes query`: an object a row."""
    return (dict(zip(found.columns, row, strict=True)) for row in found.rows)
