"""The inspector's functions: page by page, cancelled, from several threads; and the parts they stand on."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.errors import CancelledError, DatasetError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.datasets.lerobot.layout import fill
from noeira_tui.datasets.localstore import LocalStore
from noeira_tui.datasets.rangefile import RangeFile, join_ranges
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.store import Piece, Traffic
from tests.support.datasets_http import FileServer, serving
from tests.support.waiting import until


def test_everything_once(made: Path) -> None:
    with Inspector(str(made / "v3")) as inspector:
        assert inspector.problems() == ()
        assert inspector.cost.requests == 0
        info = inspector.summary()
        assert (info.num_episodes, info.cost.requests) == (100, 2)
        assert [episode.index for episode in inspector.page(95, 20)] == [95, 96, 97, 98, 99]
        assert inspector.page(500, 20) == ()
        histogram = inspector.histogram(7)
        assert sum(histogram.counts) == 100
        assert histogram.edges[0] == 120.0
        assert histogram.edges[-1] == 126.0
        assert {one.name for one in inspector.stats()} == {"observation.state"}
        assert (inspector.cost.files_checked, inspector.cost.files_to_check) == (0, 0)
        assert inspector.deepen() == ()
        assert inspector.cost.files_checked == inspector.cost.files_to_check > 0
        before = inspector.cost
        inspector.summary()
        inspector.page(0, 50)
        inspector.histogram(7)
        inspector.stats()
        assert inspector.cost == before, "what was read once is remembered"
        with pytest.raises(DatasetError, match="no episode 100"):
            inspector.series(100)
        with pytest.raises(DatasetError, match="no camera"):
            inspector.picture(0, "nothing", 0.0)


def test_rows_that_differ_in_length_are_told_also_where_they_would_fill_a_table(made: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(made / "v3", tmp_path / "v3"))
    path = next((root / "data").rglob("*.parquet"))
    table = pq.read_table(path)
    values = pa.array([[0.0], [1.0, 2.0, 3.0], *([[4.0, 5.0]] * (table.num_rows - 2))])
    pq.write_table(table.set_column(table.column_names.index("observation.state"), "observation.state", values), path)
    with Inspector(str(root)) as inspector, pytest.raises(DatasetError, match="same number of values in every row"):
        inspector.series(0)


class Slow(FileServer):
    """Holds back data files until it is let go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.held = threading.Event()
        self.go = threading.Event()

    def serve(self, handler: object, path: str, span: str) -> None:
        if "/data/chunk" in path and span:
            self.held.set()
            self.go.wait(20)
        super().serve(handler, path, span)  # type: ignore[arg-type]


def test_moving_on_cancels_what_is_no_longer_wanted(made: Path) -> None:
    with serving(made, Slow) as server:
        assert isinstance(server, Slow)
        with Inspector(f"{server.url}/small") as inspector:
            inspector.episodes()
            token, ended = CancelToken(), list[object]()

            def plot() -> None:
                try:
                    ended.append(inspector.series(1, token))
                except CancelledError as err:
                    ended.append(err)

            thread = threading.Thread(target=plot)
            thread.start()
            assert server.held.wait(10)
            token.cancel()
            until(lambda: ended, deadline_s=5, what="the cancelled plot's end")
            assert isinstance(ended[0], CancelledError)
            thread.join(5)
            server.go.set()
            series = inspector.series(2)
            assert series.state is not None
            assert len(series.state) == 42


def test_the_work_that_opened_an_archive_may_be_cancelled_afterwards(made: Path, tmp_path: Path) -> None:
    import shutil

    shutil.make_archive(str(tmp_path / "small"), "zip", made / "small")
    with Inspector(str(tmp_path / "small.zip")) as inspector:
        token = CancelToken()
        inspector.summary(token)
        token.cancel()
        assert len(inspector.page(0, 9)) == 5
        series = inspector.series(1)
        assert series.state is not None


def test_a_wait_for_another_read_can_be_cancelled(made: Path) -> None:
    with serving(made, Slow) as server:
        assert isinstance(server, Slow)
        with Inspector(f"{server.url}/small") as inspector:
            inspector.episodes()
            first = threading.Thread(target=lambda: inspector.series(1))
            first.start()
            assert server.held.wait(10)
            token = CancelToken()
            token.cancel()
            with pytest.raises(CancelledError):
                inspector.series(2, token)
            server.go.set()
            first.join(10)
            assert not first.is_alive()


def test_a_hundred_thousand_episodes_are_paged_at_once(tmp_path: Path) -> None:
    import json
    import time

    count = 100_000
    (tmp_path / "meta/episodes/chunk-000").mkdir(parents=True)
    info = {"codebase_version": "v3.0", "total_episodes": count, "total_frames": 10 * count, "fps": 10}
    paths = {"data_path": "data/{chunk_index:03d}-{file_index:03d}.parquet", "features": {}}
    (tmp_path / "meta/info.json").write_text(json.dumps(info | paths))
    zeros = pa.array([0] * count)
    table = {
        "episode_index": pa.array(range(count)),
        "length": pa.array([10] * count),
        "tasks": pa.array([["a task"]] * count),
        "data/chunk_index": zeros,
        "data/file_index": zeros,
    }
    pq.write_table(pa.table(table), tmp_path / "meta/episodes/chunk-000/file-000.parquet")
    with Inspector(str(tmp_path)) as inspector:
        assert len(inspector.episodes()) == count
        began = time.perf_counter()
        for offset in range(0, count, 1000):
            assert inspector.page(offset, 40)[0].index == offset
        assert time.perf_counter() - began < 1.0, "a hundred pages of forty"


ranges = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60)).map(lambda r: (r[0], r[0] + r[1])), max_size=12)


@given(ranges, st.floats(0, 0.5))
def test_joined_ranges_cover_all_and_waste_little(wanted: list[tuple[int, int]], waste: float) -> None:
    joined = join_ranges(wanted, waste)
    need = {byte for start, stop in wanted for byte in range(start, stop)}
    have = [byte for start, stop in joined for byte in range(start, stop)]
    assert need <= set(have)
    assert len(have) == len(set(have))
    assert len(have) <= len(need) * (1 + waste) + 1e-9
    assert joined == sorted(joined)


@given(ranges, st.lists(st.tuples(st.integers(0, 520), st.integers(-1, 80)), max_size=8), st.integers(0, 50))
def test_a_range_file_reads_like_a_file(kept: list[tuple[int, int]], reads: list[tuple[int, int]], ahead: int) -> None:
    import tempfile

    data = bytes(range(256)) * 2
    with tempfile.NamedTemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        traffic = Traffic()
        source = Source("x", "x", LocalStore(Path(stream.name), traffic), traffic, is_file=True, is_remote=False)
        file = RangeFile(source, "", len(data), read_ahead=ahead)
        for start, stop in kept:
            file.keep(Piece(data[start:stop], start, None))
        for offset, size in reads:
            file.seek(offset)
            assert file.read(size) == (data[offset:] if size < 0 else data[offset : offset + size])
            assert file.tell() == max(offset, min(len(data), offset + size if size >= 0 else len(data)))


@given(st.text(max_size=60))
def test_a_template_names_a_file_inside_or_none(template: str) -> None:
    path = fill(template, {"chunk_index": 0, "file_index": 1, "video_key": "a/../../b", "episode_index": 3})
    assert path is None or (not path.startswith("/") and ".." not in path.split("/") and "\0" not in path)


def test_templates_of_both_generations() -> None:
    assert fill("data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", {"chunk_index": 1, "file_index": 22}) == (
        "data/chunk-001/file-022.parquet"
    )
    values = {"episode_chunk": 0, "episode_index": 7, "video_key": "observation.images.up"}
    assert fill("videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4", values) == (
        "videos/chunk-000/observation.images.up/episode_000007.mp4"
    )
    assert fill("{video_key:03d}", {"video_key": "x"}) is None
    assert fill("{missing}", {}) is None
