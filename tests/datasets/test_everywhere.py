"""One dataset, read from every kind of place: the answer is the same, field for field."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.errors import ConfigError, DatasetError, DatasetFileError, RefusedError
from noeira_tui.core.settings import Settings
from noeira_tui.datasets.facts import DatasetInfo, Episode
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.datasets.store import Cost
from noeira_tui.jobs.addresses import resolvers
from tests.support.datasets_http import Counted, HubServer, serving
from tests.support.datasets_stores import S3Store, running_gcs
from tests.support.service_fixture import RunningService
from tests.support.service_minio import KEYS, minio_program, running_minio


def look(uri: str, settings: Settings | None = None) -> tuple[DatasetInfo, tuple[Episode, ...]]:
    """Everything about a dataset but its address, its cost and the clock; its first plot and frame must come too."""
    made = None if settings is None else resolvers(settings)
    info = inspect(uri, episodes=True, deep=True, resolvers=made)
    assert info.streamed
    assert info.cost.requests > 2
    assert info.episodes is not None
    with Inspector(uri, resolvers=made) as inspector:
        series = inspector.series(3)
        assert series.state is not None
        assert series.state.shape == (43, 6)
        assert inspector.picture(3, "observation.images.wrist", 0.2).width == 64
    plain = replace(info, uri="", cost=Cost(), elapsed_s=0.0, episodes=None)
    return plain, info.episodes.page(0, len(info.episodes))


@pytest.fixture(scope="module")
def here(made: Path) -> tuple[DatasetInfo, tuple[Episode, ...]]:
    return look(str(made / "small"))


def test_a_path_with_spaces_and_brackets(
    made: Path, tmp_path: Path, here: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a [b] #1 % é" / "my data"
    shutil.copytree(made / "small", odd)
    assert look(str(odd)) == here
    assert look(f"file://{str(odd).replace('%', '%25').replace('#', '%23')}") == here
    monkeypatch.chdir(odd.parent)
    assert look("my data") == here


def test_s3_with_spaces_and_brackets(s3: S3Store, made: Path, here: object) -> None:
    s3.link_tree(made / "small", "data", "odd [names] + é/my data")
    assert look("s3://data/odd [names] + é/my data/") == here
    assert look("s3://data/small") == here


def test_https_with_spaces_and_brackets(made: Path, tmp_path: Path, here: object) -> None:
    shutil.copytree(made / "small", tmp_path / "a [b] c")
    with serving(tmp_path) as server:
        assert look(f"{server.url}/a [b] c") == here
        assert look(f"{server.url}/a%20%5Bb%5D%20c/") == here


def test_memory(made: Path, here: object) -> None:
    import fsspec

    fs = fsspec.filesystem("memory")
    for path in (made / "small").rglob("*"):
        if path.is_file():
            fs.pipe_file(f"/bucket/small/{path.relative_to(made / 'small')}", path.read_bytes())
    assert look("memory://bucket/small") == here
    with pytest.raises(DatasetError, match="nothing"):
        inspect("memory://bucket/nothing")
    fs.rm("/bucket", recursive=True)


def test_hugging_face(made: Path, here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(made / "small", HubServer) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        assert look("hf://datasets/o/r") == here
        assert look("hf://datasets/o/r@main") == here
        server.behaviour.token = "hf_secret"
        with pytest.raises(DatasetFileError, match="private") as caught:
            inspect("hf://datasets/o/r")
        assert "HF_TOKEN" in caught.value.hint
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        assert inspect("hf://datasets/o/r").num_episodes == 5
        with pytest.raises(DatasetError, match="no repository"):
            inspect("hf://datasets/o")


def test_google(made: Path, tmp_path: Path, here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gcsfs")
    pytest.importorskip("gcp_storage_emulator")
    shutil.copytree(made / "small", tmp_path / "bucket" / "small")
    with running_gcs(tmp_path) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        assert look("gs://bucket/small") == here


@pytest.mark.slow
@pytest.mark.skipif(minio_program() is None, reason="juicefs is not installed")
def test_minio(made: Path, here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_minio() as minio:
        store = S3Store(minio.endpoint, minio.endpoint, KEYS.access_key, KEYS.secret_key, Counted())
        for name, value in store.environ.items():
            monkeypatch.setenv(name, value)
        store.put_tree(made / "small", "data", "small set")
        assert look("s3://data/small set") == here
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        with pytest.raises(DatasetFileError, match="no credentials"):
            inspect("s3://data/small set")


@pytest.fixture
def client(connected: Settings, service: RunningService) -> Iterator[CatalogClient]:
    with CatalogClient(service.url, service.key) as made_client:
        yield made_client


def upload(client: CatalogClient, project: str, dataset: str, folder: Path) -> None:
    """Offer, store and complete every file of a recording, `info.json` last."""
    import hashlib

    import httpx

    client.put_project(project)
    client.put_recording(project, dataset, n_episodes=5, n_frames=200, fps=30)
    paths = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == "info.json")
    for path in paths:
        data, name = path.read_bytes(), str(path.relative_to(folder))
        digest = hashlib.sha256(data).hexdigest()
        offer = client.register_file(project, dataset, name, sha256=digest, size_bytes=len(data))
        if offer.upload is not None:
            httpx.put(offer.upload.url, content=data).raise_for_status()
            client.complete_file(project, dataset, name, sha256=digest, size_bytes=len(data))


def test_a_recording_on_the_service(made: Path, here: object, client: CatalogClient, connected: Settings) -> None:
    upload(client, "inspected", "small", made / "small")
    assert look("noeira://projects/inspected/small", connected) == here
    with pytest.raises(RefusedError, match="no recording"):
        inspect("noeira://projects/inspected/nothing", resolvers=resolvers(connected))
    with pytest.raises(DatasetError, match="no address"):
        inspect("noeira://projects/inspected", resolvers=resolvers(connected))


def test_a_catalog_dataset_on_the_service(
    made: Path, tmp_path: Path, here: object, client: CatalogClient, connected: Settings
) -> None:
    import hashlib

    import httpx

    from noeira_tui.catalog.wire import NewDataset

    archive = Path(shutil.make_archive(str(tmp_path / "inspected"), "zip", made / "small"))
    data = archive.read_bytes()
    new = NewDataset("inspected", "v1", filename="inspected.zip")
    registration = client.register(new)
    httpx.put(registration.upload.url, content=data).raise_for_status()
    client.complete(registration.id, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    assert look("noeira://datasets/inspected-v1", connected) == here
    with pytest.raises(RefusedError, match="no dataset"):
        inspect("noeira://datasets/nothing-v1", resolvers=resolvers(connected))


def test_a_tar_is_downloaded_and_that_is_said_first(made: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "small"), "gztar", made / "small")
    said: list[str] = []
    with serving(tmp_path) as server:
        info = inspect(f"{server.url}/small.tar.gz", episodes=True, say=said.append)
    assert (info.num_episodes, info.streamed, info.problems) == (5, False, ())
    assert len(said) == 1
    assert "downloading it first" in said[0]
    assert "kB" in said[0] or "MB" in said[0]


def test_addresses_that_mean_nothing() -> None:
    for address in ("", "s3://", "s3:///x", "noeira://datasets/x", "nosuchscheme://x/y", "http://[x/y", "s3://[/y"):
        with pytest.raises((DatasetError, ConfigError)):
            inspect(address)


def test_the_default_look_at_s3_starts_no_sdk(s3: S3Store) -> None:
    code = (
        "import sys\nfrom noeira_tui.datasets.inspect import inspect\ninspect('s3://data/small')\n"
        "print(sorted(set(sys.modules) & {'botocore', 'boto3', 's3fs', 'fsspec', 'zarr', 'httpx', 'av', 'h5py'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
