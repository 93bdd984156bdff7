"""Reading a recording's folder while it is sound, being written, abandoned, damaged or vanishing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noeira_tui.recordings.files import Verdicts
from noeira_tui.recordings.read import LocalRecording, read_recording
from noeira_tui.recordings.rows import row_problems
from noeira_tui.recordings.tables import TableReader
from noeira_tui.recordings.tree import Stamp
from tests.recordings.samples import EPISODES, FRONT, INFO, MP4, PARQUET, REAL_DATA, TABLE, make_recording, put

NOW = 1_000_000.0 + 3600


def flag(folder: Path, finished: object, name: str = "noeira_writer_stats.json") -> None:
    put(folder / "meta" / name, json.dumps({"finished": finished}).encode())


def test_a_finished_recording(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    put(folder / "images/x.png", b"not ours")
    put(folder / "meta/.info.json.tmp", b"not ours")
    recording = read_recording(folder, NOW)
    assert (recording.project, recording.dataset) == ("tower", "trial")
    assert (recording.episodes, recording.frames, recording.fps) == (2, 98, 15.0)
    assert [file.path for file in recording.files] == [
        FRONT,
        TABLE,
        EPISODES,
        "meta/stats.json",
        "meta/tasks.parquet",
        "meta/info.json",
    ]
    assert (recording.is_recording, recording.incomplete, recording.problems) == (False, (), ())
    assert recording.changed_at == 1_000_000.0
    assert recording.size_bytes == len(MP4) + 3 * len(PARQUET) + 2 + len(json.dumps(INFO))


@pytest.mark.parametrize("name", ["noeira_writer_stats.json", "mojo_rl_writer_stats.json"])
def test_the_writers_word_counts(tmp_path: Path, name: str) -> None:
    folder = make_recording(tmp_path)
    flag(folder, False, name)
    assert read_recording(folder, NOW).is_recording
    flag(folder, True, name)
    put(folder / TABLE, b"PAR1", NOW)
    assert not read_recording(folder, NOW).is_recording


def test_a_writer_that_fell_silent_gets_a_remark(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    flag(folder, False)
    assert read_recording(folder, NOW).problems == ()
    late = read_recording(folder, NOW + 3600)
    assert late.is_recording
    assert late.problems == ("its writer has not finished, but nothing changed for 2 h; recorder died?",)


def test_the_newer_name_wins(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    flag(folder, False, "mojo_rl_writer_stats.json")
    flag(folder, True)
    assert not read_recording(folder, NOW).is_recording


@pytest.mark.parametrize(("age_s", "is_recording"), [(0, True), (119, True), (121, False)])
def test_without_a_word_something_incomplete_tells(tmp_path: Path, age_s: float, is_recording: bool) -> None:
    folder = make_recording(tmp_path)
    put(folder / FRONT, MP4[:-1], NOW - age_s)
    recording = read_recording(folder, NOW)
    assert recording.is_recording is is_recording
    assert [file.path for file in recording.incomplete] == [FRONT]
    assert any("recorder died?" in problem for problem in recording.problems) is not is_recording


def test_an_info_that_is_being_rewritten(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    put(folder / "meta/info.json", b'{"total_epis', NOW)
    recording = read_recording(folder, NOW)
    assert recording.is_recording
    assert recording.episodes is None
    assert "meta/info.json cannot be read" in recording.problems


def test_only_info_json(tmp_path: Path) -> None:
    folder = tmp_path / "p/datasets/d"
    put(folder / "meta/info.json", json.dumps(INFO).encode())
    recording = read_recording(folder, NOW)
    assert recording.problems == ("meta/info.json counts 2 episodes, but there is no table of them (yet)",)


@pytest.mark.parametrize("value", [True, "3", None, -1, 2.5, float("nan"), [1], 10**400])
def test_counts_that_are_none(tmp_path: Path, value: object) -> None:
    folder = make_recording(tmp_path)
    put(folder / "meta/info.json", json.dumps({"total_episodes": value, "fps": value}).encode())
    assert read_recording(folder, NOW).episodes is None


def test_counts_written_as_double(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    put(folder / "meta/info.json", b'{"total_episodes": 3.0, "fps": 29.97}')
    recording = read_recording(folder, NOW)
    assert (recording.episodes, recording.fps) == (3, 29.97)


def test_an_older_layout_is_named(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    put(folder / "meta/info.json", json.dumps(INFO | {"codebase_version": "v2.1"}).encode())
    assert any("v2.1" in problem for problem in read_recording(folder, NOW).problems)


def test_nothing_there(tmp_path: Path) -> None:
    recording = read_recording(tmp_path / "p/datasets/gone", NOW)
    assert (recording.files, recording.is_recording, recording.changed_at) == ((), False, None)


def test_a_file_that_vanishes_meanwhile_is_left_out(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)

    class Vanishing(Verdicts):
        def reason(self, path: Path, stamp: Stamp, now: float) -> str | None:
            if path.name == "stats.json":
                path.unlink()
            return super().reason(path, stamp, now)

    paths = [file.path for file in read_recording(folder, NOW, verdicts=Vanishing()).files]
    assert "meta/stats.json" not in paths
    assert len(paths) == 5


def test_a_repaint_opens_no_file_of_the_recording(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    verdicts = Verdicts()
    later = folder.stat().st_ctime + 60
    first = read_recording(folder, later, verdicts=verdicts)
    assert verdicts.looked_at == 6
    assert read_recording(folder, later, verdicts=verdicts) == first
    assert verdicts.looked_at == 6


def test_links_and_loops(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    (folder / "data/loop").symlink_to("..")
    (folder / "data/dangling.parquet").symlink_to("gone")
    os.mkfifo(folder / "data/pipe.parquet")
    recording = read_recording(folder, NOW)
    assert len(recording.files) == 6
    assert recording.problems == ("data/loop is a link and is not entered",)


def test_a_pipe_for_info_json_holds_up_nobody(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    (folder / "meta/info.json").unlink()
    os.mkfifo(folder / "meta/info.json")
    assert read_recording(folder, NOW, tables=TableReader()).info is None


@pytest.mark.parametrize(
    "template", ["data/{chunk_index:09999999999d}", "{chunk_index.__class__}", "data/{", "../{file_index}"]
)
def test_a_template_that_is_no_path(tmp_path: Path, template: str) -> None:
    folder = make_recording(tmp_path)
    put(folder / "meta/info.json", json.dumps(INFO | {"data_path": template}).encode())
    problems = read_recording(folder, NOW, tables=TableReader()).problems
    assert any("names no file of a recording" in problem for problem in problems)


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(make_recording(tmp_path, dataset="x")) + b"\xff["))
    put(folder / "data" / os.fsdecode(b"\xff.parquet"), PARQUET)
    recording = read_recording(folder, NOW)
    assert recording.dataset == "x\udcff["
    assert [file.path for file in recording.files] == ["data/\udcff.parquet"]
    assert recording.problems[0].startswith("it cannot be pushed under the name of its folder")


def test_reading_imports_nothing_heavy() -> None:
    code = "import sys, noeira_tui.recordings.read, noeira_tui.recordings.compare\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyarrow", "numpy", "httpx", "av", "textual"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("rows", "told"), [(98, ()), (97, (f"{TABLE} has 97 rows, its episodes have 98 frames",)), (0, ())]
)
def test_rows_of_a_data_file_against_the_episodes_in_it(tmp_path: Path, rows: int, told: tuple[str, ...]) -> None:
    folder = make_recording(tmp_path)
    pq.write_table(pa.table({"index": range(rows)}), folder / TABLE)
    if not rows:
        put(folder / TABLE, b"PAR1 still open")
    recording = read_recording(folder, NOW, tables=TableReader())
    assert row_problems(recording) == told


def test_rows_that_no_episode_has_yet_are_a_problem_only_when_nobody_writes(tmp_path: Path) -> None:
    folder = make_recording(tmp_path)
    pq.write_table(pa.table({"index": range(150)}), put(folder / TABLE, b""))
    assert row_problems(read_recording(folder, NOW, tables=TableReader())) != ()
    flag(folder, False)
    assert row_problems(read_recording(folder, NOW, tables=TableReader())) == ()


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real datasets are not beside the repository")
@pytest.mark.parametrize(
    ("name", "episodes", "frames"),
    [("so101_rosbag_v30", 6, 1782), ("lerobot_written/two_cam", 3, 98), ("pusht_v30_novideo", 206, 25650)],
)
def test_real_recordings(tmp_path: Path, name: str, episodes: int, frames: int) -> None:
    folder = tmp_path / "p/datasets/real"
    shutil.copytree(REAL_DATA / name, folder)
    assert row_problems(read_recording(folder, NOW, tables=TableReader())) == ()
    recording: LocalRecording = read_recording(folder, NOW)
    assert (recording.episodes, recording.frames) == (episodes, frames)
    assert (recording.incomplete, recording.is_recording, recording.problems) == ((), False, ())
