"""Catalogs of episodes made for tests of what is shown of them: no dataset is read, numbers are the same every time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.flags import FLAGS, Metrics
from noeira_tui.episodes.rows import EpisodeRow, ScoreRow
from noeira_tui.episodes.score import SCORER_VERSION, Score, overall
from noeira_tui.episodes.tables import make_catalog

AT = datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
SOURCES = ("/data/robots/projects/so101-tower/datasets/cube-in-bowl", "s3://robots/pusht/expert")
JUMP = "after frame 41 the time goes on by 0.433 s, 0.033 s are due"


def metrics_of(rng: np.random.Generator) -> Metrics:
    """The metrics of an episode that is mostly good."""
    return Metrics(
        dead_fraction=float(rng.beta(1, 25)),
        ldlj=float(-12 - rng.gamma(3, 2.2)),
        sparc=float(-2 - rng.gamma(2, 1)),
        gripper_chatter_rate=float(rng.gamma(1, 0.6)),
        joint_path_length=float(rng.gamma(5, 3)),
        overall_saturation=float(rng.beta(2, 9)),
        static_fraction=float(rng.beta(1.2, 5)),
        mean_entropy=float(rng.beta(8, 4)),
        psd_high_fraction=float(rng.beta(1, 14)),
        state_action_consistency=float(rng.gamma(2, 0.01)),
        jitter_ratio=float(rng.gamma(0.5, 0.02)),
    )


def write_catalog(
    place: Path,
    count: int,
    *,
    sources: Sequence[str] = SOURCES,
    formats: Sequence[str] = ("lerobot-v3", "lerobot-v3"),
    task: str = "Put the red cube into the bowl.",
    batch: int = 20_000,
) -> Path:
    """A catalog of `count` episodes, in turn of each source. The third one is bad, the fifth one has no score."""
    catalog = make_catalog(str(place), lambda text: None, CancelToken())
    rng = np.random.default_rng(7)
    rows: list[EpisodeRow] = []
    scores: list[ScoreRow] = []
    for number in range(count):
        digest = f"{int(rng.integers(1, 2**63)):016x}"
        metrics, checks = metrics_of(rng), dict[str, str]()
        if number == 2:
            metrics = replace(metrics, ldlj=-31.4, dead_fraction=0.41, static_fraction=0.62, gripper_chatter_rate=3.2)
            checks = {"timestamp_jump": JUMP}
        extra = {"episode_index": number // len(sources)} | ({"reasons": checks} if checks else {})
        length = 300 + number * 37 % 120
        of = number % len(sources)
        rows.append(
            EpisodeRow(digest, digest, sources[of], formats[of], "so101", task, task, length, length / 30, 30.0,
                       ("front", "wrist"), 6, 6, "batch", AT, json.dumps(extra))
        )  # fmt: skip
        flags = (*(name for name, flag in FLAGS.items() if flag.raised(metrics)), *checks)
        if number != 4:
            scores.append(ScoreRow(digest, SCORER_VERSION, Score(metrics, overall(metrics), flags), flags, AT))
        if len(rows) == batch or number == count - 1:
            catalog.add(rows, scores, CancelToken())
            rows, scores = [], []
    return place
