"""A catalog in a bucket: by conditional PUT where the store honours it, else one writer at a time by a lease."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from noeira_tui.core.errors import CancelledError, StorageRefusedError, TransferError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.source import open_source
from noeira_tui.episodes import commits, compaction, lease, tables
from noeira_tui.episodes.facts import Ingested
from noeira_tui.episodes.ingest import ingest
from noeira_tui.episodes.lease import Lease, honours_conditional_put
from noeira_tui.episodes.place import BucketPlace
from noeira_tui.episodes.query import CatalogReader
from tests.support.datasets_stores import S3Store, running_nanio
from tests.support.episodes_build import takes, write_v3, write_v21
from tests.support.waiting import until


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_v3(tmp_path_factory.mktemp("made") / "cubes", takes(12))


@pytest.fixture(scope="module")
def nanio_store(tmp_path_factory: pytest.TempPathFactory, dataset: Path) -> Iterator[S3Store]:
    """The embedded store: it accepts two conditional PUTs of a key."""
    with running_nanio(tmp_path_factory.mktemp("nanio")) as store:
        store.link_tree(dataset, "data", "cubes")
        store.link_tree(write_v21(tmp_path_factory.mktemp("v21") / "many", takes(30, seed=2)), "data", "many")
        yield store


@pytest.fixture
def nanio(nanio_store: S3Store, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """Its settings in the environment, for writing."""
    for name, value in nanio_store.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", nanio_store.direct)
    return nanio_store


@pytest.fixture
def seen(nanio: S3Store, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """The same through the proxy that counts what is read."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", nanio.endpoint)
    nanio.counted.reset()
    return nanio


@pytest.fixture(scope="module")
def moto_endpoint() -> Iterator[str]:
    """A store that refuses the second conditional PUT, as Amazon does."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def moto(moto_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": moto_endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=moto_endpoint, region_name="us-east-1").create_bucket(Bucket="data")
    return moto_endpoint


def counted(outcome: Ingested) -> tuple[int, int, int]:
    return outcome.ingested, outcome.skipped, outcome.failed


def listed(catalog: str) -> list[str]:
    with CatalogReader(catalog) as reader:
        return sorted(one.episode_id for one in reader.episodes())


def needs_lease(catalog: str) -> bool:
    marker = BucketPlace(catalog).read("catalog.json")
    assert marker is not None
    return bool(json.loads(marker)["needs_lease"])


def test_a_store_that_honours_conditional_put_needs_no_lease(moto: str, dataset: Path) -> None:
    said: list[str] = []
    outcome = ingest([str(dataset)], catalog="s3://data/episodes", say=said.append)
    assert counted(outcome) == (12, 0, 0)
    assert not said
    assert not needs_lease("s3://data/episodes")
    assert listed("s3://data/episodes") == sorted(one.digest for one in takes(12))
    assert counted(ingest([str(dataset)], catalog="s3://data/episodes/")) == (0, 12, 0)


def test_a_store_that_does_not_is_told_and_one_writer_is_let_in(nanio: S3Store, dataset: Path) -> None:
    said: list[str] = []
    outcome = ingest([str(dataset)], catalog="s3://data/with-lease", say=said.append)
    assert counted(outcome) == (12, 0, 0)
    assert said == [
        "s3://data/with-lease: this store does not refuse a second PUT of a key; one ingest at a time writes to it"
    ]
    assert needs_lease("s3://data/with-lease")
    assert listed("s3://data/with-lease") == sorted(one.digest for one in takes(12))
    assert BucketPlace("s3://data/with-lease").marks("lease") == {}


@pytest.mark.parametrize("store", ["moto", "nanio"])
def test_two_at_once_double_nothing(store: str, request: pytest.FixtureRequest, dataset: Path) -> None:
    request.getfixturevalue(store)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(commits, "BATCH_EPISODES", 4)
        with ThreadPoolExecutor(3) as pool:
            outcomes = list(pool.map(lambda _: ingest([str(dataset)], catalog="s3://data/at-once"), range(3)))
    assert sum(one.ingested for one in outcomes) == 12
    assert listed("s3://data/at-once") == sorted(one.digest for one in takes(12))
    with CatalogReader("s3://data/at-once") as reader:
        assert reader.query("SELECT count(*) FROM quality_scores").rows == ((12,),)


def test_small_files_in_a_bucket_with_a_lease_are_put_together(
    nanio: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [str(write_v3(tmp_path / str(number), takes(2, seed=number))) for number in range(6)]
    monkeypatch.setattr(commits, "BATCH_EPISODES", 1)
    monkeypatch.setattr(tables, "SMALL_FILES", 4)
    monkeypatch.setattr(compaction, "SMALL_FILES", 4)
    assert counted(ingest(made, catalog="s3://data/small-files")) == (12, 0, 0)
    files = tables.open_catalog("s3://data/small-files").episodes.file_uris()
    assert len(files) < 4
    assert any("part-compacted" in file for file in files)
    assert listed("s3://data/small-files") == sorted(one.digest for n in range(6) for one in takes(2, seed=n))


def test_a_dataset_in_a_bucket_that_did_not_change_is_not_read(seen: S3Store, tmp_path: Path) -> None:
    first = ingest(["s3://data/cubes"], catalog=str(tmp_path))
    assert counted(first) == (12, 0, 0)
    again = ingest(["s3://data/cubes"], catalog=str(tmp_path))
    assert (counted(again), again.bytes_read) == ((0, 12, 0), 0)


def test_many_files_are_asked_for_by_their_folder(seen: S3Store, tmp_path: Path) -> None:
    first = ingest(["s3://data/many"], catalog=str(tmp_path))
    assert counted(first) == (30, 0, 0)
    seen.counted.reset()
    again = ingest(["s3://data/many"], catalog=str(tmp_path))
    assert counted(again) == (0, 30, 0)
    assert not [path for method, path, span in seen.counted.log if span]
    assert again.requests < 8


def test_keys_that_may_not_write_are_told(nanio: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(StorageRefusedError, match="HTTP 403"):
        BucketPlace("s3://data/x").write("y", b"1")


def test_the_probe_leaves_nothing_behind(nanio: S3Store) -> None:
    place = BucketPlace("s3://data/probed")
    assert not honours_conditional_put(place)
    assert not open_source("s3://data/probed").listing().files


def test_one_at_a_time_holds_the_lease(nanio: S3Store) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with Lease(BucketPlace("s3://data/leased"), lambda text: None).held(CancelToken()):
            inside.append(number)
            most.append(len(inside))
            BucketPlace("s3://data/leased").marks("lease")
            inside.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert most == [1] * 8


def test_a_lease_whose_holder_died_is_taken_away(nanio: S3Store) -> None:
    place = BucketPlace("s3://data/dead")
    place.write("lease/ticket-0000000007-gone-box-abc", b"1")
    said: list[str] = []
    passing = itertools.count(step=10)
    with Lease(place, said.append, clock=lambda: next(passing)).held(CancelToken()):
        assert [name.split("-")[1] for name in place.marks("lease")] == ["0000000008"]
    assert said == ["waiting for another ingest (gone-box) to finish its turn on the catalog"]


def test_a_living_holder_is_waited_for(nanio: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_BEAT_EVERY_S", 0.02)
    place = BucketPlace("s3://data/living")

    def renewals() -> int:
        (held,) = (name for name in place.marks("lease") if name.startswith("ticket-0000000001"))
        return int((place.read(f"lease/{held}") or b"").split()[1])

    waiting: list[str] = []
    first = Lease(place, lambda text: None)
    # Time goes on as the first one renews: a dead one would be waited for during two renewals.
    second = Lease(place, waiting.append, dead_after_s=2, clock=renewals)
    cancel = CancelToken()

    def enter() -> None:
        with second.held(cancel):
            raise AssertionError("two hold the lease")

    with ThreadPoolExecutor(1) as pool, first.held(CancelToken()):
        entered = pool.submit(enter)
        until(lambda: waiting)
        seen = renewals()
        until(lambda: renewals() > seen + 8)
        assert not entered.done()
        cancel.cancel()
        assert isinstance(entered.exception(10), CancelledError)


def test_a_lease_that_was_not_renewed_lets_nobody_write(nanio: S3Store) -> None:
    now = [0.0]
    held = Lease(BucketPlace("s3://data/slept"), lambda text: None, dead_after_s=30, clock=lambda: now[0])
    with held.held(CancelToken()):
        held.check()
        now[0] = 16.0
        with pytest.raises(TransferError, match="renewed in time"):
            held.check()
