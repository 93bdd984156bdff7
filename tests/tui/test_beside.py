"""The real app beside real recordings: which libraries its process maps, and what is left when it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from noeira_tui.core.childenv import child_environment
from tests.support.datasets_build import write_v3
from tests.support.terminal import Terminal
from tests.support.waiting import until
from tests.tui.inspecting import inspecting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

ARROW = ("libarrow", "libparquet", "duckdb", "deltalake")
NUMPY = "_multiarray_umath"


def mapped(pid: int) -> set[str]:
    """Which of the large libraries a process has."""
    maps = Path(f"/proc/{pid}/maps").read_text("utf-8")
    return {name for name in (*ARROW, NUMPY) if name in maps}


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # Threads come and go.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text("utf-8").split())
    return found


def reader_of(terminal: Terminal) -> int:
    """The inspector's process: the only one, for every table is known by then."""
    (reader,) = children(terminal.pid)
    return reader


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def becomes(terminal: Terminal, true: Callable[[], bool], what: str) -> None:
    """Wait until something is true, and read what the app writes meanwhile."""

    def look() -> bool:
        terminal.read(0.02)
        return true()

    until(look, what=what)


def opened(root: Path) -> Terminal:
    """The app, opened at a box with three recordings; its keys go to the projects."""
    datasets = root / "projects/tower/datasets"
    for name, episodes in (("cubes-a", 11), ("cubes-b", 12), ("cubes-c", 13)):
        datasets.mkdir(parents=True, exist_ok=True)
        write_v3(datasets / name, episodes=episodes, cameras=())
    (root / "projects/tower/project.kv").write_text("name=tower\n", "utf-8")
    terminal = Terminal(
        [sys.executable, "-m", "noeira_tui", "--root", str(root)],
        cwd=root,
        env={
            "PYTHONPATH": child_environment().get("PYTHONPATH", ""),
            "NOEIRA_STATE": str(root / "state"),
            "NOEIRA_LOCAL_ONLY": "yes",
            "COLUMNS": "140",
            "LINES": "40",
        },
        columns=140,
        lines=40,
    )
    terminal.expect("13 ep", 60)
    return terminal


def test_recordings_are_shown_without_arrow_and_the_inspector_takes_it_along(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        becomes(terminal, lambda: not children(terminal.pid), "the end of the look's process")
        assert mapped(terminal.pid) == set()
        terminal.type("1j")
        terminal.type("i")
        terminal.expect("so101_follower")
        reader = reader_of(terminal)
        assert os.getsid(reader) == reader, "the terminal's signals do not reach it"
        terminal.type("3")
        becomes(terminal, lambda: NUMPY in mapped(terminal.pid), "a plot")
        assert "libarrow" in mapped(reader)
        assert mapped(terminal.pid) & set(ARROW) == set()
        terminal.type("\x1b")
        becomes(terminal, lambda: not children(terminal.pid), "the end of the inspector's process")
        terminal.type("q")
        assert terminal.wait() == 0


def test_an_app_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.type("1j")
        terminal.type("i")
        terminal.expect("so101_follower")
        reader = reader_of(terminal)
        terminal.signal(signal.SIGKILL)
        assert terminal.wait() == 128 + signal.SIGKILL
        assert until(lambda: not is_running(reader))


async def test_a_reader_that_cannot_be_started_is_told_in_words_and_r_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_v3(tmp_path / "made", cameras=())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "absent"))
        async with inspecting(made) as looking:
            await looking.until(lambda: "cannot be started" in looking.text)
            assert "Reading failed" in looking.text
            patch.undo()
            await looking.press("r")
            await looking.until(lambda: "so101_follower" in looking.text)
