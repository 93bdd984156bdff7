"""The content hash is the same however an episode is stored or cut, and another one when anything differs."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import xxhash

from noeira_tui.core.errors import DatasetError
from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.hashing import content_hash

# Known from the definition: three int32, then a frame of state 1 and 2, action 3, time 0.5, then its zero byte.
ONE_FRAME = (
    "010000000000000000000000"  # 1, 0, 0
    "0000803f00000040"  # 1.0, 2.0 as float32
    "00004040"  # 3.0 as float32
    "000000000000e03f"  # 0.5 as float64
    "00"
)


def as_forge_does(frames: EpisodeFrames) -> str:
    """Frame by frame, as Forge's catalog hashes a LeRobot episode."""
    digest = xxhash.xxh3_64(struct.pack("<iii", frames.num_frames, 0, 0))
    for at in range(frames.num_frames):
        if frames.state is not None:
            digest.update(np.ascontiguousarray(frames.state[at], np.float32).tobytes())
        if frames.action is not None:
            digest.update(np.ascontiguousarray(frames.action[at], np.float32).tobytes())
        if frames.timestamps is not None:
            digest.update(struct.pack("<d", float(frames.timestamps[at])))
        digest.update(b"\x00")
    return digest.hexdigest()


def episode(length: int, state: int | None = 3, action: int | None = 2, timed: bool = True) -> EpisodeFrames:
    rng = np.random.default_rng(length)
    return EpisodeFrames(
        state=None if state is None else rng.normal(size=(length, state)),
        action=None if action is None else rng.normal(size=(length, action)).astype(np.float32),
        timestamps=(np.arange(length) / 30).astype(np.float32) if timed else None,
        fps=30,
    )


def test_the_bytes_are_those_of_the_definition() -> None:
    frames = EpisodeFrames(np.array([[1.0, 2.0]]), np.array([[3.0]]), np.array([0.5]))
    assert content_hash(frames) == xxhash.xxh3_64_hexdigest(bytes.fromhex(ONE_FRAME))


@pytest.mark.parametrize(
    "frames",
    [
        episode(1),
        episode(7, action=None),
        episode(7, state=None),
        episode(7, timed=False),
        episode(7, state=0),
        episode(7, None, None),
        episode(20_000),
        EpisodeFrames(None, None, None),
        EpisodeFrames(np.full((6, 1), np.nan), np.full((6, 1), 1e300), None),
    ],
    ids=["one", "no action", "no state", "no time", "no dimension", "time only", "long", "nothing", "no numbers"],
)
def test_it_is_forges(frames: EpisodeFrames) -> None:
    with np.errstate(over="ignore"):
        assert content_hash(frames) == as_forge_does(frames)


def test_stored_type_and_layout_do_not_matter() -> None:
    narrow = episode(50)
    assert narrow.state is not None and narrow.action is not None and narrow.timestamps is not None
    state = narrow.state.astype(np.float32)
    wide = EpisodeFrames(
        np.asfortranarray(state.astype(np.float64)), narrow.action.astype(">f8"), narrow.timestamps.astype(np.float64)
    )
    assert content_hash(wide) == content_hash(EpisodeFrames(state, narrow.action, narrow.timestamps))


def test_anything_that_differs_tells() -> None:
    hashes = [content_hash(episode(length)) for length in (9, 10, 11)]
    base = episode(10)
    assert base.state is not None and base.timestamps is not None
    late = base.timestamps.copy()
    late[-1] += 1e-3
    hashes.append(content_hash(EpisodeFrames(base.state, base.action, late)))
    hashes.append(content_hash(EpisodeFrames(base.state[::-1], base.action, base.timestamps)))
    assert len(set(hashes)) == 5


def test_columns_of_different_lengths_are_no_episode() -> None:
    with pytest.raises(DatasetError, match="state has 3 frames, action has 4 frames"):
        EpisodeFrames(np.zeros((3, 2)), np.zeros((4, 2)), None)
    with pytest.raises(DatasetError, match="shape"):
        EpisodeFrames(np.zeros(3), None, None)
