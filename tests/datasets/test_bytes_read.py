"""How much is read and asked for, counted at the server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_build import write_zarr
from tests.support.datasets_http import serving
from tests.support.datasets_stores import S3Store

_NEEDED = ("episode_index", "tasks", "length", "data/", "dataset_", "videos/")


def footer_bytes(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[-8:-4], "little") + 8


def chunk_bytes(path: Path, wanted: tuple[str, ...], groups: list[int] | None = None) -> int:
    """The compressed bytes of the columns that begin with one of `wanted`."""
    metadata = pq.read_metadata(path)
    total = 0
    for group in range(metadata.num_row_groups) if groups is None else groups:
        row_group = metadata.row_group(group)
        for column in range(metadata.num_columns):
            if row_group.column(column).path_in_schema.startswith(wanted):
                total += row_group.column(column).total_compressed_size
    return total


def test_the_summary_of_a_remote_v3_is_two_files_and_not_a_byte_more(s3: S3Store, made: Path) -> None:
    info = inspect("s3://data/v3")
    wanted = [made / "v3/meta/info.json", made / "v3/meta/tasks.parquet"]
    assert s3.counted.requests == 2
    assert s3.counted.body_bytes == sum(path.stat().st_size for path in wanted)
    assert (info.cost.bytes_read, info.cost.requests) == (s3.counted.body_bytes, 2)
    assert (info.num_episodes, info.tasks, info.problems) == (100, ("pick", "place"), ())


def test_the_episode_table_costs_its_footer_and_the_columns_needed(s3: S3Store, made: Path) -> None:
    inspect("s3://data/v3")
    summary_bytes = s3.counted.body_bytes
    s3.counted.reset()
    info = inspect("s3://data/v3", episodes=True)
    table = made / "v3/meta/episodes/chunk-000/file-000.parquet"
    assert info.episodes is not None
    assert len(info.episodes) == 100
    needed = footer_bytes(table) + chunk_bytes(table, _NEEDED)
    assert s3.counted.body_bytes - summary_bytes <= 1.1 * needed
    assert needed < 0.6 * table.stat().st_size, "the table has much that is not needed, or the figure means nothing"
    assert info.cost.bytes_read == s3.counted.body_bytes
    assert not [path for method, path, _ in s3.counted.log if ".mp4" in path and method == "GET"]


def test_a_plot_costs_the_row_groups_of_its_episode(s3: S3Store, made: Path) -> None:
    data = made / "v3/data/chunk-000/file-000.parquet"
    wanted = ("observation.state", "action", "timestamp", "frame_index", "episode_index")
    with Inspector("s3://data/v3") as inspector:
        inspector.episodes()
        before = s3.counted.body_bytes
        first = inspector.series(17)
        with_footer = s3.counted.body_bytes - before
        inspector.series(18)
        without_footer = s3.counted.body_bytes - before - with_footer
    assert first.state is not None
    assert first.state.shape == (123, 6)
    assert with_footer <= 1.2 * chunk_bytes(data, wanted, [17]) + footer_bytes(data)
    assert without_footer <= 1.2 * chunk_bytes(data, wanted, [18])


@pytest.mark.parametrize("generation", [2, 3])
@pytest.mark.parametrize("name", ["fifty.zarr", "fifty"])
def test_a_consolidated_zarr_of_fifty_arrays_is_three_requests(tmp_path: Path, generation: int, name: str) -> None:
    write_zarr(tmp_path / name, generation=generation, consolidated=True, extra_arrays=46)
    with serving(tmp_path) as server:
        info = inspect(f"{server.url}/{name}")
        # Only a name without "zarr" in it is taken for LeRobot first, and generation 2 asked for after generation 3.
        spare = 0 if generation == 3 or name == "fifty.zarr" else 1
        assert server.counted.requests <= 3 + spare
    assert (len(info.features), info.num_episodes) == (49, 4)


def test_one_frame_of_a_large_video_is_under_two_megabytes(tmp_path: Path, made: Path, big_mp4: Path) -> None:
    root = tmp_path / "large"
    shutil.copytree(made / "small", root)
    for camera in ("front", "wrist"):
        place = root / f"videos/observation.images.{camera}/chunk-000/file-000.mp4"
        place.unlink()
        place.symlink_to(big_mp4)
    with serving(tmp_path) as server:
        with Inspector(f"{server.url}/large") as inspector:
            inspector.episodes()
            server.counted.reset()
            picture = inspector.picture(3, "observation.images.front", 0.5)
            assert server.counted.body_bytes < 2_000_000
    assert (picture.width, picture.height, len(picture.rgb)) == (640, 480, 640 * 480 * 3)
    assert len(set(picture.rgb)) > 100, "it is noise, not a grey picture"
