"""The same numbers as forge-robotics 0.2.0, on real datasets and on episodes made to be difficult.

Where it differs from the definitions, the definitions win; each difference has its test here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noeira_tui.episodes.channels import Floats
from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.score import score_episode
from tests.support.datasets_stores import SHARED

forge = pytest.importorskip("forge.quality.analyzer")

TOLD = (
    "dead_fraction",
    "ldlj",
    "gripper_chatter_rate",
    "joint_path_length",
    "overall_saturation",
    "static_fraction",
    "mean_entropy",
    "jitter_ratio",
)
"""The metrics that it has. It lacks `sparc`, `psd_high_fraction` and `state_action_consistency`."""


def wide(values: Floats | None) -> Floats | None:
    return None if values is None else values.astype(np.float64)


def theirs(frames: EpisodeFrames) -> tuple[dict[str, float | None], float | None, set[str]]:
    """Forge's metrics, score and flags of an episode."""
    quality = forge.QualityAnalyzer().analyze_episode_arrays(
        "episode", wide(frames.action), wide(frames.state), wide(frames.timestamps), frames.fps
    )
    told = quality.to_dict()
    return {name: told.get(name) for name in TOLD}, quality.overall_score, set(quality.flags)


def assert_agree(frames: EpisodeFrames) -> None:
    ours = score_episode(frames)
    metrics, overall, flags = theirs(frames)
    for name, value in metrics.items():
        found = getattr(ours.metrics, name)
        assert found == (None if value is None else pytest.approx(value, rel=1e-6, abs=1e-6)), name
    assert ours.overall_score == pytest.approx(0.0 if overall is None else overall, rel=1e-6, abs=1e-6)
    # Its newer versions have the flag that it lacks.
    assert set(ours.flags) - {"psd_high_band_chatter"} == flags


# Real datasets.


def lerobot(root: Path) -> Iterator[EpisodeFrames]:
    """The episodes of a LeRobot dataset, read in the plainest way."""
    fps = json.loads((root / "meta" / "info.json").read_text())["fps"]
    wanted = ("observation.state", "action", "timestamp", "episode_index")
    paths = sorted((root / "data").rglob("*.parquet"))
    tables = [pq.read_table(path, columns=[c for c in wanted if c in pq.read_schema(path).names]) for path in paths]
    table = pa.concat_tables(tables)
    indices = table["episode_index"].to_numpy()
    for index in np.unique(indices):
        rows = table.filter(pa.array(indices == index))
        state, action = (
            np.array(rows[name].to_pylist(), np.float32) if name in rows.column_names else None for name in wanted[:2]
        )
        yield EpisodeFrames(state, action, rows["timestamp"].to_numpy(), fps)


def stored_in_zarr(root: Path) -> Iterator[EpisodeFrames]:
    group = zarr.open_group(str(root), mode="r")
    state, action = (np.asarray(group[f"data/{name}"]) for name in ("state", "action"))
    start = 0
    for end in np.asarray(group["meta/episode_ends"]).tolist():
        yield EpisodeFrames(state[start:end], action[start:end], None, 30)
        start = end


COUNTS = {
    "so101_rosbag_v30": 6,
    "pusht_v30_novideo": 206,
    "gr1_picknplace_v20": 5,
    "kalanos_tiny/lerobot_v2_0_tiny": 2,
    "kalanos_tiny/lerobot_v2_1_tiny": 2,
    "kalanos_tiny/lerobot_v3_tiny": 2,
    "lerobot_written/two_cam": 3,
    "pusht_keypoint.zarr": 151,
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real datasets are not beside the repository")
@pytest.mark.parametrize("name", COUNTS)
def test_real_datasets(name: str) -> None:
    episodes = list((stored_in_zarr if name.endswith(".zarr") else lerobot)(SHARED / name))
    assert len(episodes) == COUNTS[name]
    for frames in episodes:
        assert_agree(frames)


# Difficult ones.

values = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.05, 1e-7, 1e-5, 1e-11]),
    st.floats(-100, 100, width=32),
    st.integers(-3, 3).map(float),
)


@st.composite
def difficult(draw: st.DrawFn) -> EpisodeFrames:
    length = draw(st.integers(0, 40))

    def column(width: int) -> Floats | None:
        found: Floats = draw(arrays(np.float64, (length, width), elements=values))
        kind = draw(st.sampled_from(["as it is", "absent", "constant", "stops", "one still", "not finite"]))
        if length and width and kind == "constant":
            found[:] = found[0]
        elif length and kind == "stops":
            found[draw(st.integers(0, length - 1)) :] = found[-1]
        elif length and width and kind == "one still":
            found[:, 0] = 0.3
        elif length and width and kind == "not finite":
            found[draw(st.integers(0, length - 1)), 0] = draw(st.sampled_from([math.nan, math.inf, -math.inf]))
        return None if kind == "absent" else found

    state, action = column(draw(st.integers(0, 3))), column(draw(st.integers(0, 3)))
    steps = draw(arrays(np.float64, (length,), elements=st.sampled_from([1 / 30, 1 / 30, 0.05, 0.0, 0.5])))
    times = draw(st.sampled_from([None, steps.cumsum(), np.arange(length) / 30, 5.0 - np.arange(length) / 30]))
    return EpisodeFrames(state, action, times, draw(st.sampled_from([30.0, 10.0, 50.0, None, 0.0])))


@settings(deadline=None, max_examples=120)
@given(difficult())
def test_generated_episodes(frames: EpisodeFrames) -> None:
    if len(frames.timestamps if frames.timestamps is not None else ()) == 0 and frames.num_frames == 0:
        assert score_episode(frames).overall_score == 0.0
        return
    with np.errstate(all="ignore"):
        assert_agree(frames)


@pytest.mark.parametrize("amplitude", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("width", [1, 2, 14, 40])
def test_episodes_of_every_width(width: int, amplitude: float) -> None:
    rng = np.random.default_rng(width)
    state = rng.normal(size=(120, width)).cumsum(axis=0) * amplitude
    action = np.where(rng.random((120, width)) < 0.3, 0.0, state)
    assert_agree(EpisodeFrames(state, action, np.arange(120) / 50 + rng.normal(size=120) * 1e-3, 50))


def test_a_straight_line_has_the_same_rounding() -> None:
    # Its jerk is nothing but what rounding leaves, so only the same arithmetic gives the same number.
    state = np.linspace(0.1, 0.9, 300)[:, None] * np.ones(3)
    assert_agree(EpisodeFrames(state, state, np.arange(300) / 30, 30))


# Where it differs.


def test_it_knows_no_score_of_a_short_episode_and_ours_is_zero() -> None:
    frames = EpisodeFrames(np.ones((4, 2)), np.ones((4, 2)), None, 30)
    assert theirs(frames)[1] is None
    assert score_episode(frames).overall_score == 0.0


def test_an_overflow_is_no_measurement_and_it_gives_infinities() -> None:
    # "None" can be left out of a mean or a histogram of a catalog; one infinity spoils it.
    state = np.ones((30, 2))
    state[7] = 1e200
    frames = EpisodeFrames(state, None, None, 30)
    with np.errstate(all="ignore"):
        assert theirs(frames)[0]["joint_path_length"] == math.inf
    assert score_episode(frames).metrics.joint_path_length is None


def test_a_tiny_range_far_from_zero_has_bins_and_it_fails() -> None:
    action = np.full((40, 1), 1e8)
    action[::2] = np.nextafter(1e8, 2e8)
    frames = EpisodeFrames(None, action, None, 30)
    with pytest.raises(ValueError, match="Too many bins"):
        theirs(frames)
    assert score_episode(frames).metrics.mean_entropy == pytest.approx(1 / math.log2(7))


def test_a_clock_with_a_gap_in_its_numbers_is_left_out_and_it_gives_nan() -> None:
    times = np.arange(40) / 30
    times[5] = math.nan
    state = np.sin(np.arange(40) / 9)[:, None]
    frames = EpisodeFrames(state, None, times, 30)
    with np.errstate(all="ignore"):
        assert math.isnan(theirs(frames)[0]["jitter_ratio"] or 0)
    assert score_episode(frames) == score_episode(replace(frames, timestamps=None))
