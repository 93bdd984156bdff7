"""Closing the demo in the middle of a pull lets the pull finish."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal import Terminal
from tests.support.waiting import until


def jobs(root: Path) -> list[dict[str, object]]:
    ran = subprocess.run(
        [sys.executable, "-m", "noeira_tui", "jobs", "list", "--json"], cwd=root, capture_output=True, text=True
    )
    found: list[dict[str, object]] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["closed", "hung up"])
def test_a_pull_goes_on_to_its_end_when_the_demo_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    # The demo's own state folder is named by its .env, which the environment would beat.
    monkeypatch.delenv("NOEIRA_STATE")
    command = [sys.executable, "-m", "noeira_tui", "demo", "--data-dir", str(tmp_path / "d")]
    root = tmp_path / "d" / "root"
    with Terminal(command, cwd=tmp_path, columns=140, lines=40) as terminal:
        terminal.expect("missing: a project needs it", 90)
        terminal.type("2")
        terminal.type("p")
        terminal.expect("MB/s", 30)
        if way == "closed":
            terminal.type("q")
            terminal.expect("still running: pull g1-walk-v2", 20)
        else:
            terminal.signal(signal.SIGHUP)
        assert terminal.wait(90) == 0
    until(lambda: jobs(root)[0]["state"] == "done", deadline_s=10)
    (pull,) = jobs(root)
    assert pull["title"] == "pull g1-walk-v2"
    assert (root / "data" / "g1-walk-v2.parquet").stat().st_size == pull["bytes_total"]
