"""Adding to a catalog: compared and committed at once, whoever else adds in this moment; small files put together."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import polars
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

from noeira_tui.core.errors import DatasetError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes import compaction, known, tables
from noeira_tui.episodes.compaction import compact_small_files
from noeira_tui.episodes.ingest import ingest
from noeira_tui.episodes.known import KnownIds
from noeira_tui.episodes.query import CatalogReader
from noeira_tui.episodes.rows import EpisodeRow, episode_table
from noeira_tui.episodes.tables import EpisodeCatalog, make_catalog, open_catalog
from tests.support.catalog_build import AT, write_catalog
from tests.support.episodes_build import takes, write_v3
from tests.support.unprivileged import ordinary_user
from tests.support.waiting import until

WEEK_S = 7 * 24 * 3600


def row(number: int) -> EpisodeRow:
    digest = f"{number:016x}"
    return EpisodeRow(digest, digest, "/d", "lerobot-v3", None, None, None, 9, 0.3, 30.0, (), 6, 6, "batch", AT, "{}")


def rows(*numbers: int) -> pa.Table:
    return episode_table([row(number) for number in numbers])


def made(uri: str) -> EpisodeCatalog:
    return make_catalog(uri, lambda text: None, CancelToken())


def ids(catalog: Path | str) -> list[str]:
    dataset = open_catalog(str(catalog)).episodes.to_pyarrow_dataset()
    return sorted(dataset.to_table(columns=["episode_id"])["episode_id"].to_pylist())


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store that refuses the second conditional PUT of a key. In a process of its own: the table library keeps other
    threads of this one waiting while it waits for an answer."""
    log = tmp_path_factory.mktemp("moto") / "log"
    command = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as stream:
        server = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        until(lambda: "http://" in log.read_text(), deadline_s=30)
        found = re.search(r"http://[\d.]+:\d+", log.read_text())
        assert found is not None
        yield found[0]
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path / "catalog")
    import boto3

    endpoint = request.getfixturevalue("moto")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="adding")
    return f"s3://adding/{tmp_path.name}"


def test_a_commit_on_what_was_not_compared_with_is_refused(place: str) -> None:
    first, second = KnownIds(made(place).episodes), KnownIds(made(place).episodes)
    assert first.append(rows(1, 2))
    assert not second.append(rows(3))
    assert len(ids(place)) == 2
    # Nothing is appended either before those that came were compared with.
    assert not second.append(rows(3))
    second.refresh()
    assert second.lacking([row(2).episode_id, row(3).episode_id]) == (row(3).episode_id,)
    assert second.append(rows(3))
    assert ids(place) == [row(number).episode_id for number in (1, 2, 3)]


def test_a_commit_in_the_very_moment_of_another_is_refused(place: str) -> None:
    """Behind the look for newer versions there is the store, which keeps the first of two."""
    one, other = made(place), made(place)
    two = [KnownIds(one.episodes), KnownIds(other.episodes)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, place, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    told = [json.loads(writer.communicate(b"go\n")[0]) for writer in writers]
    two[0].refresh()
    assert len(two[0].numbers) == sum(told) == len(ids(place))


TOGETHER = """
import json, sys
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.known import KnownIds
from noeira_tui.episodes.tables import open_catalog
from tests.episodes.test_adding import rows
known = KnownIds(open_catalog(sys.argv[1]).episodes)
print("ready", flush=True)
sys.stdin.readline()
added = 0
for number in range(20):
    known.refresh()
    added += known.append(rows(100 * int(sys.argv[2]) + number))
print(json.dumps(added))
"""


def test_all_of_a_hash_is_compared(tmp_path: Path) -> None:
    found = KnownIds(made(str(tmp_path)).episodes)
    near = [f"{(7 << 60) + end:016x}" for end in (0, 1, 2)]
    found.append(rows(int(near[1], 16)))
    assert found.lacking(near) == (near[0], near[2])
    assert found.lacking([]) == ()


def test_only_the_files_that_came_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = known._numbers

    def counted(dataset: Any, files: frozenset[str], scorer: str | None) -> Any:
        read.append(len(files))
        return whole(dataset, files, scorer)

    monkeypatch.setattr(known, "_numbers", counted)
    mine, other = KnownIds(made(str(tmp_path)).episodes), KnownIds(made(str(tmp_path)).episodes)
    for number in range(3):
        mine.refresh()
        mine.append(rows(number))
    assert read == []
    other.refresh()
    mine.append(rows(3))
    other.refresh()
    other.refresh()
    assert read == [3, 1]
    assert len(other.numbers) == 4


def test_what_is_told_of_an_episode_whose_commit_got_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = write_v3(tmp_path / "cubes", takes(12))
    write = deltalake.write_deltalake

    def unanswered(table: deltalake.DeltaTable, data: pa.Table, **more: Any) -> None:
        write(deltalake.DeltaTable(table.table_uri), data, **more)
        raise CommitFailedError("the connection broke")

    monkeypatch.setattr(deltalake, "write_deltalake", unanswered)
    outcome = ingest([str(dataset)], catalog=str(tmp_path / "c"))
    assert (outcome.ingested, outcome.skipped, outcome.failed) == (12, 0, 0)
    assert outcome.frames == sum(one.length for one in takes(12))
    assert ids(tmp_path / "c") == sorted(one.digest for one in takes(12))


def test_a_commit_that_fails_by_itself_is_no_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise CommitFailedError("No space left on device (os error 28)")

    monkeypatch.setattr(deltalake, "write_deltalake", failing)
    with pytest.raises(DatasetError, match="No space left"):
        made(str(tmp_path)).add([row(1)], [], CancelToken())


HAMMER = """
import json, random, sys
from noeira_tui.episodes import commits, compaction, tables
from noeira_tui.episodes.ingest import ingest
commits.BATCH_EPISODES = 2
tables.SMALL_FILES = compaction.SMALL_FILES = 4
uris = sys.argv[3:]
random.Random(sys.argv[2]).shuffle(uris)
outcome = ingest(uris, catalog=sys.argv[1])
print(json.dumps([outcome.ingested, outcome.skipped, outcome.failed, outcome.frames]))
"""


def test_processes_that_add_and_compact_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    datasets = [write_v3(tmp_path / f"d{number}", takes(8, seed=number)) for number in range(4)]
    command = [sys.executable, "-c", HAMMER, str(tmp_path / "c")]
    processes = [
        subprocess.Popen([*command, str(number), *map(str, datasets)], stdout=subprocess.PIPE) for number in range(4)
    ]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    expected = [one for number in range(4) for one in takes(8, seed=number)]
    assert ids(tmp_path / "c") == sorted(one.digest for one in expected)
    assert [sum(column) for column in zip(*told, strict=True)][2:] == [0, sum(one.length for one in expected)]
    assert sum(one[0] for one in told) == len(expected)
    assert {one[0] + one[1] for one in told} == {len(expected)}
    scores = polars.read_delta(str(tmp_path / "c" / "quality_scores"))["episode_id"].to_list()
    assert Counter(scores) == dict.fromkeys((one.digest for one in expected), 1)
    assert any(name.startswith("part-compacted") for name in files_of(open_catalog(str(tmp_path / "c")).episodes))


def files_of(table: deltalake.DeltaTable) -> list[str]:
    return [Path(uri).name for uri in table.file_uris()]


def test_many_small_files_become_few_and_no_row_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_catalog(tmp_path / "plain", 60)
    monkeypatch.setattr(tables, "SMALL_FILES", 8)
    monkeypatch.setattr(compaction, "SMALL_FILES", 8)
    write_catalog(tmp_path / "c", 60, batch=3)
    found = open_catalog(str(tmp_path / "c"))
    assert len(found.episodes.file_uris()) < 8
    assert len(found.scores.file_uris()) < 8
    assert len(found.known("noeira-1").settled) == 59
    with CatalogReader(str(tmp_path / "plain")) as plain, CatalogReader(str(tmp_path / "c")) as compacted:
        assert compacted.episodes() == plain.episodes()
        before = plain.query("SELECT * FROM quality_scores ORDER BY episode_id")
        assert compacted.query("SELECT * FROM quality_scores ORDER BY episode_id") == before
    assert polars.read_delta(str(tmp_path / "c" / "episodes")).height == 60


def test_who_reads_goes_on_while_files_are_put_together(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    adding = KnownIds(made(place).episodes)
    for number in range(6):
        assert adding.append(rows(number))
    reading, other = open_catalog(place).episodes, open_catalog(place).episodes
    assert compact_small_files(other)
    assert not compact_small_files(other)
    assert reading.to_pyarrow_dataset().count_rows() == 6
    assert not adding.append(rows(7))
    adding.refresh()
    assert (adding.files, len(adding.numbers)) == (1, 6)
    assert adding.append(rows(7))
    assert len(ids(place)) == 7


def test_files_of_nobody_go_after_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    write_catalog(tmp_path, 30, batch=3)
    table = open_catalog(str(tmp_path)).episodes
    parts = files_of(table)
    folder = tmp_path / "episodes"
    lost, young = folder / "part-of-a-killed-ingest.parquet", folder / "part-being-written.parquet"
    for orphan in (lost, young):
        orphan.write_bytes((folder / parts[0]).read_bytes())
    old = lost.stat().st_mtime - 2 * WEEK_S
    for path in (lost, *(folder / part for part in parts)):
        os.utime(path, (old, old))
    assert compact_small_files(table)
    assert not lost.exists()
    assert young.exists()
    # A week from when they were put together: somebody may still be reading them.
    assert all((folder / part).exists() for part in parts)
    assert table.to_pyarrow_dataset().count_rows() == 30


@pytest.mark.parametrize("what", ["writing", "removing"])
def test_what_was_added_stays_when_files_cannot_be_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    monkeypatch.setattr(compaction, "_TARGET_BYTES", 20_000)
    write_catalog(tmp_path, 30, batch=3)
    real, written = compaction._together, list[str]()

    def full(dataset: object, parts: object, path: str) -> object:
        written.append(path)
        made = real(dataset, parts, path)  # type: ignore[arg-type]  # as it came
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        return made

    def refused(table: object, **options: object) -> list[str]:
        raise deltalake.exceptions.DeltaError("no permission to remove anything")

    if what == "writing":
        monkeypatch.setattr(compaction, "_together", full)
    else:
        monkeypatch.setattr(deltalake.DeltaTable, "vacuum", refused)
    monkeypatch.setattr(tables, "SMALL_FILES", 5)
    said: list[str] = []
    catalog = tables.make_catalog(str(tmp_path), said.append, CancelToken())
    catalog.known("noeira-1")
    assert catalog.add([row(7)], [], CancelToken()) == {row(7).episode_id}
    assert len(said) == 1
    assert "small files could not be put together: no" in said[0].lower()
    assert len(ids(str(tmp_path))) == 31
    if what == "writing":
        assert len(written) == 2
        assert not list(tmp_path.rglob("part-compacted-*"))
    # Later it goes well.
    monkeypatch.undo()
    monkeypatch.setattr(compaction, "SMALL_FILES", 2)
    compact_small_files(catalog.episodes)
    assert len(ids(str(tmp_path))) == 31


def test_a_catalog_that_may_only_be_read_is_read_and_told_so_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    with ordinary_user() as folder:
        made(str(folder)).add([row(1)], [], CancelToken())
        folders = [folder / name for name in ("episodes", "episodes/_delta_log", "quality_scores", ".")]
        for one in folders:
            one.chmod(0o500)
        catalog = made(str(folder))
        assert catalog.add([row(1)], [], CancelToken()) == frozenset()
        with pytest.raises(DatasetError, match="episodes may not be written"):
            catalog.add([row(2)], [], CancelToken())
        with CatalogReader(str(folder)) as reader:
            assert [one.episode_id for one in reader.episodes()] == [row(1).episode_id]
        for one in reversed(folders):
            one.chmod(0o700)
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("off_s", [-8 * 24 * 3600, 0, 8 * 24 * 3600])
def test_a_box_whose_clock_is_wrong_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off_s: float
) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    write_catalog(tmp_path, 30, batch=3)
    table = open_catalog(str(tmp_path)).episodes
    old = tmp_path / "episodes" / "part-of-nobody.parquet"
    old.write_bytes((tmp_path / "episodes" / files_of(table)[0]).read_bytes())
    os.utime(old, (old.stat().st_mtime - 2 * WEEK_S,) * 2)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + off_s)
    assert compact_small_files(table)
    assert len(files_of(table)) == 1
    assert old.exists() == bool(off_s)


def test_of_two_that_put_files_together_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    write_catalog(tmp_path, 30, batch=3)
    both = [open_catalog(str(tmp_path)).episodes for _ in range(2)]
    assert [compact_small_files(table) for table in both] == [True, False]
    assert [len(table.file_uris()) for table in both] == [1, 1]
    assert both[1].to_pyarrow_dataset().count_rows() == 30


def test_files_are_put_together_in_the_moment_of_an_addition_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES", 5)
    write_catalog(tmp_path, 30, batch=3)
    adding, table = KnownIds(open_catalog(str(tmp_path)).episodes), open_catalog(str(tmp_path)).episodes
    adding.refresh()
    assert adding.append(rows(7))
    assert not compact_small_files(table)
    assert table.to_pyarrow_dataset().count_rows() == 31
    assert compact_small_files(table)
    assert table.to_pyarrow_dataset().count_rows() == 31


def test_episodes_of_a_folder_that_was_told_by_its_address_are_of_the_folder(tmp_path: Path) -> None:
    made(str(tmp_path)).add([row(1), replace(row(2), source_uri="file:///d")], [], CancelToken())
    with CatalogReader(str(tmp_path)) as reader:
        assert len(reader.episodes(source_uri="/d")) == len(reader.episodes(source_uri="file:///d/")) == 2
        assert reader.stats().sources == 1
