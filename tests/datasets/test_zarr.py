"""Zarr of both generations: what is told, and that a missing chunk and a failed request never look alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noeira_tui.core.errors import DatasetError, NoeiraError
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_build import write_zarr
from tests.support.datasets_http import FileServer, serving

KINDS = ("z2c.zarr", "z2.zarr", "z3c.zarr", "z3.zarr")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / request.param, tmp_path / request.param))


def test_every_kind_is_told_the_same(made: Path) -> None:
    for name in KINDS:
        info = inspect(str(made / name), episodes=True, deep=True)
        assert (info.format, info.format_version, info.num_episodes, info.total_frames) == ("zarr", name[1], 4, 46)
        assert (info.fps, info.problems) == (20.0, ())
        assert [(c.name, c.height, c.width, c.channels, c.storage) for c in info.cameras] == [
            ("img", 12, 16, 3, "array")
        ]
        assert [feature.name for feature in info.observation] == ["state"]
        assert [(feature.name, feature.dtype, feature.shape) for feature in info.action] == [
            ("action", "float32", (2,))
        ]
        assert info.episodes is not None
        assert list(info.episodes.lengths) == [10, 11, 12, 13]


def test_a_zip_is_read_in_place(made: Path, tmp_path: Path) -> None:
    for name in ("z2c.zarr", "z3.zarr"):
        shutil.make_archive(str(tmp_path / name), "zip", made / name)
        size = (tmp_path / f"{name}.zip").stat().st_size
        with serving(tmp_path) as server:
            info = inspect(f"{server.url}/{name}.zip", episodes=True)
            assert server.counted.body_bytes < size or size < 30_000
        assert (info.num_episodes, info.total_frames, info.streamed, info.problems) == (4, 46, True, ())


def test_values_and_pictures(made: Path) -> None:
    import numpy as np
    import zarr

    for name in KINDS:
        with Inspector(str(made / name)) as inspector:
            series = inspector.series(2)
            picture = inspector.picture(2, "img", 0.1)
        group = zarr.open_group(str(made / name), mode="r")
        assert series.state is not None
        assert series.action is not None
        assert np.array_equal(series.state, np.asarray(group["data/state"][21:33], np.float64))
        assert np.array_equal(series.action, np.asarray(group["data/action"][21:33], np.float64))
        assert picture.rgb == np.asarray(group["data/img"][23]).tobytes()


def chunk(store: Path, array: str, number: int) -> Path:
    """The file of a chunk of a list of values or rows."""
    found = [path for path in (store / array).rglob("*") if path.is_file() and path.name[0].isdigit()]
    return sorted(found, key=lambda path: [int(part) for part in path.name.split(".")])[number]


def test_a_missing_chunk_of_the_ends_is_told(store: Path) -> None:
    chunk(store, "meta/episode_ends", 0).unlink()
    problems = inspect(str(store)).problems
    assert "missing_chunk" in {problem.code for problem in problems}


def test_a_missing_chunk_of_the_data_is_told(store: Path) -> None:
    shutil.rmtree(store / "data/img/c", ignore_errors=True)
    for path in (store / "data/img").glob("[0-9]*"):
        path.unlink()
    told = {problem.code: problem.message for problem in inspect(str(store), deep=True).problems}
    assert set(told) == {"missing_chunk"}
    assert "data/img: 7 of 7 chunks" in told["missing_chunk"]


def test_a_plot_with_a_missing_chunk_says_so(store: Path) -> None:
    folder = store / "data/action"
    for path in [path for path in folder.rglob("*") if path.is_file() and path.name[0].isdigit()]:
        path.unlink()
    with Inspector(str(store)) as inspector:
        series = inspector.series(0)
        assert series.action is not None
        assert not series.action.any()
        assert {problem.code for problem in inspector.problems()} == {"missing_chunk"}


class Failing(FileServer):
    """Fails for every chunk."""

    def serve(self, handler: object, path: str, span: str) -> None:
        if path.rpartition("/")[2][:1].isdigit():
            self.reply(handler, 403, b"no")  # type: ignore[arg-type]
            return
        super().serve(handler, path, span)  # type: ignore[arg-type]


def test_a_failed_request_is_an_error_and_not_zeros(made: Path) -> None:
    with serving(made, Failing) as server:
        for name in ("z2c.zarr", "z3c.zarr"):
            with pytest.raises(NoeiraError, match="403"):
                inspect(f"{server.url}/{name}")


@pytest.mark.parametrize("name", ["z2.zarr", "z3.zarr"])
def test_without_consolidated_metadata_a_web_server_will_not_do(made: Path, name: str) -> None:
    with serving(made) as server:
        with pytest.raises(DatasetError, match="without consolidated metadata") as caught:
            inspect(f"{server.url}/{name}")
    assert "consolidate_metadata" in caught.value.hint


@pytest.mark.parametrize("generation", [2, 3])
def test_stale_metadata_show_both_shapes(tmp_path: Path, generation: int) -> None:
    store = write_zarr(tmp_path / "s.zarr", generation=generation, consolidated=True)
    own = store / "data/action" / ("zarr.json" if generation == 3 else ".zarray")
    metadata = json.loads(own.read_bytes())
    metadata["shape"][0] += 20
    own.write_text(json.dumps(metadata))
    problems = [problem for problem in inspect(str(store), deep=True).problems if problem.code == "stale_metadata"]
    assert len(problems) == 1
    assert "[46, 2]" in problems[0].message
    assert "[66, 2]" in problems[0].message


def test_stale_ends_after_an_append_are_noticed_by_default(tmp_path: Path) -> None:
    import numpy as np
    import zarr

    store = write_zarr(tmp_path / "s.zarr", generation=2, consolidated=True)
    group = zarr.open_group(str(store), mode="r+", zarr_format=2, use_consolidated=False)
    group["data/action"].append(np.zeros((9, 2), np.float32))
    group["meta/episode_ends"].append(np.array([55]))
    codes = {problem.code for problem in inspect(str(store), deep=True).problems}
    assert "stale_metadata" in codes


def test_ends_that_do_not_fit(tmp_path: Path) -> None:
    import zarr

    store = write_zarr(tmp_path / "s.zarr", generation=3, consolidated=False)
    zarr.open_group(str(store), mode="r+")["meta/episode_ends"][:] = [10, 5, 33, 99]
    problems = inspect(str(store)).problems
    assert {problem.code for problem in problems} == {"index_order", "counts_disagree"}


def test_sharded_arrays_and_ends_at_the_root(tmp_path: Path) -> None:
    import numpy as np
    import zarr

    store = tmp_path / "sharded.zarr"
    group = zarr.open_group(str(store), mode="w", zarr_format=3)
    values = np.arange(200, dtype=np.float32).reshape(100, 2)
    array = group.create_array("action", shape=values.shape, dtype="float32", chunks=(5, 2), shards=(50, 2))
    array[:] = values
    ends = group.create_array("episode_ends", shape=(2,), dtype="int64", chunks=(2,))
    ends[:] = [60, 100]
    with Inspector(str(store)) as inspector:
        assert inspector.summary().num_episodes == 2
        series = inspector.series(1)
    assert series.action is not None
    assert np.array_equal(series.action, values[60:])
    assert inspect(str(store), deep=True).problems == ()


@pytest.mark.slow
def test_stores_that_zarr_2_wrote(tmp_path: Path) -> None:
    """The older library, installed into an environment of its own; skipped where it cannot be."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "zarr==2.18.7", "numcodecs<0.16", "numpy<2.3"], capture_output=True).returncode:
        pytest.skip("zarr 2 cannot be installed here")
    code = """
import numpy as np, sys, zarr
assert zarr.__version__.startswith("2.")
for name, consolidated in (("plain", False), ("consolidated", True)):
    root = zarr.open_group(f"{sys.argv[1]}/{name}.zarr", mode="w")
    root.attrs["fps"] = 12
    root.create_dataset("data/state", data=np.arange(90, dtype="f4").reshape(30, 3), chunks=(8, 3))
    root.create_dataset("data/action", data=np.ones((30, 2), "f4"), chunks=(8, 2), compressor=zarr.Blosc(cname="zstd"))
    root.create_dataset("meta/episode_ends", data=np.array([10, 30]))
    if consolidated:
        zarr.consolidate_metadata(root.store)
with zarr.ZipStore(f"{sys.argv[1]}/zipped.zarr.zip", mode="w") as store:
    zarr.copy_store(zarr.DirectoryStore(f"{sys.argv[1]}/plain.zarr"), store)
"""
    subprocess.run([str(home / "bin/python"), "-c", code, str(tmp_path)], check=True)
    for name in ("plain.zarr", "consolidated.zarr", "zipped.zarr.zip"):
        info = inspect(str(tmp_path / name), episodes=True, deep=True)
        assert (info.format_version, info.num_episodes, info.total_frames, info.fps) == ("2", 2, 30, 12.0)
        assert info.problems == ()
        with Inspector(str(tmp_path / name)) as inspector:
            series = inspector.series(1)
        assert series.state is not None
        assert series.state[0].tolist() == [30.0, 31.0, 32.0]
