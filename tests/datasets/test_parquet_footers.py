"""Footers of parquet files: told as Arrow tells them, whatever they are of, and never the end of the process."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets import parquetforms, parquetgroups
from noeira_tui.datasets.parquet import ParquetFile, open_parquet
from noeira_tui.datasets.parquetfooter import Footer
from noeira_tui.datasets.parquetthrift import STRUCT, Key, Trace, Wanted, stored_list
from noeira_tui.datasets.proprio import ReadingWishes
from noeira_tui.datasets.registry import open_dataset
from noeira_tui.datasets.source import open_source
from noeira_tui.datasets.store import Piece
from tests.support.datasets_build import write_v3
from tests.support.datasets_stores import SHARED

ROWS = 30


@dataclass(frozen=True)
class Written:
    """A table and how it is written."""

    table: pa.Table
    options: dict[str, Any]


def _table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(rows)
    number = np.arange(rows)
    return pa.table(
        {
            "episode_index": number // 7,
            "small": pa.array(number - 3, pa.int32()),
            "unsigned": pa.array(number, pa.uint64()),
            "as_double": pa.array(number / 1.0),
            "holes": pa.array([None if at % 5 == 0 else at for at in range(rows)], pa.int64()),
            "nothing": pa.array([None] * rows, pa.int64()),
            "odd": pa.array([float("nan") if at % 3 else 1e300 for at in range(rows)]),
            "state": pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=rows * 3).astype(np.float32)), 3),
            "ragged": pa.array([[1.5] * (at % 4) for at in range(rows)], pa.list_(pa.float64())),
            "image": pa.array([{"bytes": b"x" * (at * 9), "path": f"{at}.png"} for at in range(rows)]),
            "task": pa.array([f"task {at % 2}" for at in range(rows)]).dictionary_encode(),
            "when": pa.array(number, pa.timestamp("us")),
            "yes": pa.array((number % 2).astype(bool)),
            "a.dotted": pa.array(number % 100, pa.int8()),
        }
    )


WRITTEN = {
    "one row group": Written(_table(), {}),
    "many row groups, texts of every length": Written(_table(600), {"row_group_size": 1}),
    "no statistics": Written(_table(), {"row_group_size": 7, "write_statistics": False}),
    "dictionaries for some": Written(_table(90), {"row_group_size": 4, "use_dictionary": ["episode_index", "task"]}),
    "second pages": Written(_table(), {"row_group_size": 10, "data_page_version": "2.0", "compression": "zstd"}),
    "no compression, an index of pages": Written(_table(), {"compression": "none", "write_page_index": True}),
    "an old version, no schema of Arrow's": Written(_table(), {"version": "1.0", "store_schema": False}),
    "sorted": Written(_table(), {"sorting_columns": [pq.SortingColumn(0)], "row_group_size": 3}),
    "without rows": Written(_table().slice(0, 0), {}),
    "many alike": Written(_table(700).select(["episode_index", "state"]), {"row_group_size": 1}),
}


@pytest.fixture(params=WRITTEN)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    one = WRITTEN[request.param]
    pq.write_table(one.table, tmp_path / "x.parquet", **one.options)
    return tmp_path / "x.parquet"


def opened(path: Path) -> ParquetFile:
    return open_parquet(open_source(str(path.parent)), path.name)


def chunks(metadata: pq.FileMetaData) -> Iterator[tuple[int, int, Any]]:
    for group in range(metadata.num_row_groups):
        for leaf in range(metadata.num_columns):
            yield group, leaf, metadata.row_group(group).column(leaf)


def compare(path: Path) -> int:
    """Compare a footer with what Arrow says of it; how many statistics were compared."""
    file, metadata = opened(path), pq.read_metadata(path)
    facts = file.footer.facts
    assert facts.rows.tolist() == [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert (file.rows, file.groups) == (metadata.num_rows, metadata.num_row_groups)
    schema = metadata.schema.to_arrow_schema()
    assert file.names == tuple(schema.names)
    assert [file.type_of(name) for name in file.names] == [str(kind) for kind in schema.types]
    spreads = [facts.spread(leaf) for leaf in range(len(facts.schema.leaves))]
    compared = 0
    for group, leaf, chunk in chunks(metadata):
        start = chunk.data_page_offset
        if chunk.dictionary_page_offset:
            start = min(start, chunk.dictionary_page_offset)
        bounds = (facts.starts[group, leaf], facts.stops[group, leaf])
        assert bounds == (start, start + chunk.total_compressed_size)
        one, known, spread = facts.schema.leaves[leaf], chunk.statistics, spreads[leaf]
        assert ".".join(one.path) == chunk.path_in_schema
        if one.column in {"when", "odd"}:
            continue
        is_told = known is not None and known.has_min_max and not known.null_count and one.number_type is not None
        assert (spread is not None and bool(spread.told[group])) == is_told, (one, group)
        if spread is not None and is_told:
            assert (int(known.min), int(known.max)) == (spread.least[group], spread.greatest[group]), one
            compared += 1
    return compared


def test_a_footer_is_told_as_arrow_tells_it(path: Path, request: pytest.FixtureRequest) -> None:
    compared = compare(path)
    has_none = "no statistics" in request.node.name or "without rows" in request.node.name
    assert bool(compared) != has_none
    assert not any(span.least for span in opened(path).spans("odd") if span.least is not None), "no whole number"


def test_some_columns_of_some_row_groups_are_read_as_arrow_reads_them(path: Path) -> None:
    file, arrow = opened(path), pq.ParquetFile(path)
    comparable = [name for name in file.names if name != "odd"]
    assert file.read(file.names).select(comparable).equals(arrow.read(comparable).select(comparable))
    every = [*range(file.groups)]
    for groups in (every[-1:], every[:1], every[::-3], every[2:9]):
        wanted = [name for name in ("state", "episode_index", "task") if name in file.names]
        expected = arrow.read_row_groups(groups, columns=wanted)
        assert file.read(wanted, groups).select(wanted).equals(expected.select(wanted))


def test_a_footer_of_some_row_groups_is_one_of_a_smaller_file(path: Path) -> None:
    file = opened(path)
    groups = [*range(file.groups)][1::2]
    less = pickle.loads(pickle.dumps(file.footer.only(groups)))
    fewer = ParquetFile(open_source(str(path.parent)), path.name, less)
    assert fewer.read(["episode_index"]).equals(file.read(["episode_index"], groups))
    assert file.footer.only([*range(file.groups)]) is file.footer
    if groups:
        assert len(less.piece.data) < len(file.footer.piece.data)
        compared = [file.spans("episode_index")[group] for group in groups]
        assert list(fewer.spans("episode_index")) == compared


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real datasets are not beside the repository")
def test_footers_of_other_peoples_files() -> None:
    paths = sorted(SHARED.rglob("*.parquet"))
    assert len(paths) > 20
    assert sum(compare(path) for path in paths) > 100


def test_row_groups_take_little_memory() -> None:
    """A dozen numbers a column beside the footer itself; Arrow takes kilobytes for each."""
    sink = pa.BufferOutputStream()
    pq.write_table(_table(2_000).select(["episode_index", "small", "state"]), sink, row_group_size=1)
    data = sink.getvalue().to_pybytes()
    footer = Footer(Piece(data, 0, len(data)), len(data))
    tracemalloc.start()
    try:
        assert len(footer.facts.rows) == 2_000
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2_000 * 300 + 100_000


@pytest.mark.parametrize("names", [("episode_index", "state"), ("episode_index", "ragged", "image", "task")])
def test_row_groups_that_are_alike_are_not_walked_field_by_field(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[int] = []

    class Counting(Trace):
        def struct(self, at: int, wanted: Mapping[int, Wanted], key: Key = (), depth: int = 0) -> int:
            if not key:
                walked.append(at)
            return super().struct(at, wanted, key, depth)

    monkeypatch.setattr(parquetgroups, "Trace", Counting)
    monkeypatch.setattr(parquetforms, "_forms", {})
    pq.write_table(_table(600).select(names), tmp_path / "x.parquet", row_group_size=1)
    assert opened(tmp_path / "x.parquet").groups == 600
    # Lists without values and texts that are too long for it have no statistics: that makes some forms.
    assert 3 <= len(walked) < 40


def test_a_part_is_sent_without_the_rest_of_the_footer(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "v3", episodes=40, frames=4, joints=2, cameras=())
    inner, reader = open_dataset(open_source(str(root)))
    reader.summary(inner)
    parts = reader.proprio(inner, ReadingWishes(part_frames=20)).parts
    assert len(parts) > 4
    whole = len(opened(root / "data/chunk-000/file-000.parquet").footer.piece.data)
    sent = [pickle.dumps(part) for part in parts]
    assert max(map(len, sent)) < whole / 2
    for part, data in zip(parts, sent, strict=True):
        here, there = list(part.read(inner)), list(pickle.loads(data).read(inner))
        assert [one.episode_index for one in here] == [one.episode_index for one in there]
        assert all(np.array_equal(one.state, two.state) for one, two in zip(here, there, strict=True))


def damaged(tmp_path: Path, old: bytes, new: bytes) -> Path:
    """A small file of which the last occurrence of some bytes is others; its footer is as long as it says."""
    table = pa.table({"episode_index": np.arange(4), "state": [[0.5]] * 4})
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False)
    before, _, after = path.read_bytes().rpartition(old)
    start = len(before) + len(old) + len(after) - 8 - int.from_bytes(after[-8:-4], "little")
    after = after[:-8] + (len(before) + len(new) + len(after) - 8 - start).to_bytes(4, "little") + after[-4:]
    path.write_bytes(before + new + after)
    return path


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        # A column chunk's type, encodings, path, codec and values.
        (b"\x15\x04\x19\x25\x06\x00\x19\x18\x0d", b"\x15\x02\x19\x25\x06\x00\x19\x18\x0d", "contradicts itself about"),
        (b"\x18\x0depisode_index", b"\x18\x0depisode_indez", "contradicts itself about `episode_index`"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x10\x16\x08", "contradicts itself about"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x00\x16\x0a", "contradicts itself about"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x00\x16" + b"\xff" * 9 + b"\x7f", "too long"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x00\x15\x08", "wrong kind"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x00\x16\x08" + b"\x1c" * 60, "nested too deep"),
        (b"episode_index\x15\x00\x16\x08", b"episode_index\x15\x00\x16\x08\x1f", "no known kind"),
    ],
)
def test_what_a_footer_has_wrong_is_said(tmp_path: Path, old: bytes, new: bytes, why: str) -> None:
    path = damaged(tmp_path, old, new)
    with pytest.raises(DatasetFileError, match=why) as caught:
        opened(path)
    assert (caught.value.code, caught.value.file) == ("damaged_file", "x.parquet")


def test_row_groups_that_no_footer_has_room_for_get_no_memory(tmp_path: Path) -> None:
    pq.write_table(pa.table({f"c{at}": np.zeros(1) for at in range(2_000)}), tmp_path / "x.parquet")
    head = opened(tmp_path / "x.parquet").footer.facts.head
    count = 1_000_000
    lie = head + b"\x16\x00\x19" + stored_list(count, STRUCT) + bytes(count)
    (tmp_path / "x.parquet").write_bytes(b"PAR1" + lie + len(lie).to_bytes(4, "little") + b"PAR1")
    tracemalloc.start()
    try:
        with pytest.raises(DatasetFileError, match="no room for them"):
            opened(tmp_path / "x.parquet")
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_chunks_outside_of_the_file_are_not_asked_for(tmp_path: Path) -> None:
    # The place of the first page: behind the magic.
    path = damaged(tmp_path, b"\x26\x08\x3c", b"\x26\xfe\xff\x7f\x3c")
    file = opened(path)
    with pytest.raises(DatasetFileError, match="places outside of it"):
        file.read(["episode_index"])
    assert file.read(["state"]).num_rows == 4, "the other column is good"


def test_no_damage_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """Nearly two thousand of them; some made Arrow end it, when it was asked for a column chunk's metadata."""
    root = write_v3(tmp_path / "v3", episodes=3, frames=12, cameras=())
    command = [sys.executable, "-m", "tests.datasets.footer_damage", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["good"] > 100 and told["bad"] > 500, "or nothing was damaged"
    assert told["slowest_s"] < 5, told["slowest"]
    assert told["more_mb"] < 100
