"""The background recorder, ended in every way a recorder ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from noeira_tui.demo.lerobot import EPISODES_PATH, WRITER_STATS_PATH
from noeira_tui.recordings.read import read_recording

DEADLINE_S = 60.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "noeira_tui.demo.recorder", str(tmp_path / "p/datasets/live"), *arguments]
        running.append(subprocess.Popen(command))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "p/datasets/live"


def is_finished(folder: Path) -> bool | None:
    path = folder / WRITER_STATS_PATH
    return bool(json.loads(path.read_text())["finished"]) if path.is_file() else None


def rows(folder: Path) -> int:
    path = folder / EPISODES_PATH
    return int(pq.read_table(path).num_rows) if path.is_file() else 0


def is_mid_episode(folder: Path) -> bool:
    """Whether a video is open: pictures are in it, its index is not."""
    return any(file.size_bytes for file in read_recording(folder, time.time()).incomplete)


def test_it_records_so_many_and_finishes(start: Start, folder: Path) -> None:
    assert start("--episodes", "2", "--every", "0").wait(DEADLINE_S) == 0
    assert (rows(folder), is_finished(folder)) == (2, True)
    assert not read_recording(folder, time.time()).is_recording


def test_sigterm_in_the_middle_finishes_cleanly(start: Start, folder: Path) -> None:
    process = start("--every", "30")
    until(lambda: is_mid_episode(folder))
    assert is_finished(folder) is False
    assert read_recording(folder, time.time()).is_recording
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0
    recording = read_recording(folder, time.time())
    assert (is_finished(folder), recording.incomplete, recording.is_recording) == (True, (), False)


def test_killed_half_way_leaves_whole_episodes_and_an_open_video(start: Start, folder: Path) -> None:
    assert start("--episodes", "1", "--every", "0").wait(DEADLINE_S) == 0
    process = start("--every", "30")
    until(lambda: is_mid_episode(folder))
    process.kill()
    process.wait()
    recording = read_recording(folder, time.time())
    assert (rows(folder), recording.episodes) == (1, 1)
    assert is_finished(folder) is False
    assert {Path(file.path).name for file in recording.incomplete} == {"file-001.mp4"}
    assert {file.reason.split(":")[0] for file in recording.incomplete if file.reason} <= {"still open", "empty"}
    (folder / WRITER_STATS_PATH).unlink()
    later = read_recording(folder, time.time() + 121)
    assert not later.is_recording
    assert any("recorder died?" in problem for problem in later.problems)


def test_it_goes_on_after_a_kill(start: Start, folder: Path) -> None:
    process = start("--every", "30")
    until(lambda: is_mid_episode(folder))
    process.kill()
    process.wait()
    assert start("--episodes", "2", "--every", "0").wait(DEADLINE_S) == 0
    recording = read_recording(folder, time.time())
    assert (rows(folder), recording.episodes, recording.incomplete) == (2, 2, ())


def test_it_ends_with_its_parent(folder: Path) -> None:
    code = (
        "import subprocess, sys, os\n"
        "child = subprocess.Popen([sys.executable, '-m', 'noeira_tui.demo.recorder', sys.argv[1],"
        " '--every', '30', '--parent', str(os.getpid())])\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent.stdin, parent.stdout:
        child = int(parent.stdout.readline())
        until(lambda: is_mid_episode(folder))
        parent.kill()
        parent.wait()
    try:
        until(lambda: is_finished(folder) is True)
    finally:
        _kill_if_there(child)


def _kill_if_there(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
