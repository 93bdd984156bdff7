"""Answers that wait on disk: one that the disk does not take is told in words, and nothing of it is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PRINT = """
import resource, sys, tempfile
from noeira_tui.cli import spool
from noeira_tui.core.errors import StateError
{setting}
spool._IN_MEMORY_BYTES = 1_000
try:
    spool.print_list({{"text": "x" * 100}} for _ in range({rows}))
except StateError as err:
    print("TOLD", err.message)
"""
_FULL = "resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))"
_NOWHERE = "tempfile._candidate_tempdir_list = lambda: ['/nowhere/at/all']"


@pytest.mark.parametrize(
    ("setting", "rows"),
    [
        # Full while it is written, full at the very end of it, and no folder at all.
        (_FULL, 1_000),
        (_FULL, 60),
        (_NOWHERE, 60),
    ],
)
def test_an_answer_that_the_disk_does_not_take(tmp_path: Path, setting: str, rows: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRINT.format(setting=setting, rows=rows)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("TOLD The answer cannot be kept in ")
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
