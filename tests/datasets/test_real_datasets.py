"""The datasets that other people's tools wrote: what they are, what is odd about them, the same here and over S3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from noeira_tui.datasets.facts import DatasetInfo
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.datasets.store import Cost
from tests.support.datasets_stores import SHARED, S3Store, running_nanio

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the real datasets are not beside the repository")

TRUTH = {
    "so101_rosbag_v30": ("lerobot-v3", 6, 1782, 30.0),
    "pusht_v30_novideo": ("lerobot-v3", 206, 25650, 10.0),
    "gr1_picknplace_v20": ("lerobot-v2", 5, 2096, 20.0),
    "kalanos_tiny/lerobot_v2_0_tiny": ("lerobot-v2", 2, 14, 30.0),
    "kalanos_tiny/lerobot_v2_1_tiny": ("lerobot-v2.1", 2, 9, 30.0),
    "kalanos_tiny/lerobot_v3_tiny": ("lerobot-v3", 2, 14, 30.0),
    "lerobot_written/two_cam": ("lerobot-v3", 3, 98, 15.0),
    "lerobot_written/two_cam_image": ("lerobot-v3", 3, 98, 15.0),
    "pusht_keypoint.zarr": ("zarr", 151, 24644, None),
}

CODES = {
    "so101_rosbag_v30": set[str](),
    "pusht_v30_novideo": {"missing_file"},
    "gr1_picknplace_v20": {"counts_disagree", "bad_path", "missing_file"},
    "kalanos_tiny/lerobot_v2_0_tiny": {"no_action"},
    "kalanos_tiny/lerobot_v2_1_tiny": {"no_action"},
    "kalanos_tiny/lerobot_v3_tiny": {"no_action", "missing_file"},
    "lerobot_written/two_cam": set(),
    "lerobot_written/two_cam_image": set(),
    "pusht_keypoint.zarr": set(),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Store]:
    """The embedded store with the real datasets in the bucket `real`."""
    with running_nanio(tmp_path_factory.mktemp("real")) as store:
        for name in TRUTH:
            store.link_tree(SHARED / name, "real", name)
        yield store


def comparable(info: DatasetInfo) -> DatasetInfo:
    """What has to be equal wherever a dataset is: everything but the address, the clock and the cost."""
    return replace(info, uri="", elapsed_s=0.0, episodes=None, cost=Cost())


@pytest.mark.parametrize("name", TRUTH)
def test_what_it_is(name: str) -> None:
    info = inspect(str(SHARED / name))
    assert (info.format, info.num_episodes, info.total_frames, info.fps) == TRUTH[name]


@pytest.mark.parametrize("name", CODES)
def test_what_is_odd_about_it(name: str) -> None:
    info = inspect(str(SHARED / name), episodes=True, deep=True)
    assert {problem.code for problem in info.problems} == CODES[name]
    assert info.episodes is not None
    assert len(info.episodes) == TRUTH[name][1]
    assert sum(info.episodes.lengths) == TRUTH[name][2]


@pytest.mark.parametrize("name", TRUTH)
def test_it_is_the_same_over_s3(name: str, real: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in real.environ.items():
        monkeypatch.setenv(key, value)
    here = inspect(str(SHARED / name), episodes=True, deep=True)
    there = inspect(f"s3://real/{name}", episodes=True, deep=True)
    assert comparable(there) == comparable(here)
    assert here.episodes is not None
    assert there.episodes is not None
    count = len(here.episodes)
    assert there.episodes.page(0, count) == here.episodes.page(0, count)


def test_the_files_of_a_template_that_is_wrong_are_found_where_they_are() -> None:
    info = inspect(str(SHARED / "gr1_picknplace_v20"), episodes=True)
    assert info.episodes is not None
    last = info.episodes.page(4, 1)[0]
    assert last.data_file == "data/chunk-000/episode_000004.parquet"
    assert last.videos["observation.images.ego_view"].file.startswith("videos/chunk-000/")
    assert any("egoview" in problem.file for problem in last.problems)


@pytest.mark.parametrize(
    ("name", "episode", "shape"),
    [
        ("so101_rosbag_v30", 4, (90, 6)),
        ("pusht_v30_novideo", 7, None),
        ("gr1_picknplace_v20", 3, (412, 44)),
        ("kalanos_tiny/lerobot_v2_0_tiny", 1, (6, 6)),
        ("lerobot_written/two_cam_image", 1, (25, 6)),
        ("pusht_keypoint.zarr", 2, None),
    ],
)
def test_an_episode_is_plotted(name: str, episode: int, shape: tuple[int, int] | None) -> None:
    with Inspector(str(SHARED / name)) as inspector:
        series = inspector.series(episode)
        length = inspector.page(episode, 1)[0].length
    assert series.state is not None
    assert len(series.state) == len(series.timestamps) == length
    assert shape is None or series.state.shape == shape


@pytest.mark.parametrize(
    ("name", "camera", "size"),
    [
        ("so101_rosbag_v30", "observation.images.wrist", (640, 360)),
        ("gr1_picknplace_v20", "observation.images.ego_view", (256, 256)),
        ("lerobot_written/two_cam", "observation.images.front", (128, 96)),
        ("lerobot_written/two_cam_image", "observation.images.front", (128, 96)),
        ("kalanos_tiny/lerobot_v3_tiny", "observation.images.up", (32, 32)),
        ("pusht_keypoint.zarr", "img", (96, 96)),
    ],
)
def test_a_frame_is_decoded(name: str, camera: str, size: tuple[int, int]) -> None:
    with Inspector(str(SHARED / name)) as inspector:
        picture = inspector.picture(1, camera, 0.1)
    assert (picture.width, picture.height) == size
    assert len(picture.rgb) == size[0] * size[1] * 3
    assert "tiny" in name or len(set(picture.rgb)) > 3, "only the tiny ones are all of one colour"


def test_the_frame_is_the_one_that_a_whole_decoding_gives() -> None:
    import av

    path = SHARED / "lerobot_written/two_cam/videos/observation.images.front/chunk-000/file-000.mp4"
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24").tobytes() for frame in container.decode(video=0)]
    with Inspector(str(SHARED / "lerobot_written/two_cam")) as inspector:
        # Episode 1 begins at frame 40, at 15 frames a second.
        for number in (0, 3, 24):
            picture = inspector.picture(1, "observation.images.front", number / 15)
            assert picture.exact
            assert picture.rgb == frames[40 + number]


def test_statistics_and_lengths() -> None:
    with Inspector(str(SHARED / "so101_rosbag_v30")) as inspector:
        stats = {one.name: one for one in inspector.stats()}
        histogram = inspector.histogram(4)
    assert len(stats["observation.state"].mean) == 6
    assert stats["timestamp"].count == 1782
    assert sum(histogram.counts) == 6
    assert len(histogram.edges) == 5
