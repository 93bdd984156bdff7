"""What is wrong with an episode's frames, apart from its motion: recordings merged into one, times that jump or drift.

A frame may be half a frame away from where it should be: float sums of offsets and clocks are not exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.datasets.proprio import Proprio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOLERANCE_FRAMES = 0.5

CHECKS: dict[str, str] = {
    "merged_episodes": "several recordings seem to be merged into this episode",
    "missing_frames": "frames are missing in it",
    "timestamp_jump": "a timestamp is more than half a frame from where the one before puts it",
    "timestamp_drift": "timestamps move away from the frame rate by more than half a frame",
    "bad_timestamps": "timestamps are NaN or infinite",
    "missing_chunk": "a chunk of its zarr arrays is not in the store; the fill value was scored in its place",
    "rows_disagree": "it has another number of rows than the episode table says",
    "not_in_table": "it has rows, but is in no episode table",
}
"""Flags that are no matter of the score, and what each means. They stand beside those of `score.FLAGS`."""

_MAX_SECONDS = 1e18
"""Older than anything is: no time, and nothing to reckon with."""


def check_frames(episode: Proprio, fps: float) -> dict[str, str]:
    """The flags of an episode with the reason for each, in words; `fps` is what the dataset says."""
    found = {problem.code: problem.message for problem in episode.problems}
    frames, times = episode.frame_index, episode.timestamps
    if frames is not None and len(frames) > 1:
        _check_numbers(frames, found)
    if times is not None and len(times) > 1:
        _check_times(times, frames, fps, found)
    return {name: found[name] for name in CHECKS if name in found}


def _check_numbers(frames: NDArray[np.int64], found: dict[str, str]) -> None:
    import numpy as np

    steps = np.diff(frames)
    twice = int(np.count_nonzero(steps == 0))
    if twice:
        at = int(frames[int(np.argmax(steps == 0))])
        found["merged_episodes"] = f"{twice:,} frames have the number of another one (the first is {at:,})"
    lost = int((steps[steps > 1] - 1).sum())
    if lost or frames[0] > 0:
        found["missing_frames"] = f"{lost + max(0, int(frames[0])):,} frame numbers are missing"


def _check_times(
    times: NDArray[np.floating], frames: NDArray[np.int64] | None, fps: float, found: dict[str, str]
) -> None:
    import numpy as np

    seconds = np.asarray(times, np.float64)
    if not (np.abs(seconds) < _MAX_SECONDS).all():
        found["bad_timestamps"] = CHECKS["bad_timestamps"]
        return
    numbers = np.arange(len(seconds), dtype=np.float64) if frames is None else frames.astype(np.float64)
    # Steps of the clock in frames, and where it should have been.
    clock, due = seconds * fps, numbers - numbers[0]
    steps, due_steps = np.diff(clock), np.diff(due)
    back = steps < -TOLERANCE_FRAMES
    if back.any():
        at = int(np.argmax(back))
        text = f"after frame {at:,} the time goes back by {-steps[at] / fps:.3f} s"
        found.setdefault("merged_episodes", text)
        found["timestamp_jump"] = text
        return
    off = np.abs(steps - due_steps)
    worst = int(np.argmax(off))
    if off[worst] > TOLERANCE_FRAMES:
        found["timestamp_jump"] = (
            f"after frame {worst:,} the time goes on by {steps[worst] / fps:.3f} s, "
            f"{due_steps[worst] / fps:.3f} s are due"
        )
        return
    drift = clock - clock[0] - due
    worst = int(np.argmax(np.abs(drift)))
    if abs(drift[worst]) > TOLERANCE_FRAMES:
        found["timestamp_drift"] = (
            f"at frame {worst:,} the time is {drift[worst] / fps:+.3f} s from where {fps:g} frames a second put it"
        )
