"""Every episode's numbers, streamed: rows go where their `episode_index` says, in whichever file they are."""

from __future__ import annotations

import re
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from noeira_tui.core.errors import DatasetError
from noeira_tui.datasets.proprio import Proprio, ProprioPlan, ReadingWishes, Unread
from noeira_tui.datasets.registry import open_dataset
from noeira_tui.datasets.source import Source, open_source
from noeira_tui.episodes.frames import EpisodeFrames
from noeira_tui.episodes.hashing import content_hash
from tests.support.datasets_stores import SHARED
from tests.support.episodes_build import rows_of, take, takes, write_v3, write_v21, write_zarr, zarr_digest


def planned(folder: Path | str, wishes: ReadingWishes | None = None) -> tuple[Source, ProprioPlan]:
    source, reader = open_dataset(open_source(str(folder)))
    return source, reader.proprio(source, wishes or ReadingWishes())


def read_all(
    folder: Path | str, wishes: ReadingWishes | None = None
) -> tuple[dict[int, Proprio], dict[int | None, str]]:
    """All episodes by index, and why others could not be read. An episode that comes twice fails the test."""
    source, plan = planned(folder, wishes)
    found: dict[int, Proprio] = {}
    unread: dict[int | None, str] = {one.episode_index: one.error for one in plan.unread}
    for part in plan.parts:
        for one in part.read(source):
            assert one.episode_index not in found and one.episode_index not in unread
            if isinstance(one, Unread):
                unread[one.episode_index] = one.error
            else:
                found[one.episode_index] = one
    return found, unread


def digest(one: Proprio) -> str:
    return content_hash(EpisodeFrames(one.state, one.action, one.timestamps))


def digests(found: dict[int, Proprio]) -> dict[int, str]:
    return {index: digest(one) for index, one in found.items()}


@pytest.mark.parametrize("part_frames", [50_000, 90, 1])
@pytest.mark.parametrize("group_rows", [7, 100, 10_000])
def test_episodes_that_straddle_files_and_row_groups(tmp_path: Path, group_rows: int, part_frames: int) -> None:
    episodes = takes(12)
    write_v3(tmp_path, episodes, cuts=(60, 61, 300), group_rows=group_rows)
    found, unread = read_all(tmp_path, ReadingWishes(part_frames=part_frames))
    assert not unread
    assert digests(found) == {one.index: one.digest for one in episodes}
    assert {one.tasks for one in found.values()} == {("push the cube",)}


def test_parts_do_not_read_much_twice(tmp_path: Path) -> None:
    episodes = takes(40)
    write_v3(tmp_path, episodes, group_rows=25)
    source, plan = planned(tmp_path, ReadingWishes(part_frames=400))
    total = sum(one.length for one in episodes)
    assert len(plan.parts) >= 3
    assert total <= sum(part.frames for part in plan.parts) <= total * 1.05 + 25 * len(plan.parts)
    source.close()


@pytest.mark.parametrize("statistics", [True, False])
def test_indices_with_gaps_out_of_order_and_rows_shuffled(tmp_path: Path, statistics: bool) -> None:
    episodes = [take(index, 30 + index % 3) for index in (17, 3, 90, 4, 1000)]
    order = np.random.default_rng(0).permutation(sum(one.length for one in episodes))
    write_v3(tmp_path, episodes, cuts=(50,), group_rows=20, order=order, statistics=statistics)
    found, unread = read_all(tmp_path, ReadingWishes(part_frames=40))
    assert not unread
    assert digests(found) == {one.index: one.digest for one in episodes}


def test_the_last_episode_goes_on_in_a_file_that_no_table_names(tmp_path: Path) -> None:
    episodes = takes(3)
    write_v3(tmp_path, episodes, cuts=(100,), data_files=(0, 0, 0))
    found, unread = read_all(tmp_path)
    assert not unread
    assert digests(found) == {one.index: one.digest for one in episodes}


@pytest.mark.parametrize("kind", ["v21", "z2", "z3"])
def test_the_other_formats_give_the_same_numbers(tmp_path: Path, kind: str) -> None:
    episodes = takes(9)
    if kind == "v21":
        write_v21(tmp_path / kind, episodes)
    else:
        write_zarr(tmp_path / kind, episodes, generation=int(kind[1]))
    found, unread = read_all(tmp_path / kind, ReadingWishes(part_frames=100))
    assert not unread
    expected = {one.index: one.digest if kind == "v21" else zarr_digest(one) for one in episodes}
    assert digests(found) == expected


def test_pictures_inside_the_parquet_are_never_read(tmp_path: Path) -> None:
    episodes = takes(4)
    write_v3(tmp_path, episodes, image_bytes=5_000)
    source, plan = planned(tmp_path)
    found = [one for part in plan.parts for one in part.read(source)]
    assert len(found) == 4
    metadata = pq.read_metadata(tmp_path / "data" / "chunk-000" / "file-000.parquet")
    pictures = sum(
        metadata.row_group(group).column(leaf).total_compressed_size
        for group in range(metadata.num_row_groups)
        for leaf in range(metadata.num_columns)
        if "images" in metadata.schema.column(leaf).path
    )
    assert pictures > 800_000
    assert source.cost.bytes_read < 60_000


def test_little_more_is_read_than_the_columns_that_are_wanted(tmp_path: Path) -> None:
    write_v3(tmp_path, takes(60, 200), group_rows=500)
    path = tmp_path / "data" / "chunk-000" / "file-000.parquet"
    metadata = pq.read_metadata(path)
    wanted = sum(
        metadata.row_group(group).column(leaf).total_compressed_size
        for group in range(metadata.num_row_groups)
        for leaf in range(metadata.num_columns)
        if metadata.schema.column(leaf).path.split(".")[0] in {"observation", "action", "timestamp"}
        or metadata.schema.column(leaf).path in {"episode_index", "frame_index"}
    )
    source, plan = planned(tmp_path)
    assert sum(1 for part in plan.parts for _ in part.read(source)) == 60
    assert source.cost.bytes_read <= 1.1 * wanted


def test_a_damaged_row_group_costs_only_its_own_episodes(tmp_path: Path) -> None:
    episodes = takes(6)
    write_v3(tmp_path, episodes, group_rows=40)
    path = tmp_path / "data" / "chunk-000" / "file-000.parquet"
    chunk = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(data)
    found, unread = read_all(tmp_path)
    hit = {one.index for one in episodes if rows_of(episodes)["episode_index"].to_pylist()[80:120].count(one.index)}
    assert unread.keys() == hit
    assert digests(found) == {one.index: one.digest for one in episodes if one.index not in hit}
    assert all("file-000.parquet is damaged" in error for error in unread.values())


def test_an_episode_is_not_taken_for_whole_when_a_file_is_missing(tmp_path: Path) -> None:
    episodes = takes(6)
    write_v3(tmp_path, episodes, cuts=(100,))
    (tmp_path / "data" / "chunk-000" / "file-001.parquet").unlink()
    found, unread = read_all(tmp_path)
    assert digests(found) == {one.index: one.digest for one in episodes[:2]}
    assert "Only 19 of its 42 frames" in unread[2]
    assert all("file-001.parquet is not there" in unread[index] for index in (3, 4, 5))


def test_what_the_table_says_and_the_rows_do_not_agree(tmp_path: Path) -> None:
    episodes = takes(4)
    write_v3(tmp_path, episodes, told={1: 7})
    table = tmp_path / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    pq.write_table(pq.read_table(table).slice(0, 3), table)
    found, unread = read_all(tmp_path)
    assert not unread
    codes = {index: [problem.code for problem in one.problems] for index, one in found.items()}
    assert codes == {0: [], 1: ["rows_disagree"], 2: [], 3: ["not_in_table"]}


def test_an_episode_without_rows_is_told(tmp_path: Path) -> None:
    episodes = takes(3)
    write_v3(tmp_path, episodes)
    path = tmp_path / "data" / "chunk-000" / "file-000.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.filter(np.asarray(rows["episode_index"]) != 1), path)
    found, unread = read_all(tmp_path)
    assert sorted(found) == [0, 2]
    assert unread == {1: "It has no rows in any data file."}


@pytest.mark.parametrize("generation", [2, 3])
def test_a_chunk_that_zarr_left_out_is_data_and_is_told(tmp_path: Path, generation: int) -> None:
    episodes = takes(9)
    store = tmp_path / "a.zarr"
    write_zarr(store, episodes, generation=generation)
    (store / "data" / "state" / ("c/4/0" if generation == 3 else "4.0")).unlink()
    found, unread = read_all(store)
    starts = np.cumsum([0, *(one.length for one in episodes)])
    hit = {at for at in range(9) if starts[at] < 165 and starts[at + 1] > 132}
    assert not unread
    told = {index: [(problem.code, problem.file) for problem in one.problems] for index, one in found.items()}
    key = "data/state/c/4/0" if generation == 3 else "data/state/4.0"
    assert told == {index: [("missing_chunk", key)] if index in hit else [] for index in range(9)}
    whole = {one.index: zarr_digest(one) for one in episodes}
    read = digests(found)
    assert {index for index in whole if read[index] != whole[index]} == hit
    group = zarr.open_group(str(store), mode="r")
    for index in hit:
        state = found[index].state
        assert state is not None
        assert np.array_equal(state, np.asarray(group["data/state"][starts[index] : starts[index + 1]]))


def test_a_chunk_that_nothing_stands_for_costs_only_its_own_episodes(tmp_path: Path) -> None:
    episodes = takes(9)
    store = tmp_path / "a.zarr"
    write_zarr(store, episodes, generation=2)
    (store / "data" / "state" / "4.0").unlink()
    for path in (store / ".zmetadata", store / "data" / "state" / ".zarray"):
        text = path.read_text()
        path.write_text(re.sub(r'"fill_value": *[0-9.]+', '"fill_value": null', text))
    found, unread = read_all(store)
    starts = np.cumsum([0, *(one.length for one in episodes)])
    hit = {at for at in range(9) if starts[at] < 165 and starts[at + 1] > 132}
    assert unread.keys() == hit
    assert set(unread.values()) == {"The chunk data/state/4.0 is not there, and no fill value stands for it."}
    assert digests(found) == {one.index: zarr_digest(one) for one in episodes if one.index not in hit}


def test_an_episode_without_any_chunk_is_not_made_of_zeros(tmp_path: Path) -> None:
    episodes = takes(3, 33)
    store = tmp_path / "a.zarr"
    write_zarr(store, episodes, generation=3)
    for path in store.glob("data/*/c/0"):
        shutil.rmtree(path)
    found, unread = read_all(store)
    assert unread == {0: "None of its chunks is in the store (data/state/c/0/0, …)."}
    assert sorted(found) == [1, 2]


def test_nothing_to_score_is_said(tmp_path: Path) -> None:
    write_v3(tmp_path / "a", takes(1))
    (tmp_path / "a" / "data" / "chunk-000" / "file-000.parquet").unlink()
    (tmp_path / "a" / "meta" / "episodes" / "chunk-000" / "file-000.parquet").unlink()
    with pytest.raises(DatasetError, match="no episode table"):
        planned(tmp_path / "a")
    write_zarr(tmp_path / "b.zarr", takes(1), generation=3)
    (tmp_path / "c.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(2000))
    with pytest.raises(DatasetError, match="no agreed names"):
        planned(tmp_path / "c.h5")


def test_memory_does_not_grow_with_the_number_of_episodes(tmp_path: Path) -> None:
    peaks = []
    for count in (200, 1600):
        write_v3(tmp_path / str(count), takes(count, 200), group_rows=2_000)
        source, plan = planned(tmp_path / str(count))
        tracemalloc.start()
        for part in plan.parts:
            for one in part.read(source):
                assert one.episode_index >= 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.6 * peaks[0]


REAL = {
    "so101_rosbag_v30": (6, 1782),
    "pusht_v30_novideo": (206, 25650),
    "gr1_picknplace_v20": (5, 2096),
    "kalanos_tiny/lerobot_v2_0_tiny": (2, 14),
    "kalanos_tiny/lerobot_v2_1_tiny": (2, 9),
    "kalanos_tiny/lerobot_v3_tiny": (2, 14),
    "lerobot_written/two_cam": (3, 98),
    "lerobot_written/two_cam_image": (3, 98),
    "pusht_keypoint.zarr": (151, 24644),
}


@pytest.mark.parametrize("name", REAL)
def test_real_datasets_are_read_whole(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip("the real datasets are not here")
    found, unread = read_all(SHARED / name)
    frames = sum(len(one.state if one.state is not None else one.action or ()) for one in found.values())
    assert not unread
    assert (len(found), frames) == REAL[name]
    assert not [one for one in found.values() if one.problems]


ROWS = rows_of(takes(3, 20)).num_rows


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("name", ["episode_index", "frame_index", "timestamp"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([float("nan")] * ROWS),
        pa.array([float("inf")] * ROWS),
        pa.array([1e300] * ROWS),
        pa.array([[]] * ROWS, pa.list_(pa.float32())),
        pa.array([{"x": 1}] * ROWS),
        pa.array(["x"] * ROWS),
    ],
    ids=["nan", "infinity", "huge", "of no width", "struct", "text"],
)
@pytest.mark.filterwarnings("error")
def test_odd_things_instead_of_numbers_are_told(tmp_path: Path, values: pa.Array, name: str, statistics: bool) -> None:
    episodes = takes(3, 20)
    write_v3(tmp_path, episodes)
    table = rows_of(episodes)
    odd = table.set_column(table.column_names.index(name), name, values)
    pq.write_table(
        odd, tmp_path / "data" / "chunk-000" / "file-000.parquet", row_group_size=20, write_statistics=statistics
    )
    found, unread = read_all(tmp_path)
    is_a_time = name == "timestamp" and pa.types.is_floating(values.type)
    assert set(found if is_a_time else unread) == {0, 1, 2}
    assert all("damaged" in error and name in error for error in unread.values())


def test_an_index_in_lists_of_one_is_an_index(tmp_path: Path) -> None:
    episodes = takes(6, 20)
    write_v3(tmp_path, episodes)
    table = rows_of(episodes)
    lists = pa.FixedSizeListArray.from_arrays(table["episode_index"].combine_chunks(), 1)
    listed = table.set_column(table.column_names.index("episode_index"), "episode_index", lists)
    pq.write_table(listed, tmp_path / "data" / "chunk-000" / "file-000.parquet", row_group_size=30)
    found, unread = read_all(tmp_path, ReadingWishes(part_frames=40))
    assert not unread
    assert digests(found) == {one.index: one.digest for one in episodes}


def test_a_column_that_is_there_twice_is_told(tmp_path: Path) -> None:
    episodes = takes(2, 20)
    write_v3(tmp_path, episodes)
    table = rows_of(episodes)
    pq.write_table(table.append_column("action", table["action"]), tmp_path / "data" / "chunk-000" / "file-000.parquet")
    found, unread = read_all(tmp_path)
    assert not found
    assert all("several columns `action`" in error for error in unread.values()) and len(unread) == 2
