"""Running the command line as a user would: in this process for speed, or as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from noeira_tui.__main__ import main


@dataclass(frozen=True)
class Ran:
    """What one call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one JSON document it has to be."""
        return json.loads(self.out)


class CommandLine:
    """Calls `noeira-tui` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Ran:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Ran(code, captured.out, captured.err)


def spawn(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `noeira-tui` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "noeira_tui", *(str(argument) for argument in arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
