"""Every metric against its definition in plain Python, against values worked out by hand, and at its edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noeira_tui.episodes import commands, motion, neighbours, spectrum
from noeira_tui.episodes.channels import Channels, Floats
from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.motion import jitter_ratio
from noeira_tui.episodes.score import score_episode
from tests.episodes import plain_metrics as plain

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def episodes(draw: st.DrawFn, least: int = 5, most: int = 40) -> Floats:
    """Frames on a grid (ties, twins, standing still, constant dimensions), or anywhere."""
    shape = draw(st.integers(least, most)), draw(st.integers(1, 4))
    grid = arrays(np.int64, shape, elements=st.integers(-4, 4)).map(lambda values: values / 4.0)
    free = arrays(np.float64, shape, elements=st.floats(-50, 50, width=32))
    values = draw(st.one_of(grid, free))
    if draw(st.booleans()):
        values[draw(st.integers(0, shape[0] - 1)) :] = values[-1]
    if draw(st.booleans()):
        values[:, draw(st.integers(0, shape[1] - 1))] = 0.125
    return values


def close(ours: float | None, theirs: float | None) -> bool:
    return ours is None if theirs is None else ours == pytest.approx(theirs, **CLOSE)


@settings(deadline=None, max_examples=60)
@given(episodes(), st.sampled_from([0.02, 1 / 30, 0.1]))
def test_actions_alone(action: Floats, dt: float) -> None:
    rows, channels = action.tolist(), Channels(action)
    assert close(commands.dead_fraction(channels), plain.dead_fraction(rows))
    assert close(commands.gripper_chatter_rate(channels, dt), plain.gripper_chatter_rate(rows, dt))
    assert close(commands.static_fraction(channels), plain.static_fraction(rows))
    assert close(commands.overall_saturation(channels), plain.overall_saturation(rows))
    assert close(spectrum.psd_high_fraction(channels, 1 / dt), plain.psd_high_fraction(rows, 1 / dt))


@settings(deadline=None, max_examples=60)
@given(episodes())
def test_entropy_is_that_of_numpys_histogram(action: Floats) -> None:
    bins = max(math.ceil(math.log2(len(action)) + 1), 2)
    found = []
    for values in action.T:
        shares = np.histogram(values, bins)[0] / len(values) if np.ptp(values) >= 1e-10 else np.ones(1)
        found.append(-sum(share * math.log2(share) for share in shares if share) / math.log2(bins))
    assert close(commands.mean_entropy(Channels(action)), sum(found) / len(found))


def test_entropy_by_its_definition() -> None:
    action = np.random.default_rng(3).normal(size=(500, 7))
    assert close(commands.mean_entropy(Channels(action)), plain.mean_entropy(action.tolist()))


@settings(deadline=None, max_examples=40)
@given(episodes(most=20), st.sampled_from([0.002, 1 / 30, 0.1]))
def test_movement(state: Floats, dt: float) -> None:
    rows = state.tolist()
    moved = motion.motion(Channels(state), dt)
    assert close(moved.path_length, plain.joint_path_length(rows))
    assert close(motion.ldlj(moved), plain.ldlj(rows, dt))
    assert close(spectrum.sparc(moved.speed, dt), plain.sparc(rows, dt))


@settings(deadline=None, max_examples=80)
@given(episodes(least=7), st.data())
def test_state_action_consistency(state: Floats, data: st.DataObject) -> None:
    action = data.draw(arrays(np.float64, (len(state), 2), elements=st.floats(-3, 3, width=32)))
    ours = neighbours.state_action_consistency(Channels(state), Channels(action))
    assert close(ours, plain.state_action_consistency(state.tolist(), action.tolist()))


def test_derivatives_are_numpys_to_the_last_bit() -> None:
    positions = np.random.default_rng(0).normal(size=(40, 3))
    slope = np.gradient(positions, 0.03, axis=0)
    assert (motion.motion(Channels(positions), 0.03).speed == np.sqrt((slope**2).sum(axis=1))).all()


# Worked out by hand.


def test_a_ramp_has_no_jerk_at_all() -> None:
    ramp = np.arange(8.0)[:, None]
    moved = motion.motion(Channels(ramp), 0.5)
    assert moved.path_length == 7.0
    assert motion.ldlj(moved) == -math.log(1e-10)


def test_jerk_of_a_cube_over_time() -> None:
    # x = t³ at t = 0..6: velocities 1 4 13 28 49 76 91, accelerations 3 6 12 18 24 21 15, jerks 3 4.5 6 6 1.5 -4.5 -6.
    moved = motion.motion(Channels((np.arange(7.0) ** 3)[:, None]), 1.0)
    assert moved.squared_jerk == 9 + 20.25 + 36 + 36 + 2.25 + 20.25 + 36
    assert motion.ldlj(moved) == pytest.approx(-math.log(6**3 / 91**2 * 159.75))


def test_chatter_is_crossings_a_second() -> None:
    action = np.array([[0, g] for g in (0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0)], float)
    assert commands.gripper_chatter_rate(Channels(action), 0.5) == 6 / 5.0


def test_saturation_leaves_out_what_never_moves() -> None:
    action = np.array([[0.0, 7.0], [0.05, 7.0], [0.5, 7.0], [0.5, 7.0], [1.0, 7.0]])
    assert commands.overall_saturation(Channels(action)) == 3 / 5


def test_high_band_of_two_tones() -> None:
    # 2 Hz of amplitude 1 and 12 Hz of amplitude 2, whole periods: powers 1 to 4. The second dimension has no power.
    t = np.arange(100) / 50
    tone = np.sin(2 * np.pi * 2 * t) + 2 * np.sin(2 * np.pi * 12 * t)
    assert spectrum.psd_high_fraction(Channels(tone[:, None]), 50) == pytest.approx(0.8)
    both = np.stack([tone, np.full(100, 0.1)], axis=1)
    assert spectrum.psd_high_fraction(Channels(both), 50) == pytest.approx(0.4)
    exactly_8 = np.sin(2 * np.pi * 8 * t)[:, None]
    assert spectrum.psd_high_fraction(Channels(exactly_8), 50) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("fps", "measured"), [(16, False), (16.1, True), (10, False)])
def test_no_high_band_below_its_own_rate(fps: float, measured: bool) -> None:
    action = Channels(np.random.default_rng(0).normal(size=(20, 2)))
    assert (spectrum.psd_high_fraction(action, fps) is not None) is measured


def test_arc_of_one_even_speed() -> None:
    # Speed 1 for 8 frames: |sin 4w / (8 sin w/2)| over the frequencies, cut at its last 5 %.
    state = np.arange(8.0)[:, None]
    moved = motion.motion(Channels(state), 0.01)
    w = 2 * np.pi * np.arange(1, 65) / 128
    amplitude = np.concatenate([[1.0], np.abs(np.sin(4 * w) / (8 * np.sin(w / 2)))])
    kept = np.arange(65) / 1.28 <= 10.0
    arc = np.hypot(np.diff(amplitude[kept]), 1 / 12.8).sum()
    assert spectrum.sparc(moved.speed, 0.01) == pytest.approx(-arc)


def test_jitter_of_known_steps() -> None:
    assert jitter_ratio(np.array([0.0, 1.0, 4.0])) == pytest.approx(0.5)
    assert jitter_ratio(np.zeros(4)) == 0.0
    assert close(jitter_ratio(np.array([0.0, 3.0, 1.0, 2.0])), plain.jitter_ratio([0.0, 3.0, 1.0, 2.0]))


# Hours, and what memory they take: blocks give what the whole gives.


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    state, action = rng.normal(size=(200, 5)).cumsum(axis=0), rng.normal(size=(200, 5))
    state[3, 4], action[7, 0] = np.nan, np.inf
    frames = EpisodeFrames(state.astype(np.float32), action, np.arange(200) / 30, 30)
    whole = score_episode(frames)
    monkeypatch.setattr("noeira_tui.episodes.channels._MOST", 400)
    monkeypatch.setattr("noeira_tui.episodes.neighbours._MOST", 400)
    assert len(list(Channels(state))) == 3
    parts = score_episode(frames)
    assert parts.flags == whole.flags
    assert vars(parts.metrics) == pytest.approx(vars(whole.metrics), rel=1e-12)
