"""Recordings merged into one, times that jump and offsets that drift are flagged, with half a frame of tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.proprio import Proprio
from noeira_tui.episodes.checks import CHECKS, check_frames

FPS = 30.0


def checked(
    times: NDArray[np.float64] | None, frames: NDArray[np.int64] | None = None, *problems: Problem
) -> dict[str, str]:
    return check_frames(Proprio(0, None, None, times, frames, (), problems), FPS)


def clock(count: int) -> NDArray[np.float64]:
    return np.arange(count) / FPS


def test_a_good_episode_is_flagged_for_nothing() -> None:
    assert checked(clock(300), np.arange(300)) == {}
    assert checked(clock(300).astype(np.float32)) == {}
    assert checked(None) == {}
    assert checked(clock(1), np.arange(1)) == {}


def test_offsets_that_drift_by_float_sums_are_no_fault() -> None:
    times = np.cumsum(np.full(200_000, np.float32(1 / FPS), np.float64))
    assert checked(times) == {}


@pytest.mark.parametrize(("off_frames", "flagged"), [(0.45, False), (0.55, True), (-0.45, False), (-0.55, True)])
def test_half_a_frame_is_tolerated(off_frames: float, flagged: bool) -> None:
    times = clock(100)
    times[50:] += off_frames / FPS
    assert ("timestamp_jump" in checked(times)) is flagged


def test_twenty_recordings_merged_into_one() -> None:
    again = np.tile(np.arange(50), 20)
    found = checked(np.sort(np.tile(clock(50), 20)), np.sort(again))
    assert found["merged_episodes"] == "950 frames have the number of another one (the first is 0)"
    going_on = checked(np.tile(clock(50), 20), np.arange(1000))
    assert going_on["merged_episodes"] == "after frame 49 the time goes back by 1.633 s"
    assert "timestamp_jump" in going_on


def test_a_jump_is_told_with_its_place() -> None:
    times = clock(100)
    times[40:] += 2.0
    assert checked(times) == {"timestamp_jump": "after frame 39 the time goes on by 2.033 s, 0.033 s are due"}


def test_a_clock_of_another_rate_drifts() -> None:
    assert checked(clock(100) * 29.97 / 30) == {}
    found = checked(np.arange(3000) / 29.97)
    assert list(found) == ["timestamp_drift"]
    assert found["timestamp_drift"].startswith("at frame 2,999 the time is +0.1")


def test_lost_frames_are_no_jump_when_their_times_are_lost_too() -> None:
    kept = np.r_[0:40, 45:100]
    assert checked(clock(100)[kept], kept) == {"missing_frames": "5 frame numbers are missing"}


def test_times_that_are_no_numbers() -> None:
    times = clock(10)
    times[3] = np.nan
    assert checked(times) == {"bad_timestamps": CHECKS["bad_timestamps"]}


def test_what_the_reading_found_is_a_flag_too() -> None:
    problem = Problem("rows_disagree", "file", "episode_index", "It has 5 rows, its length is told as 4.")
    assert checked(clock(5), np.arange(5), problem) == {"rows_disagree": problem.message}
