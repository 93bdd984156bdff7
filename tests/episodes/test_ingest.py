"""Ingest registers and scores every episode once, whatever happens in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars
import pyarrow as pa
import pytest

from noeira_tui.core.errors import CancelledError, ConfigError, DatasetError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.store import FileMark
from noeira_tui.episodes import commits, tables
from noeira_tui.episodes import ingest as ingest_module
from noeira_tui.episodes.facts import EpisodeInfo, Ingested
from noeira_tui.episodes.ingest import ingest
from noeira_tui.episodes.place import name_of, open_place
from noeira_tui.episodes.query import CatalogReader
from noeira_tui.episodes.tables import EpisodeCatalog, make_catalog, open_catalog
from tests.support.datasets_http import serving
from tests.support.episodes_build import Take, takes, write_info, write_v3, write_v21, write_zarr, zarr_digest
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def old_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were just written count as settled: the tests need not wait a tick of the clock."""
    monkeypatch.setattr("noeira_tui.datasets.localstore._TICK_NS", -1)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve episodes; it is not to be changed."""
    return write_v3(tmp_path_factory.mktemp("made") / "cubes", takes(12), cuts=(200,))


def listed(catalog: Path | str) -> tuple[EpisodeInfo, ...]:
    with CatalogReader(str(catalog)) as reader:
        return reader.episodes()


def counted(outcome: Ingested) -> tuple[int, int, int]:
    return outcome.ingested, outcome.skipped, outcome.failed


def rows(catalog: Path | str, table: str) -> pa.Table:
    opened = open_catalog(str(catalog))
    found = opened.episodes if table == "episodes" else opened.scores
    return found.to_pyarrow_dataset().to_table()


EPISODE_COLUMNS = """
    episode_id content_hash source_uri source_format robot task language_instruction num_frames duration_s fps cameras
    state_dim action_dim ingest_batch_id ingested_at extra
"""
SCORE_COLUMNS = """
    episode_id scorer_version overall_score dead_fraction ldlj sparc gripper_chatter_rate joint_path_length
    overall_saturation static_fraction mean_entropy psd_high_fraction state_action_consistency jitter_ratio flags
    computed_at
"""


def assert_nothing_is_double(catalog: Path | str) -> None:
    for table in ("episodes", "quality_scores"):
        counts = Counter(rows(catalog, table)["episode_id"].to_pylist())
        assert not [name for name, count in counts.items() if count > 1], table


def versions(catalog: Path) -> tuple[int, int]:
    opened = open_catalog(str(catalog))
    return opened.episodes.version(), opened.scores.version()


def test_every_episode_is_registered_with_its_score(dataset: Path, tmp_path: Path) -> None:
    outcome = ingest([str(dataset)], catalog=str(tmp_path / "c"))
    episodes = takes(12)
    assert counted(outcome) == (12, 0, 0)
    assert outcome.frames == sum(one.length for one in episodes)
    found = {one.episode_index: one for one in listed(tmp_path / "c")}
    assert {index: one.episode_id for index, one in found.items()} == {one.index: one.digest for one in episodes}
    one = found[3]
    assert (one.content_hash, one.source_uri, one.source_format) == (one.episode_id, str(dataset), "lerobot-v3")
    assert (one.robot, one.task, one.language_instruction) == ("so101_follower", "push the cube", "push the cube")
    assert (one.num_frames, one.fps, one.state_dim, one.action_dim) == (43, 30.0, 4, 4)
    assert one.duration_s == pytest.approx(43 / 30)
    assert one.overall_score is not None and 0 < one.overall_score <= 10
    assert one.metrics.ldlj is not None and one.metrics.jitter_ratio is not None


def test_the_tables_have_exactly_the_columns_of_the_contract(dataset: Path, tmp_path: Path) -> None:
    ingest([str(dataset)], catalog=str(tmp_path))
    assert rows(tmp_path, "episodes").column_names == EPISODE_COLUMNS.split()
    assert rows(tmp_path, "quality_scores").column_names == SCORE_COLUMNS.split()


def test_another_engine_reads_the_tables(dataset: Path, tmp_path: Path) -> None:
    ingest([str(dataset)], catalog=str(tmp_path))
    episodes = polars.read_delta(str(tmp_path / "episodes"))
    scores = polars.read_delta(str(tmp_path / "quality_scores"))
    joined = episodes.join(scores, on="episode_id")
    assert joined.height == 12
    assert joined["overall_score"].min() > 0  # type: ignore[operator]
    assert joined.schema["flags"] == polars.List(polars.String)


def test_again_reads_nothing_and_commits_nothing(dataset: Path, tmp_path: Path) -> None:
    ingest([str(dataset)], catalog=str(tmp_path))
    before = versions(tmp_path)
    again = ingest([str(dataset), f"{dataset}/"], catalog=str(tmp_path))
    assert counted(again) == (0, 12, 0)
    assert again.bytes_read == 0
    assert versions(tmp_path) == before


@pytest.mark.parametrize("make", [write_v3, write_v21, lambda to, some: write_zarr(to, some, generation=3)])
def test_touched_files_are_read_once_more_and_nothing_is_committed(
    tmp_path: Path, make: Callable[[Path, list[Take]], Path]
) -> None:
    made, catalog = make(tmp_path / "a.zarr", takes(4)), tmp_path / "c"
    first = ingest([str(made)], catalog=str(catalog))
    before = versions(catalog)
    for path in made.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    touched = ingest([str(made)], catalog=str(catalog))
    assert counted(touched) == (0, 4, 0)
    assert 0 < touched.bytes_read <= first.bytes_read
    assert versions(catalog) == before
    assert ingest([str(made)], catalog=str(catalog)).bytes_read == 0


def test_of_a_recording_that_grew_only_the_new_files_are_read(tmp_path: Path) -> None:
    def written(count: int) -> Path:
        some = takes(count, 400)
        for number, one in enumerate(some):
            folder = tmp_path / "parts" / str(number)
            if not folder.exists():
                write_v3(folder, [one])
        write_v3(tmp_path / "new", some, data_files=range(count))
        shutil.rmtree(tmp_path / "new" / "data")
        data = tmp_path / "new" / "data" / "chunk-000"
        data.mkdir(parents=True)
        for number in range(count):
            origin = tmp_path / "parts" / str(number) / "data" / "chunk-000" / "file-000.parquet"
            shutil.copy2(origin, data / f"file-{number:03d}.parquet")
        return tmp_path / "new"

    catalog = str(tmp_path / "c")
    whole = ingest([str(written(10))], catalog=catalog)
    more = ingest([str(written(11))], catalog=catalog)
    assert (counted(whole), counted(more)) == ((10, 0, 0), (1, 10, 0))
    assert more.bytes_read < whole.bytes_read / 2
    assert len(listed(catalog)) == 11


def test_what_was_remembered_for_another_catalog_or_scorer_does_not_count(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([str(dataset)], catalog=str(tmp_path / "a"))
    shutil.copytree(tmp_path / "a" / "sources", tmp_path / "b" / "sources")
    assert counted(ingest([str(dataset)], catalog=str(tmp_path / "b"))) == (12, 0, 0)
    monkeypatch.setattr("noeira_tui.episodes.score.SCORER_VERSION", "noeira-next")
    assert counted(ingest([str(dataset)], catalog=str(tmp_path / "a"))) == (0, 12, 0)
    scores = rows(tmp_path / "a", "quality_scores")
    assert Counter(scores["scorer_version"].to_pylist()) == {"noeira-1": 12, "noeira-next": 12}
    assert {one.scorer_version for one in listed(tmp_path / "a")} == {"noeira-next"}
    assert len(listed(tmp_path / "a")) == 12


def test_a_folder_and_its_address_are_one_source(dataset: Path, tmp_path: Path) -> None:
    ingest([f"file://{dataset}/"], catalog=f"file://{tmp_path}/c")
    assert {one.source_uri for one in listed(tmp_path / "c")} == {str(dataset)}
    again = ingest([str(dataset), f"file://localhost{dataset}"], catalog=str(tmp_path / "c"))
    assert (counted(again), again.bytes_read) == ((0, 12, 0), 0)
    assert len(list((tmp_path / "c" / "sources").iterdir())) == 1


def test_what_was_remembered_of_a_folder_by_its_address_counts(dataset: Path, tmp_path: Path) -> None:
    ingest([str(dataset)], catalog=str(tmp_path))
    (kept,) = (tmp_path / "sources").iterdir()
    told = json.loads(kept.read_text())
    former = f"file://{dataset}"
    (tmp_path / "sources" / f"{name_of(told['host'], former)}.json").write_text(json.dumps(told | {"uri": former}))
    kept.unlink()
    again = ingest([str(dataset)], catalog=str(tmp_path))
    assert (counted(again), again.bytes_read) == ((0, 12, 0), 0)


def test_local_and_streamed_are_the_same_rows_and_the_second_is_skipped(dataset: Path, tmp_path: Path) -> None:
    def comparable(catalog: Path) -> list[EpisodeInfo]:
        return sorted(
            (replace(one, source_uri="", ingested_at="") for one in listed(catalog)), key=lambda one: one.episode_id
        )

    ingest([str(dataset)], catalog=str(tmp_path / "local"))
    with serving(dataset) as server:
        ingest([server.url], catalog=str(tmp_path / "streamed"))
        assert comparable(tmp_path / "local") == comparable(tmp_path / "streamed")
        second = ingest([server.url], catalog=str(tmp_path / "local"))
        assert counted(second) == (0, 12, 0)
        assert second.bytes_read > 0
        assert len(listed(tmp_path / "local")) == 12


def test_a_server_that_tells_nothing_of_changes_is_read_again(dataset: Path, tmp_path: Path) -> None:
    with serving(dataset) as server:
        first = ingest([server.url], catalog=str(tmp_path))
        again = ingest([server.url], catalog=str(tmp_path))
    assert counted(first) == (12, 0, 0)
    assert counted(again) == (0, 12, 0)
    assert again.bytes_read > 0


def test_memory_addresses_are_ingested_with_processes_too(dataset: Path, tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(dataset), "/cubes", recursive=True)
    try:
        outcome = ingest(["memory://cubes"], catalog=str(tmp_path), workers=2)
        assert counted(outcome) == (12, 0, 0)
        assert ingest(["memory://cubes"], catalog=str(tmp_path)).bytes_read == 0
    finally:
        memory.rm("/cubes", recursive=True)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_are_ingested_in_place_and_remembered(tmp_path: Path, kind: str) -> None:
    made = write_zarr(tmp_path / "cubes.zarr", takes(4), generation=2)
    archive = shutil.make_archive(str(made), kind, made)
    outcome = ingest([archive], catalog=str(tmp_path / "c"), workers=2)
    assert counted(outcome) == (4, 0, 0)
    assert {one.episode_id for one in listed(tmp_path / "c")} == {zarr_digest(one) for one in takes(4)}
    again = ingest([archive], catalog=str(tmp_path / "c"))
    assert (counted(again), again.bytes_read) == ((0, 4, 0), 0)


def test_failures_are_listed_and_the_others_go_on(tmp_path: Path) -> None:
    bad = write_v21(tmp_path / "bad", takes(5))
    (bad / "data" / "chunk-000" / "episode_000002.parquet").write_bytes(b"PAR1 cut short")
    good = write_v3(tmp_path / "good", takes(3, seed=1))
    outcome = ingest([str(bad), str(tmp_path / "nothing"), str(good)], catalog=str(tmp_path / "c"))
    assert counted(outcome) == (7, 0, 2)
    assert {(Path(one.uri).name, one.episode) for one in outcome.failures} == {("bad", 2), ("nothing", None)}
    again = ingest([str(bad)], catalog=str(tmp_path / "c"))
    assert counted(again) == (0, 4, 1)
    shutil.rmtree(bad)
    write_v21(bad, takes(5))
    assert counted(ingest([str(bad)], catalog=str(tmp_path / "c"))) == (1, 4, 0)


def test_a_folder_whose_name_is_not_utf8_is_a_failure_and_the_others_go_on(tmp_path: Path) -> None:
    odd = write_v3(tmp_path / "odd", takes(2)).rename(tmp_path / os.fsdecode(b"odd\xff"))
    good = write_v3(tmp_path / "good", takes(3, seed=1))
    outcome = ingest([str(odd), str(good)], catalog=str(tmp_path / "c"), is_alone=True)
    assert counted(outcome) == (3, 0, 1)
    assert (outcome.failures[0].uri, "not UTF-8" in outcome.failures[0].error) == (str(odd), True)


def test_flags_and_reasons_of_what_is_wrong_with_the_frames(tmp_path: Path) -> None:
    episodes = takes(3)
    late = episodes[1].times.copy()
    late[20:] += 1.0
    write_v3(tmp_path / "a", [episodes[0], replace(episodes[1], times=late), episodes[2]])
    ingest([str(tmp_path / "a")], catalog=str(tmp_path / "c"))
    with CatalogReader(str(tmp_path / "c")) as reader:
        flagged = reader.episodes(flag="timestamp_jump", source_uri=str(tmp_path / "a"), limit=5)
        assert not reader.episodes(flag="timestamp_jump", source_uri="elsewhere")
    assert [one.episode_index for one in flagged] == [1]
    assert flagged[0].reason("timestamp_jump") == flagged[0].reasons["timestamp_jump"]
    assert flagged[0].reason("jerky").startswith("ldlj ")
    assert flagged[0].reason("of another version") == "of another version"
    assert flagged[0].reasons == {"timestamp_jump": "after frame 19 the time goes on by 1.033 s, 0.033 s are due"}


def test_the_same_episode_twice_in_one_ingest_is_registered_once(tmp_path: Path) -> None:
    some = takes(4)
    write_v3(tmp_path / "a", some)
    write_v21(tmp_path / "b", [replace(one, index=3 - one.index) for one in some])
    outcome = ingest([str(tmp_path / "a"), str(tmp_path / "b")], catalog=str(tmp_path / "c"))
    assert counted(outcome) == (4, 4, 0)
    assert_nothing_is_double(tmp_path / "c")


def test_scores_without_an_episode_are_ignored_and_used_later(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = EpisodeCatalog.add
    monkeypatch.setattr(EpisodeCatalog, "add", lambda self, episodes, scores, cancel: whole(self, (), scores, cancel))
    ingest([str(dataset)], catalog=str(tmp_path))
    monkeypatch.undo()
    (marker,) = (tmp_path / "sources").iterdir()
    marker.unlink()
    assert rows(tmp_path, "quality_scores").num_rows == 12
    with CatalogReader(str(tmp_path)) as reader:
        assert reader.episodes() == ()
        assert reader.query("SELECT count(*) FROM latest_scores").rows == ((0,),)
    assert counted(ingest([str(dataset)], catalog=str(tmp_path))) == (12, 0, 0)
    assert_nothing_is_double(tmp_path)
    assert len(listed(tmp_path)) == 12


def test_many_at_once_double_nothing(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "BATCH_EPISODES", 3)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: ingest([str(dataset)], catalog=str(tmp_path)), range(4)))
    assert sum(one.ingested for one in outcomes) == 12
    assert sum(one.frames for one in outcomes) == sum(one.length for one in takes(12))
    assert_nothing_is_double(tmp_path)
    assert len(listed(tmp_path)) == 12


KILLED = """
import sys
from noeira_tui.episodes import commits, compaction, tables
from noeira_tui.episodes.ingest import ingest
commits.BATCH_EPISODES = 2
tables.SMALL_FILES = compaction.SMALL_FILES = 3
ingest(sys.argv[2:], catalog=sys.argv[1])
"""


def test_killed_at_any_moment_leaves_whole_batches(tmp_path: Path) -> None:
    made = [write_v3(tmp_path / f"d{number}", takes(2, seed=number)) for number in range(10)]
    catalog = tmp_path / "c"
    make_catalog(str(catalog), lambda text: None, CancelToken())
    for table, more in (("quality_scores", 1), ("episodes", 1), ("quality_scores", 2)):
        log = catalog / table / "_delta_log"
        enough = len(list(log.iterdir())) + more
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(catalog), *map(str, made)])
        until(lambda log=log, enough=enough: len(list(log.iterdir())) >= enough, every_s=0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        there = {one.episode_id for one in listed(catalog)}
        assert len(there) % 2 == 0
        assert len(there) < 20
        assert there <= set(rows(catalog, "quality_scores")["episode_id"].to_pylist())
    assert ingest([str(one) for one in made], catalog=str(catalog)).failed == 0
    expected = {one.digest for number in range(10) for one in takes(2, seed=number)}
    assert {one.episode_id for one in listed(catalog)} == expected
    assert_nothing_is_double(catalog)


def test_cancelled_work_is_resumed(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "BATCH_EPISODES", 4)
    monkeypatch.setattr(ingest_module, "_LOOK_EVERY_S", 0.01)
    cancel = CancelToken()
    add = EpisodeCatalog.add

    def add_then_cancel(self: EpisodeCatalog, *arguments: object) -> int:
        added = add(self, *arguments)  # type: ignore[arg-type]
        cancel.cancel()
        return added

    more = write_v3(tmp_path / "more", takes(6, seed=3))
    with monkeypatch.context() as patched:
        patched.setattr(EpisodeCatalog, "add", add_then_cancel)
        with pytest.raises(CancelledError):
            ingest([str(dataset), str(more)], catalog=str(tmp_path / "c"), cancel=cancel)
    first = len(listed(tmp_path / "c"))
    assert 0 < first < 18
    outcome = ingest([str(dataset), str(more)], catalog=str(tmp_path / "c"))
    assert counted(outcome) == (18 - first, first, 0)


def test_progress_tells_episodes_and_bytes(dataset: Path, tmp_path: Path) -> None:
    progress = Progress()
    outcome = ingest([str(dataset)], catalog=str(tmp_path), progress=progress)
    now = progress.snapshot()
    assert (now.items_done, now.items_total) == (12, 12)
    assert now.bytes_done == outcome.bytes_read > 0


def test_a_place_that_is_no_catalog(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file"):
        ingest([], catalog=str(tmp_path / "file"))
    for address in ("hf://datasets/o/r", "az://container/episodes", "abfss://c@account/episodes"):
        with pytest.raises(ConfigError, match=f"cannot be kept at {address.split(':')[0]}://"):
            ingest([], catalog=address)
    assert open_place("gcs://bucket/episodes/").uri == "gs://bucket/episodes"
    with pytest.raises(ConfigError, match="no catalog"):
        CatalogReader(str(tmp_path / "nothing"))
    ingest([], catalog=str(tmp_path / "c"))
    (tmp_path / "c" / "catalog.json").write_text("{")
    with pytest.raises(DatasetError, match=r"catalog\.json"):
        ingest([], catalog=str(tmp_path / "c"))
    (tmp_path / "c" / "catalog.json").write_text('{"layout": 9, "needs_lease": false}')
    with pytest.raises(DatasetError, match="newer version"):
        ingest([], catalog=str(tmp_path / "c"))


def test_rates_that_are_not_told_are_30(tmp_path: Path) -> None:
    some = takes(2)
    made = write_v3(tmp_path / "a", some)
    write_info(made, some, "v3.0", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", fps=None)
    ingest([str(made)], catalog=str(tmp_path / "c"))
    assert {one.fps for one in listed(tmp_path / "c")} == {30.0}


def test_a_chunk_that_comes_later_is_read(tmp_path: Path) -> None:
    store = write_zarr(tmp_path / "a.zarr", takes(9), generation=2)
    chunk = store / "data" / "state" / "4.0"
    chunk.rename(tmp_path / "later")
    catalog = str(tmp_path / "catalog")
    assert counted(ingest([str(store)], catalog=catalog)) == (9, 0, 0)
    flagged = [one for one in listed(catalog) if "missing_chunk" in one.flags]
    assert flagged
    assert "data/state/4.0 is not in the store" in flagged[0].reason("missing_chunk")
    again = ingest([str(store)], catalog=catalog)
    assert (counted(again), again.bytes_read) == ((0, 9, 0), 0)
    (tmp_path / "later").rename(chunk)
    assert counted(ingest([str(store)], catalog=catalog)) == (len(flagged), 9 - len(flagged), 0)


def test_what_the_system_said_is_told(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatasetError, match=r"file/catalog.*: Not a directory"):
        ingest([str(dataset)], catalog=str(tmp_path / "file" / "catalog"))
    full = "Generic error\n  \x1b[31m↳\x1b[0m Unable to copy\n  \x1b[31m↳\x1b[0m No space left (os error 28)\n"
    said = {
        full: "No space left",
        "parquet: External: Generic error: Unable to copy: No space left (os error 28)": "No space left",
        'Could not create: /a\nError: Os { code: 30, message: "Read-only file system" }': "Read-only file system",
        "\x1b[31mSomething else.\nMore of it": "Something else",
    }
    assert {text: tables._reason(OSError(text)) for text in said} == said


def test_a_dataset_that_grows_between_its_footers_and_its_marks_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(count: int, at: int) -> None:
        write_v3(tmp_path / "d", takes(count, 20))
        for path in (tmp_path / "d").rglob("*.*"):
            os.utime(path, (at, at))

    real = Source.marks

    def marks(source: Source, paths: Sequence[str]) -> dict[str, FileMark]:
        # The recorder ends an episode in this moment.
        written(5, 1_700_000_100)
        return real(source, paths)

    written(4, 1_700_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(Source, "marks", marks)
        assert ingest([str(tmp_path / "d")], catalog=str(tmp_path / "c")).ingested >= 4
    ingest([str(tmp_path / "d")], catalog=str(tmp_path / "c"))
    with CatalogReader(str(tmp_path / "c")) as reader:
        assert {one.episode_id for one in reader.episodes()} >= {one.digest for one in takes(5, 20)}
