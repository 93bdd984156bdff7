"""The quality of one episode: its metrics, one score out of ten, and what it is flagged for."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noeira_tui.episodes.channels import Channels, Floats
from noeira_tui.episodes.commands import (
    dead_fraction,
    gripper_chatter_rate,
    mean_entropy,
    overall_saturation,
    static_fraction,
)
from noeira_tui.episodes.flags import FLAGS, METRICS, Flag, Metrics
from noeira_tui.episodes.frames import EpisodeFrames, Numbers
from noeira_tui.episodes.motion import Motion, jitter_ratio, ldlj, mean_step, motion
from noeira_tui.episodes.neighbours import state_action_consistency
from noeira_tui.episodes.spectrum import psd_high_fraction, sparc

__all__ = ["FLAGS", "METRICS", "SCORER_VERSION", "Flag", "Metrics", "Score", "overall", "score_episode"]

SCORER_VERSION = "noeira-1"
"""Stored with every score: other mathematics is another version, beside the old rows."""

DEFAULT_FPS = 30.0
LEAST_FRAMES = 5

_cores = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Threads that read may be many; more that compute than there are cores only take the interpreter from each other."""


@dataclass(frozen=True)
class Score:
    """`overall_score` is from 0 to 10; `flags` are names of FLAGS, in their order."""

    metrics: Metrics
    overall_score: float
    flags: tuple[str, ...]


def score_episode(frames: EpisodeFrames) -> Score:
    """Every metric of one episode, in float64. An episode of fewer than 5 frames has none and scores 0.

    A metric that overflows is None: no NaN and no infinity comes out of here.
    """
    if frames.num_frames < LEAST_FRAMES:
        return Score(Metrics(), 0.0, ())
    with _cores, np.errstate(all="ignore"):
        state, action = _channels(frames.state), _channels(frames.action)
        metrics = _measured(frames, state, action)
    raised = {"nan_in_actions": action is not None and not action.finite}
    raised["nan_in_states"] = state is not None and not state.finite
    flags = tuple(name for name, flag in FLAGS.items() if raised.get(name) or flag.raised(metrics))
    return Score(metrics, overall(metrics), flags)


def _channels(values: Numbers | None) -> Channels | None:
    return Channels(values) if values is not None and values.size else None


def _measured(frames: EpisodeFrames, state: Channels | None, action: Channels | None) -> Metrics:
    fps = frames.fps if frames.fps and frames.fps > 0 else DEFAULT_FPS
    times: Floats | None = None if frames.timestamps is None else np.asarray(frames.timestamps, np.float64)
    dt = mean_step(times, fps)
    moved = motion(state, dt) if state else None
    smooth, arc = _smoothness(moved)
    if action and (smooth is None or arc is None):
        told = _smoothness(motion(action, dt))
        smooth, arc = (told[0] if smooth is None else smooth), (told[1] if arc is None else arc)
    return Metrics(
        dead_fraction=dead_fraction(action) if action else None,
        ldlj=smooth,
        sparc=arc,
        gripper_chatter_rate=_finite(gripper_chatter_rate(action, dt)) if action else None,
        joint_path_length=_finite(moved.path_length) if moved else None,
        overall_saturation=overall_saturation(action) if action else None,
        static_fraction=static_fraction(action) if action else None,
        mean_entropy=_finite(mean_entropy(action)) if action else None,
        psd_high_fraction=_finite(psd_high_fraction(action, fps)) if action else None,
        state_action_consistency=_finite(state_action_consistency(state, action)) if state and action else None,
        jitter_ratio=_finite(jitter_ratio(times)) if times is not None else None,
    )


def _smoothness(moved: Motion | None) -> tuple[float | None, float | None]:
    """LDLJ and SPARC of a motion."""
    return (None, None) if moved is None else (_finite(ldlj(moved)), _finite(sparc(moved.speed, moved.dt)))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def overall(metrics: Metrics) -> float:
    """Ten times the weighted mean of the subscores that there are; 0 when there is none."""
    given = [(weight, subscore) for weight, subscore in _subscores(metrics) if subscore is not None]
    total = sum(weight for weight, _ in given)
    return 10.0 * sum(weight * subscore for weight, subscore in given) / total if given else 0.0


def _subscores(metrics: Metrics) -> Iterator[tuple[float, float | None]]:
    """Each subscore, from 0 to 1, after its weight."""
    yield 0.25, None if metrics.ldlj is None else 1.0 / (1.0 + math.exp(-(metrics.ldlj + 18.0) / 4.0))
    yield 0.15, _rest(metrics.dead_fraction)
    rate = metrics.gripper_chatter_rate
    yield 0.15, None if rate is None else max(0.0, 1.0 - rate / 5.0) if rate > 2.0 else 1.0
    yield 0.15, _rest(metrics.static_fraction)
    jitter = metrics.jitter_ratio
    yield 0.10, None if jitter is None else 1.0 if jitter < 0.1 else max(0.0, 1.0 - jitter)
    yield 0.10, _rest(metrics.overall_saturation)
    entropy = metrics.mean_entropy
    yield 0.10, None if entropy is None else max(0.0, 1.0 - abs(entropy - 0.7) / 0.3)


def _rest(share: float | None) -> float | None:
    return None if share is None else 1.0 - share
