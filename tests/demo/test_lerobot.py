"""The sample recordings against what real LeRobot v3 datasets hold, opened with pyarrow and FFmpeg."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq
import pytest

from noeira_tui.demo.lerobot import EPISODES_PATH, LeRobotWriter, write_recording
from noeira_tui.demo.motion import PUSHT, SO101, Robot, make_motion
from noeira_tui.recordings.read import read_recording

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "lerobot_written" / "two_cam"
LENGTHS = [31, 38, 45]


@pytest.fixture(scope="module", params=[SO101, PUSHT], ids=lambda robot: robot.type)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Robot]:
    folder = tmp_path_factory.mktemp("made") / "p/datasets/d"
    write_recording(folder, request.param, episodes=3, seed=1)
    return folder, request.param


def info_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "meta/info.json").read_text())
    return loaded


def test_it_reads_as_a_finished_recording(made: tuple[Path, Robot]) -> None:
    recording = read_recording(made[0], time.time())
    assert (recording.episodes, recording.frames, recording.fps) == (3, sum(LENGTHS), 15)
    assert (recording.incomplete, recording.is_recording, recording.problems) == ((), False, ())


def test_every_row_of_the_frames(made: tuple[Path, Robot]) -> None:
    folder, robot = made
    info = info_of(folder)
    rows: list[dict[str, Any]] = []
    for episode in range(3):
        path = info["data_path"].format(chunk_index=0, file_index=episode)
        rows += pq.read_table(folder / path).to_pylist()
    assert [row["index"] for row in rows] == list(range(sum(LENGTHS)))
    assert [row["episode_index"] for row in rows] == [e for e, length in enumerate(LENGTHS) for _ in range(length)]
    assert [row["frame_index"] for row in rows] == [frame for length in LENGTHS for frame in range(length)]
    for row in rows:
        assert row["timestamp"] == pytest.approx(row["frame_index"] / 15, abs=1e-6)
        assert row["task_index"] == 0
        assert len(row["observation.state"]) == len(row["action"]) == len(robot.joints)
    assert set(rows[0]) == {name for name, feature in info["features"].items() if feature["dtype"] != "video"}


def test_episodes_say_where_everything_is(made: tuple[Path, Robot]) -> None:
    folder, robot = made
    rows = pq.read_table(folder / EPISODES_PATH).to_pylist()
    start = 0
    for number, (row, length) in enumerate(zip(rows, LENGTHS, strict=True)):
        assert (row["episode_index"], row["length"], row["tasks"]) == (number, length, [robot.task])
        assert (row["dataset_from_index"], row["dataset_to_index"]) == (start, start + length)
        assert (row["data/chunk_index"], row["data/file_index"]) == (0, number)
        for camera in robot.cameras:
            assert row[f"videos/{camera}/file_index"] == number
            span = row[f"videos/{camera}/to_timestamp"] - row[f"videos/{camera}/from_timestamp"]
            assert span == pytest.approx(length / 15)
        start += length


def test_the_videos_hold_one_picture_a_frame_and_move(made: tuple[Path, Robot]) -> None:
    folder, robot = made
    for camera in robot.cameras:
        for number, length in enumerate(LENGTHS):
            path = folder / info_of(folder)["video_path"].format(video_key=camera, chunk_index=0, file_index=number)
            with av.open(str(path)) as container:
                pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
                assert container.streams.video[0].average_rate == 15
            assert len(pictures) == length
            assert pictures[0].shape == (96, 128, 3)
            assert np.abs(pictures[0].astype(int) - pictures[length // 2].astype(int)).max() > 40


def test_statistics_are_those_of_the_frames(made: tuple[Path, Robot]) -> None:
    folder, robot = made
    tables = [pq.read_table(path) for path in sorted((folder / "data").rglob("*.parquet"))]
    states = np.concatenate([np.array(table["observation.state"].to_pylist()) for table in tables])
    stats = json.loads((folder / "meta/stats.json").read_text())
    told = stats["observation.state"]
    assert told["count"] == [sum(LENGTHS)]
    for name, value in {
        "min": states.min(0),
        "max": states.max(0),
        "mean": states.mean(0),
        "std": states.std(0),
    }.items():
        np.testing.assert_allclose(told[name], value, rtol=1e-4, atol=1e-4)
    assert stats["index"]["max"] == [sum(LENGTHS) - 1]
    for camera in robot.cameras:
        mean = np.array(stats[camera]["mean"])
        assert mean.shape == (3, 1, 1)
        assert ((mean > 0) & (mean < 1)).all()


def test_motions_are_smooth_and_repeatable() -> None:
    motion, again, other = (make_motion(SO101, 60, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(motion.states, again.states)
    assert not np.array_equal(motion.states, other.states)
    reach = motion.actions.max(0) - motion.actions.min(0)
    assert (np.abs(np.diff(motion.actions, axis=0)).max(0) < 0.45 * reach + 1).all()
    assert reach[-1] > 30, "the gripper opens and closes"


def test_a_writer_goes_on_where_another_stopped(tmp_path: Path) -> None:
    write_recording(tmp_path / "once", SO101, 3, seed=1)
    write_recording(tmp_path / "twice", SO101, 2, seed=1)
    write_recording(tmp_path / "twice", SO101, 3, seed=1)
    once, twice = (json.loads((tmp_path / name / "meta/stats.json").read_text()) for name in ("once", "twice"))
    assert once == twice
    assert info_of(tmp_path / "once") == info_of(tmp_path / "twice")


def test_a_short_episode_is_discarded_and_leaves_nothing(tmp_path: Path) -> None:
    writer = LeRobotWriter(tmp_path / "r", SO101)
    assert not writer.record(40, 1, pace=lambda frame: frame < 5)
    assert list((tmp_path / "r").rglob("*.mp4")) == []
    assert writer.record(40, 1, pace=lambda frame: frame < 20)
    assert (writer.episodes, writer.frames) == (1, 20)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real datasets are not beside the repository")
def test_the_shape_is_that_of_a_real_dataset(tmp_path: Path) -> None:
    write_recording(tmp_path / "made", SO101, 2, seed=1)
    for path in (EPISODES_PATH, "meta/tasks.parquet", "data/chunk-000/file-000.parquet"):
        made, real = (_types(folder / path) for folder in (tmp_path / "made", REAL))
        assert made == real, path
    made_info, real_info = info_of(tmp_path / "made"), info_of(REAL)
    assert list(made_info) == list(real_info)
    assert {name: sorted(feature) for name, feature in made_info["features"].items()} == {
        name: sorted(feature) for name, feature in real_info["features"].items()
    }
    made_stats, real_stats = (json.loads((f / "meta/stats.json").read_text()) for f in (tmp_path / "made", REAL))
    assert set(made_stats) == set(real_stats)
    assert set(made_stats["action"]) == set(real_stats["action"])


def _types(path: Path) -> dict[str, str]:
    return {field.name: str(field.type).replace("large_string", "string") for field in pq.read_schema(path)}
