"""The score out of ten, the flags and their reasons, and the episodes that have nothing to measure."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noeira_tui.episodes.flags import FLAGS, METRICS, Metrics
from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.score import Score, overall, score_episode


def smooth(length: int = 100, width: int = 3) -> EpisodeFrames:
    t = np.arange(length)[:, None] / 30
    state = np.sin(t * np.arange(1, width + 1))
    return EpisodeFrames(state, state + 0.5, np.arange(length) / 30, 30)


def test_the_weights() -> None:
    assert overall(Metrics()) == 0.0
    assert overall(Metrics(ldlj=-18.0)) == pytest.approx(5.0)
    assert overall(Metrics(ldlj=-18.0, dead_fraction=0.0)) == pytest.approx(10 * (0.25 * 0.5 + 0.15) / 0.40)
    everything = Metrics(
        dead_fraction=0.5, ldlj=-18.0, gripper_chatter_rate=3.0, static_fraction=0.2, jitter_ratio=0.4,
        overall_saturation=0.3, mean_entropy=0.55, sparc=-9.0, psd_high_fraction=1.0, state_action_consistency=9.0,
    )  # fmt: skip
    parts = 0.25 * 0.5 + 0.15 * 0.5 + 0.15 * 0.4 + 0.15 * 0.8 + 0.10 * 0.6 + 0.10 * 0.7 + 0.10 * 0.5
    assert overall(everything) == pytest.approx(10 * parts)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (Metrics(gripper_chatter_rate=2.0), 10.0),
        (Metrics(gripper_chatter_rate=2.5), 5.0),
        (Metrics(gripper_chatter_rate=7.0), 0.0),
        (Metrics(jitter_ratio=0.0999), 10.0),
        (Metrics(jitter_ratio=0.1), 9.0),
        (Metrics(jitter_ratio=3.0), 0.0),
        (Metrics(mean_entropy=0.7), 10.0),
        (Metrics(mean_entropy=1.0), 0.0),
        (Metrics(mean_entropy=0.1), 0.0),
        (Metrics(ldlj=-700.0), 0.0),
    ],
)
def test_one_subscore(metrics: Metrics, expected: float) -> None:
    assert overall(metrics) == pytest.approx(expected, abs=1e-9)


THRESHOLDS = {
    "dead_actions": 0.10,
    "jerky": -25.0,
    "gripper_chatter": 2.0,
    "timestamp_jitter": 0.1,
    "saturated": 0.30,
    "mostly_static": 0.50,
    "low_entropy": 0.20,
    "high_entropy": 0.95,
    "psd_high_band_chatter": 0.20,
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_flag_is_up_beyond_its_threshold_only(name: str) -> None:
    flag = FLAGS[name]
    assert flag.metric is not None and flag.threshold == THRESHOLDS[name]
    beyond = math.nextafter(flag.threshold, math.inf if flag.above else -math.inf)
    assert not flag.raised(replace(Metrics(), **{flag.metric: flag.threshold}))
    assert flag.raised(replace(Metrics(), **{flag.metric: beyond}))
    assert not flag.raised(Metrics())


def test_reasons_are_sentences() -> None:
    assert FLAGS["jerky"].reason(Metrics(ldlj=-27.1)) == "ldlj −27.1 is below −25: movements are jerky"
    assert FLAGS["jerky"].reason(Metrics(ldlj=-25.0001)).startswith("ldlj −25.0001 is below −25:")
    assert (
        FLAGS["mostly_static"]
        .reason(Metrics(static_fraction=0.7312))
        .startswith("static_fraction 73.12 % is above 50 %")
    )
    assert "NaN" in FLAGS["nan_in_actions"].reason(Metrics())
    assert set(FLAGS) == {*THRESHOLDS, "nan_in_actions", "nan_in_states"}


def test_a_smooth_episode_is_measured_wholly() -> None:
    score = score_episode(smooth())
    assert None not in vars(score.metrics).values()
    assert 0.0 < score.overall_score <= 10.0
    assert score.flags == ("psd_high_band_chatter",) or score.flags == ()


@pytest.mark.parametrize("length", [0, 1, 4])
def test_too_short_to_measure(length: int) -> None:
    assert score_episode(smooth(length)) == Score(Metrics(), 0.0, ())


def test_five_and_six_frames_have_no_neighbours() -> None:
    assert [score_episode(smooth(n)).metrics.state_action_consistency is None for n in (5, 6, 7)] == [True, True, False]


def test_nothing_to_measure_scores_nothing() -> None:
    assert score_episode(EpisodeFrames(None, None, None, 30)).overall_score == 0.0
    bare = score_episode(EpisodeFrames(np.zeros((9, 0)), np.zeros((9, 0)), None, 30))
    assert bare == Score(Metrics(), 0.0, ())


def test_a_constant_episode() -> None:
    score = score_episode(EpisodeFrames(np.full((50, 2), 0.1), np.full((50, 2), 0.3), np.arange(50) / 30, 30))
    assert score.metrics == Metrics(
        dead_fraction=1.0, gripper_chatter_rate=0.0, joint_path_length=0.0, overall_saturation=0.0, static_fraction=0.0,
        mean_entropy=0.0, psd_high_fraction=0.0, state_action_consistency=0.0,
        jitter_ratio=score.metrics.jitter_ratio,
    )  # fmt: skip
    assert score.flags == ("dead_actions", "low_entropy")


def test_a_still_state_leaves_smoothness_to_the_actions() -> None:
    moving = smooth()
    still = EpisodeFrames(np.full((100, 3), 0.1), moving.action, moving.timestamps, 30)
    without = EpisodeFrames(None, moving.action, moving.timestamps, 30)
    expected = score_episode(without).metrics
    assert expected.ldlj is not None and expected.sparc is not None
    found = score_episode(still).metrics
    assert (found.ldlj, found.sparc) == (expected.ldlj, expected.sparc)


def test_what_is_no_number_is_flagged_and_counts_as_zero() -> None:
    base = smooth()
    assert base.state is not None and base.action is not None
    state, action = base.state.copy(), base.action.copy()
    state[4, 1], action[7, 0], action[8, 2] = np.nan, np.inf, -np.inf
    score = score_episode(EpisodeFrames(state, action, base.timestamps, 30))
    assert score.flags[:2] == ("nan_in_actions", "nan_in_states")
    state[4, 1] = action[7, 0] = action[8, 2] = 0.0
    assert score.metrics == score_episode(EpisodeFrames(state, action, base.timestamps, 30)).metrics


def test_time_comes_from_the_timestamps_then_from_fps_then_30() -> None:
    base = smooth()
    slow = replace(base, timestamps=np.arange(100) / 10, fps=30.0)
    assert score_episode(replace(base, timestamps=None, fps=10.0)).metrics.sparc == score_episode(slow).metrics.sparc
    untold = score_episode(replace(base, timestamps=None, fps=None)).metrics
    assert untold == score_episode(replace(base, timestamps=None, fps=30.0)).metrics
    assert untold == score_episode(replace(base, timestamps=None, fps=0.0)).metrics


def test_clocks_that_stand_or_run_backwards() -> None:
    for times in (np.zeros(100), -np.arange(100) / 30):
        metrics = score_episode(replace(smooth(), timestamps=times)).metrics
        assert metrics.ldlj is None and metrics.sparc is None
        assert metrics.joint_path_length is not None and metrics.jitter_ratio is not None


def test_a_clock_without_numbers_is_none() -> None:
    times = np.arange(100) / 30
    times[3] = np.nan
    metrics = score_episode(replace(smooth(), timestamps=times)).metrics
    assert metrics.jitter_ratio is None
    assert metrics.ldlj == score_episode(replace(smooth(), timestamps=None)).metrics.ldlj


numbers = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, -0.0, 1e-11, 1e300, -1e300]))


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 12), st.integers(0, 3), st.integers(0, 3), st.data())
def test_anything_at_all_gives_numbers_or_none(length: int, width: int, wide: int, data: st.DataObject) -> None:
    def column(shape: tuple[int, ...]) -> np.ndarray | None:
        return data.draw(st.one_of(st.none(), arrays(np.float64, shape, elements=numbers)))

    frames = EpisodeFrames(column((length, width)), column((length, wide)), column((length,)), data.draw(numbers))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = score_episode(frames)
    assert 0.0 <= score.overall_score <= 10.0
    assert all(value is None or math.isfinite(value) for value in vars(score.metrics).values())
    assert tuple(vars(score.metrics)) == METRICS
