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
from tests.support.docs_world import command_lines, docs_world, run_line, until_jobs_end
from tests.support.service_fixture import running_service
from tests.support.terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text("utf-8")
SETTINGS = (CHECKOUT / "docs" / "settings.md").read_text("utf-8")


PAGES = sorted((CHECKOUT / "docs").glob("*.md"))
RUN_HERE = ("fresh-box.md", "record-and-push.md", "inspect-and-curate.md", "over-ssh.md", "settings.md")
"""The pages of tasks; those of the service and of ingest have tests of their own."""
ENDS = {"--check": {3}, "--unsent": {0}, "--watch": {130}, "web": {130}}
"""Exit codes other than 0 that are what the page says: something is missing, or Ctrl-C."""


def readme_lines() -> list[list[str]]:
    """Every `noeira-tui …` of the README's shell blocks, without its comment."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0] == "noeira-tui"]


@pytest.mark.parametrize("name", RUN_HERE)
def test_every_command_of_a_page_runs_in_the_order_of_the_page(
    root: Path,
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli = CommandLine(capsys)
    lines = command_lines(CHECKOUT / "docs" / name)
    assert lines
    with running_service(tmp_path / "service") as service:
        for variable, value in service.environ.items():
            monkeypatch.setenv(variable, value)
        with docs_world(root, cli, recording_is_here=name != "fresh-box.md") as finish:
            if name == "inspect-and-curate.md":
                finish()
                assert cli("dataset", "push", "--project", "so101-tower", "--dataset", "cube-in-bowl").code == 0
            for line in lines:
                if "--watch" not in line.arguments:
                    finish()
                code, said = run_line(line, cli, root)
                expected = next((ENDS[word] for word in line.arguments if word in ENDS and not line.detached), {0})
                assert code in expected, (line, code, said)
                until_jobs_end(cli)


def test_every_page_is_in_the_index_and_every_link_leads_somewhere() -> None:
    index = (CHECKOUT / "docs" / "README.md").read_text("utf-8")
    for page in PAGES:
        assert page.name == "README.md" or f"({page.name})" in index, page.name
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), (page.name, target)


def test_every_page_is_run_by_some_test() -> None:
    elsewhere = {page.name for page in PAGES if page.name.startswith("service")} | {"ingest.md"}
    for page in PAGES:
        if page.name not in {*RUN_HERE, *elsewhere}:
            assert command_lines(page) == [], page.name


def test_every_command_line_of_the_readme_runs(
    connected: Settings, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(capsys)
    (root / "walker.h5").write_bytes(b"walker" * 100)
    lines = readme_lines()
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
