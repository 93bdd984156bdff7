"""HDF5 trajectory stores by ranges, and what is said without the extra."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noeira_tui.core.errors import ConfigError, DatasetError
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_http import serving

h5py = pytest.importorskip("h5py")


def robomimic(path: Path) -> Path:
    rng = np.random.default_rng(2)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = 33
        for number, length in ((0, 10), (1, 11), (10, 12)):
            demo = data.create_group(f"demo_{number}")
            demo.attrs["num_samples"] = length
            demo["actions"] = rng.standard_normal((length, 7))
            demo["obs/robot0_eef_pos"] = rng.standard_normal((length, 3))
            demo["obs/agentview_image"] = rng.integers(0, 255, (length, 24, 32, 3), np.uint8)
    return path


def aloha(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["fps"] = 50
        file["action"] = np.arange(28.0).reshape(2, 14)
        file["observations/qpos"] = np.ones((2, 14))
        file["observations/images/top"] = np.full((2, 8, 8, 3), 7, np.uint8)
    return path


def flat(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["robot_type"] = "walker"
        file["state"] = np.arange(40.0, dtype=np.float32).reshape(20, 2)
        file["action"] = np.ones((20, 3), np.float32)
        file["episode_ends"] = np.array([8, 20])
        file.create_dataset("padding", data=np.random.default_rng(0).standard_normal((20, 60_000)), chunks=(1, 60_000))
    return path


def test_robomimic(tmp_path: Path) -> None:
    info = inspect(str(robomimic(tmp_path / "demo.hdf5")), episodes=True, deep=True)
    assert (info.format, info.format_version, info.num_episodes, info.total_frames) == ("hdf5", "robomimic", 3, 33)
    assert [(feature.name, feature.shape) for feature in info.action] == [("actions", (7,))]
    assert [feature.name for feature in info.observation] == ["obs/robot0_eef_pos"]
    assert [(camera.name, camera.height, camera.width) for camera in info.cameras] == [("obs/agentview_image", 24, 32)]
    assert info.episodes is not None
    assert [(e.length, e.data_file) for e in info.episodes.page(0, 9)] == [
        (10, "data/demo_0"),
        (11, "data/demo_1"),
        (12, "data/demo_10"),
    ]
    assert info.problems == ()
    with Inspector(str(tmp_path / "demo.hdf5")) as inspector:
        series = inspector.series(2)
        assert series.action is not None
        assert series.state is not None
        assert (series.action.shape, series.state.shape) == ((12, 7), (12, 3))
        assert len(inspector.picture(1, "obs/agentview_image", 0.1).rgb) == 24 * 32 * 3


def test_aloha(tmp_path: Path) -> None:
    info = inspect(str(aloha(tmp_path / "episode_0.hdf5")), episodes=True)
    assert (info.format_version, info.num_episodes, info.total_frames, info.fps) == ("aloha", 1, 2, 50.0)
    assert [feature.name for feature in info.observation] == ["observations/qpos"]


def test_a_flat_store_is_read_by_ranges(tmp_path: Path) -> None:
    path = flat(tmp_path / "walker.h5")
    with serving(tmp_path) as server:
        with Inspector(f"{server.url}/walker.h5") as inspector:
            info = inspector.summary()
            series = inspector.series(1)
        assert server.counted.body_bytes < 0.1 * path.stat().st_size
    assert (info.format_version, info.num_episodes, info.total_frames, info.robot_type) == ("flat", 2, 20, "walker")
    assert series.state is not None
    assert series.state[0].tolist() == [16.0, 17.0]


def test_totals_that_disagree(tmp_path: Path) -> None:
    path = robomimic(tmp_path / "demo.hdf5")
    with h5py.File(path, "a") as file:
        file["data"].attrs["total"] = 99
    assert [problem.code for problem in inspect(str(path)).problems] == ["counts_disagree"]


def test_damaged_files_are_told(tmp_path: Path) -> None:
    path = flat(tmp_path / "walker.h5")
    whole = path.read_bytes()
    for data in (b"", whole[:100], whole[:3000], b"version https://git-lfs.github.com/spec/v1\n", b"\0" * 5000):
        path.write_bytes(data)
        with pytest.raises(DatasetError) as caught:
            inspect(str(path))
        assert "damaged" in caught.value.message or "LFS" in caught.value.message


def test_without_the_extra_it_is_named_and_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat(tmp_path / "walker.h5")
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "h5py":
            raise ModuleNotFoundError("No module named 'h5py'", name="h5py")
        return real(name, *args, **kwargs)

    with serving(tmp_path) as server:
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ConfigError, match="h5py") as caught:
            inspect(f"{server.url}/walker.h5")
        assert "noeira-tui[hdf5]" in caught.value.hint
        assert server.counted.requests == 0


def test_links_are_followed_once_and_never_into_other_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros((9, 1))
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["inner/action"] = np.zeros((4, 2))
        file["inner/round"] = h5py.SoftLink("/")
        file["inner/hard"] = file["/"]
        file["inner/lost"] = h5py.SoftLink("/nowhere")
        file["out"] = h5py.ExternalLink("other.h5", "/")
    assert [one.name for one in inspect(str(tmp_path / "links.h5")).features] == ["inner/action"]


@pytest.mark.parametrize("rate", [0, -3.0, "x", float("nan")])
def test_a_frame_rate_that_makes_no_sense(tmp_path: Path, rate: object) -> None:
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["action"] = np.zeros((4, 2))
        file.attrs["fps"] = rate
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("action", shape=(4, 2), dtype="f4")
    group.attrs["frequency"] = rate
    for name, field in (("a.h5", "fps"), ("a.zarr", "frequency")):
        info = inspect(str(tmp_path / name))
        assert info.fps is None
        assert ("wrong_type", field) in {(problem.code, problem.field) for problem in info.problems}
