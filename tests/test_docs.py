"""The documents say what is true: every command line in them runs, every setting is explained."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from noeira_tui.core.settings import SPECS, Settings
from noeira_tui.core.states import LOOKS
from tests.support.commandline import CommandLine, spawn
from tests.support.terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text("utf-8")
SETTINGS = (CHECKOUT / "docs" / "settings.md").read_text("utf-8")


def command_lines() -> list[list[str]]:
    """Every `noeira-tui …` of the README's shell blocks, without its comment."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0] == "noeira-tui"]


def test_every_command_line_of_the_readme_runs(
    connected: Settings, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(capsys)
    (root / "walker.h5").write_bytes(b"walker" * 100)
    lines = command_lines()
    assert len(lines) >= 8
    for arguments in lines:
        if not arguments:
            with Terminal([sys.executable, "-m", "noeira_tui"], cwd=root, columns=120) as terminal:
                terminal.expect("Packs")
                terminal.type("q")
                assert terminal.wait() == 0
        elif arguments[0] == "serve":
            process = spawn(*arguments[:1], "--port", 0, "--data-dir", "svc", cwd=root)
            assert process.stdout is not None
            assert process.stdout.readline().startswith("NOEIRA_CLOUD_URL=")
            process.terminate()
            process.communicate(timeout=20)
        else:
            ran = cli(*arguments)
            assert ran.code in ({0, 3} if arguments[0] == "status" else {0}), (arguments, ran.err)


def test_the_readme_opens_with_a_picture_that_is_there_and_two_commands() -> None:
    picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert picture
    assert (CHECKOUT / picture[1]).is_file()
    assert README.index("make demo") < README.index("## ")
    assert README.index("make test") < README.index("## ")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_setting_is_explained(spec: object) -> None:
    name, key = spec.name, spec.file_key  # type: ignore[attr-defined]
    assert f"| `{name}` | `{key}` |" in SETTINGS


def test_the_readme_names_no_setting_that_is_gone() -> None:
    known = {(spec.name, spec.file_key) for spec in SPECS}
    named = set(re.findall(r"^\| `(NOEIRA_[A-Z_]+)` \| `([a-z_]+)` \|", README, re.MULTILINE))
    assert len(named) >= 9
    assert named <= known


def test_every_state_is_explained_with_its_symbol() -> None:
    for state, look in LOOKS.items():
        assert f"| `{state}` | {look.symbol} |" in README
