"""Tables read in a process of its own: the same facts, once, and words when that process fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import BesideError
from noeira_tui.recordings import tablesbeside
from noeira_tui.recordings.read import LocalRecording, read_recording
from noeira_tui.recordings.tables import TableReader, read_table
from noeira_tui.recordings.tablesbeside import TablesBeside
from tests.support import beside_work
from tests.support.datasets_build import write_v3

NOW = time.time()


def recording(folder: Path, name: str, **more: int) -> Path:
    place = folder / "projects/p/datasets" / name
    place.mkdir(parents=True)
    return write_v3(place, cameras=(), **more)


def look(tables: TablesBeside, *folders: Path) -> list[LocalRecording]:
    with tables.open() as reader:
        return [read_recording(folder, NOW, tables=reader) for folder in folders]


def test_the_facts_are_those_read_here_and_each_table_is_read_once(tmp_path: Path) -> None:
    folders = [recording(tmp_path, name, episodes=count) for name, count in (("a", 3), ("b", 5))]
    tables = TablesBeside()
    first = look(tables, *folders)
    assert first == [read_recording(folder, NOW, tables=TableReader()) for folder in folders]
    assert [one.readable_episodes for one in first] == [3, 5]
    assert look(tables, *folders) == first
    assert tables.reader.reads == 2


def test_no_process_is_started_while_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recording(tmp_path, "a", episodes=3)
    tables = TablesBeside()
    before = look(tables, folder)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    assert look(tables, folder) == before
    os.utime(folder / "meta/episodes/chunk-000/file-000.parquet")
    (after,) = look(tables, folder)
    assert "cannot be started" in after.problems[0]


def test_neither_arrow_nor_numpy_is_loaded_here(tmp_path: Path) -> None:
    folder = recording(tmp_path, "a", episodes=3)
    script = (
        "import sys, time; from pathlib import Path; from noeira_tui.recordings.read import read_recording; "
        "from noeira_tui.recordings.tablesbeside import TablesBeside\n"
        "tables = TablesBeside()\n"
        "with tables.open() as reader: print(read_recording(Path(sys.argv[1]), time.time(), tables=reader).tables)\n"
        "print(tables.row_faults(Path(sys.argv[1])), sorted({'pyarrow', 'numpy', 'pandas'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=child_environment(), capture_output=True, text=True, check=True
    )
    assert "episodes=3" in run.stdout
    assert run.stdout.splitlines()[-1] == "{} []"


def test_a_table_that_ends_its_reader_is_damaged_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tablesbeside, "read_table", beside_work.crash_on_bad)
    bad, good = recording(tmp_path, "bad", episodes=2), recording(tmp_path, "good", episodes=4)
    tables = TablesBeside()
    for _ in range(2):
        damaged, whole = look(tables, bad, good)
        assert whole.readable_episodes == 4
        assert [(file.path, "SIGSEGV" in (file.reason or "")) for file in damaged.incomplete] == [
            ("meta/episodes/chunk-000/file-000.parquet", True)
        ]
    assert tables.reader.reads == 2, "the second look tries nothing again"


@pytest.mark.parametrize(
    ("fault", "words"),
    [(beside_work.hang_on_a_table, "no answer for 0.3 s"), (beside_work.killed_on_a_table, "SIGKILL")],
)
def test_a_reader_that_hangs_or_is_killed_is_told_and_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: object, words: str
) -> None:
    folder = recording(tmp_path, "a", episodes=3)
    answer_s = 0.3 if fault is beside_work.hang_on_a_table else 30.0
    resting, eager = (TablesBeside(answer_s=answer_s, rest_s=rest_s) for rest_s in (60.0, 0.0))
    monkeypatch.setattr(tablesbeside, "read_table", fault)
    for tables in (resting, eager):
        (failed,) = look(tables, folder)
        assert failed.problems[0].startswith("its tables could not be read: ")
        assert words in failed.problems[0]
        # Nobody says that its recorder died, or that a file is damaged.
        assert (failed.tables, failed.incomplete, failed.readable_episodes) == (None, (), 3)
    monkeypatch.setattr(tablesbeside, "read_table", read_table)
    assert look(resting, folder)[0].problems == failed.problems
    if fault is beside_work.killed_on_a_table:
        (read,) = look(eager, folder)
        assert read.tables is not None
        assert read.tables.episodes == 3


def test_rows_are_counted_anew_only_when_a_file_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, tables = recording(tmp_path, "a", episodes=3), TablesBeside()
    data = folder / "data/chunk-000/file-000.parquet"
    for path in folder.rglob("*.*"):
        os.utime(path, (NOW - 9999, NOW - 9999))
    assert tables.row_faults(folder) == {}
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "absent"))
        assert tables.row_faults(folder) == {}
    pq.write_table(pq.read_table(data).slice(0, 50), data)
    (fault,) = tables.row_faults(folder).values()
    assert fault.startswith("has 50 rows, its episodes have 12")


def test_rows_that_cannot_be_counted_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    with pytest.raises(BesideError, match="cannot be started"):
        TablesBeside().row_faults(recording(tmp_path, "a", episodes=3))


def test_values_of_any_kind_are_read_without_numpy(tmp_path: Path) -> None:
    """What Arrow can put into the columns that are read; the same facts with numpy and without."""
    folder = recording(tmp_path, "a", episodes=3)
    table = folder / "meta/episodes/chunk-000/file-000.parquet"
    good = pq.read_table(table)
    odd = (
        pa.array([1, 2, 3], pa.float16()),
        pa.array([Decimal(1)] * 3),
        pa.array([datetime(2020, 1, 1)] * 3, pa.timestamp("ns", "UTC")),
        pa.array([[1], None, [2]]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.nulls(3),
    )
    tables = TablesBeside()
    for column in odd:
        place = good.column_names.index("length")
        pq.write_table(good.set_column(place, "length", column), table)
        assert look(tables, folder) == [read_recording(folder, NOW, tables=TableReader())], column.type
    assert tables.reader.reads == len(odd)
