"""Tables of the command line: aligned, readable on a narrow terminal and beside one endless name."""

from __future__ import annotations

import os

import pytest

from noeira_tui.cli import table as tables
from noeira_tui.cli.table import table, width

ROWS = [("1", "pull a-v1", "done"), ("2", "pull " + "n" * 600, "failed"), ("3", "pull 日本", "queued")]


def test_one_endless_name_does_not_push_the_others_away() -> None:
    lines = table(("job", "what", "state"), ROWS)
    assert "n" * 600 in lines[2], "nothing is cut where a script may read it"
    assert [width(lines[number].removesuffix(ROWS[number - 1][2])) for number in (1, 3)] == [67, 67]


def test_the_widest_column_gives_way_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(tables, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    lines = table(("job", "what", "state"), ROWS)
    assert [line.split()[-1] for line in lines] == ["state", "done", "failed", "queued"]
    assert max(width(line) for line in lines) == 80
    assert "…" in lines[2]
