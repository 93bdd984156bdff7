"""What only a deep look tells: rows, frames and times that do not fit the episode table; one defect at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noeira_tui.datasets.facts import DatasetInfo, Episode
from noeira_tui.datasets.inspect import inspect
from tests.support.datasets_build import write_mp4

EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DATA = "data/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.front/chunk-000/file-000.mp4"


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "small", tmp_path / "root"))


def edit(path: Path, change: Callable[[dict[str, list[Any]]], None], *, row_group_size: int | None = None) -> None:
    """Change columns of a parquet file."""
    table = pq.read_table(path)
    columns = table.to_pydict()
    change(columns)
    made = pa.table({name: pa.array(values) for name, values in columns.items()})
    pq.write_table(made, path, row_group_size=row_group_size)


def found(root: Path, *, deep: bool = True) -> dict[str, list[str]]:
    info = inspect(str(root), episodes=True, deep=deep)
    codes: dict[str, list[str]] = {}
    for problem in info.problems:
        codes.setdefault(problem.code, []).append(f"{problem.file} {problem.field}: {problem.message}")
    return codes


def episode(root: Path, index: int) -> Episode:
    info: DatasetInfo = inspect(str(root), episodes=True, deep=True)
    assert info.episodes is not None
    one = info.episodes.find(index)
    assert one is not None
    return one


def test_nothing_is_wrong_with_a_good_one(root: Path) -> None:
    assert found(root) == {}


def test_row_groups_that_straddle_episodes_are_counted_exactly(root: Path) -> None:
    edit(root / DATA, lambda columns: None, row_group_size=64)
    assert found(root) == {}


def test_rows_out_of_order_are_matched_by_value(root: Path) -> None:
    def shuffle(columns: dict[str, list[Any]]) -> None:
        order = sorted(range(len(columns["index"])), key=lambda row: (row * 7919) % 1009)
        for name, values in columns.items():
            columns[name] = [values[row] for row in order]

    edit(root / DATA, shuffle)
    assert found(root) == {}


def test_rows_of_an_episode_that_are_gone(root: Path) -> None:
    table = pq.read_table(root / DATA)
    pq.write_table(table.filter(pa.compute.not_equal(table["episode_index"], 2)), root / DATA)
    codes = found(root)
    assert set(codes) == {"rows_missing", "counts_disagree"}
    assert "no rows of episode 2" in codes["rows_missing"][0]
    assert [problem.code for problem in episode(root, 2).problems] == ["rows_missing"]


def test_too_few_rows_and_rows_left_over(root: Path) -> None:
    def change(columns: dict[str, list[Any]]) -> None:
        columns["episode_index"][-1] = 9

    edit(root / DATA, change)
    codes = found(root)
    assert set(codes) == {"rows_disagree", "rows_left_over"}
    assert "episode 4" in codes["rows_disagree"][0]
    assert "episode 9" in codes["rows_left_over"][0]


def test_an_episode_that_points_at_another_file(root: Path) -> None:
    shutil.copy(root / DATA, root / "data/chunk-000/file-001.parquet")
    table = pq.read_table(root / DATA)
    pq.write_table(table.filter(pa.compute.equal(table["episode_index"], 4)), root / "data/chunk-000/file-001.parquet")

    def change(columns: dict[str, list[Any]]) -> None:
        columns["data/file_index"][1] = 1

    edit(root / EPISODES, change)
    codes = found(root)
    assert "rows_missing" in codes
    assert "episode 1" in codes["rows_missing"][0]


def test_counts_and_order_in_the_table(root: Path) -> None:
    def change(columns: dict[str, list[Any]]) -> None:
        columns["length"][1] += 5
        columns["dataset_from_index"][3] -= 2

    edit(root / EPISODES, change)
    codes = found(root, deep=False)
    assert {"counts_disagree", "index_order", "video_span"} == set(codes)
    assert any("total_frames" in text for text in codes["counts_disagree"])
    assert "episode 3 begins at frame" in codes["index_order"][0]


def test_fewer_episodes_in_the_table_than_promised(root: Path) -> None:
    table = pq.read_table(root / EPISODES)
    pq.write_table(table.slice(0, 3), root / EPISODES)
    codes = found(root, deep=False)
    assert any("total_episodes` is 5" in text and "has 3" in text for text in codes["counts_disagree"])


def test_doubles_for_indices_are_whole_numbers_all_the_same(root: Path) -> None:
    def change(columns: dict[str, list[Any]]) -> None:
        for name in ("episode_index", "length", "data/chunk_index", "data/file_index", "dataset_from_index"):
            columns[name] = [float(value) for value in columns[name]]

    edit(root / EPISODES, change)
    edit(root / DATA, lambda columns: columns.update(episode_index=[float(v) for v in columns["episode_index"]]))
    assert found(root) == {}


def test_a_stray_copy_of_the_table_is_not_counted(root: Path) -> None:
    shutil.copy(root / EPISODES, (root / EPISODES).with_name("file-000 (copy).parquet"))
    shutil.copytree((root / EPISODES).parent, root / "meta/episodes/backup")
    info = inspect(str(root), episodes=True)
    assert info.episodes is not None
    assert len(info.episodes) == 5


def test_the_table_in_several_files(root: Path) -> None:
    table = pq.read_table(root / EPISODES)
    for number in range(5):
        path = (root / EPISODES).with_name(f"file-{number:03d}.parquet")
        pq.write_table(table.slice(number, 1), path)
    assert found(root) == {}


def test_a_span_one_frame_short_is_no_problem_and_two_are(root: Path) -> None:
    name = "videos/observation.images.front/to_timestamp"

    def shorter(frames: int) -> Callable[[dict[str, list[Any]]], None]:
        def change(columns: dict[str, list[Any]]) -> None:
            columns[name][2] -= frames / 30

        return change

    edit(root / EPISODES, shorter(1))
    assert found(root) == {}
    edit(root / EPISODES, shorter(1))
    assert set(found(root)) == {"video_span"}


def test_frames_left_over_from_a_discarded_take(root: Path) -> None:
    write_mp4(root / VIDEO, 230)
    codes = found(root)
    assert set(codes) == {"video_frames"}
    assert "left over" in codes["video_frames"][0]
    assert "230 frames" in codes["video_frames"][0]


def test_frames_missing_at_the_end(root: Path) -> None:
    write_mp4(root / VIDEO, 150)
    codes = found(root)
    assert set(codes) == {"video_frames", "video_span"}
    assert "missing" in codes["video_frames"][0]
    assert "episode 4" in codes["video_span"][0] or "episode 3" in codes["video_span"][0]


def remux(path: Path, times: Callable[[int], int], sizes: Callable[[int, bytes], bytes] = lambda n, data: data) -> None:
    """Write the same frames again with other times (in frames) or contents."""
    new = path.with_suffix(".new")
    with av.open(str(path)) as before, av.open(str(new), "w", format="mp4") as container:
        stream = container.add_stream_from_template(before.streams.video[0])
        for number, old in enumerate(packet for packet in before.demux(video=0) if packet.size):
            packet = av.Packet(sizes(number, bytes(old)))
            packet.stream = stream
            packet.time_base = old.time_base
            step = round(1 / (30 * float(old.time_base)))
            packet.pts = packet.dts = times(number) * step
            packet.duration = step
            packet.is_keyframe = old.is_keyframe
            container.mux(packet)
    new.replace(path)


def test_a_gap_in_the_times(root: Path) -> None:
    remux(root / VIDEO, lambda number: number if number < 100 else number + 45)
    codes = found(root)
    assert set(codes) == {"video_gap", "video_drift"}
    assert "at 3.30 s" in codes["video_gap"][0]


def test_a_picture_that_stands_still(root: Path) -> None:
    remux(root / VIDEO, lambda number: number, lambda number, data: data[:2] if 60 < number < 110 else data)
    codes = found(root)
    assert set(codes) == {"video_frozen"}
    assert "stands still" in codes["video_frozen"][0]


def test_a_recorder_that_died(root: Path) -> None:
    data = (root / VIDEO).read_bytes()
    at = data.rindex(b"moov") - 4
    (root / VIDEO).write_bytes(data[:at])
    codes = found(root)
    assert set(codes) == {"damaged_file"}
    assert "moov" in codes["damaged_file"][0]


def test_a_video_folder_of_another_name(root: Path) -> None:
    (root / "videos").rename(root / "video")
    codes = found(root)
    assert set(codes) == {"bad_path"}
    one = episode(root, 0)
    assert one.videos["observation.images.front"].file.startswith("video/")


def test_paths_that_are_wrong_are_told_by_their_own_template(tmp_path: Path) -> None:
    import json

    (tmp_path / "meta").mkdir()
    features = {"cam": {"dtype": "video", "shape": [4, 4, 3], "names": ["height", "width", "channels"]}}
    paths = {"data_path": "d/episode_{episode_index:06d}.parquet", "video_path": "v/{episode_index:06d}.mp4"}
    info = {"codebase_version": "v2.1", "fps": 10, "total_episodes": 1, "total_frames": 3, "features": features}
    (tmp_path / "meta/info.json").write_text(json.dumps({**info, **paths}))
    (tmp_path / "meta/episodes.jsonl").write_text('{"episode_index": 0, "length": 3, "tasks": []}')
    for name in ("data/chunk-000/episode_000000.parquet", "videos/chunk-000/cam/episode_000000.mp4"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    told = {one.field: one.message for one in inspect(str(tmp_path), episodes=True).problems if one.code == "bad_path"}
    assert told.keys() == {"data_path", "video_path"}
    assert "names d/episode_000000.parquet" in told["data_path"]
    assert "names v/000000.mp4" in told["video_path"]


def test_a_file_that_is_gone_is_told_without_a_deep_look(root: Path) -> None:
    (root / VIDEO).unlink()
    codes = found(root, deep=False)
    assert set(codes) == {"missing_file"}
    assert "4 more need it" in codes["missing_file"][0]


def test_flattened_columns_are_plotted(root: Path) -> None:
    import json

    from noeira_tui.datasets.inspector import Inspector

    def change(columns: dict[str, list[Any]]) -> None:
        values = columns.pop("action")
        for number in range(6):
            columns[f"action.J{number}_vel"] = [row[number] for row in values]

    edit(root / DATA, change)
    info = json.loads((root / "meta/info.json").read_bytes())
    del info["features"]["action"]
    info["features"] |= {f"action.J{n}_vel": {"dtype": "float64", "shape": [1], "names": None} for n in range(6)}
    (root / "meta/info.json").write_text(json.dumps(info))
    with Inspector(str(root)) as inspector:
        assert len(inspector.summary().action) == 6
        series = inspector.series(2)
    assert series.action is not None
    assert series.action.shape == (42, 6)
    assert series.action_names == tuple(f"J{n}_vel" for n in range(6))
