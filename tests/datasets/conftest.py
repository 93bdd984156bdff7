"""Datasets and stores that several tests look at; none of them changes one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.datasets_build import write_mp4, write_v3, write_zarr
from tests.support.datasets_stores import S3Store, running_nanio


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`v3` (100 episodes, 2 cameras), `small` (5 episodes), and a zarr of each kind."""
    folder = tmp_path_factory.mktemp("datasets")
    write_v3(folder / "v3", episodes=100, frames=120)
    write_v3(folder / "small")
    for generation in (2, 3):
        for consolidated in (True, False):
            name = f"z{generation}{'c' if consolidated else ''}.zarr"
            write_zarr(folder / name, generation=generation, consolidated=consolidated)
    return folder


@pytest.fixture(scope="session")
def big_mp4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """200 MB of video; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="video-"))
    write_mp4(folder / "file-000.mp4", 100, size_bytes=200_000_000, height=480, width=640)
    yield folder / "file-000.mp4"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def nanio(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Iterator[S3Store]:
    """The embedded object store with everything of `made` in the bucket `data`."""
    with running_nanio(tmp_path_factory.mktemp("nanio")) as store:
        for folder in sorted(made.iterdir()):
            store.link_tree(folder, "data", folder.name)
        yield store


@pytest.fixture
def s3(nanio: S3Store, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """The embedded store, its settings in the environment and its counters at zero."""
    for name, value in nanio.environ.items():
        monkeypatch.setenv(name, value)
    nanio.counted.reset()
    return nanio
