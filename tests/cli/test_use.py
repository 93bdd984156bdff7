"""Wrong use, missing settings, help, start-up cost: what a user meets first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import CommandLine

COMMANDS = [
    "status", "catalog list", "catalog show", "catalog pull", "catalog push", "catalog verify", "catalog rm",
    "project list", "project show", "project push", "project pull", "dataset list",
    "jobs list", "jobs show", "jobs follow", "jobs pause",
    "jobs resume", "jobs cancel", "jobs retry", "jobs prune", "keys create", "keys list", "keys revoke", "serve",
    "demo", "doctor",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_the_common_options(cli: CommandLine, command: str) -> None:
    ran = cli(*command.split(), "--help")
    assert ran.code == 0
    assert "Example:" in ran.out
    for option in ("--json", "--root", "--env-file", "--quiet"):
        assert option in ran.out


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("catalog",), ("status", "--nope"), ("catalog", "pull"), ("jobs", "show", "x"), ("--nope",)],
)
def test_wrong_use_is_exit_2(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments).code == 2
    ran = cli(*arguments, "--json")
    assert ran.code == 2
    assert ran.json["error"]["title"]


@pytest.mark.parametrize(
    "arguments", [("catalog", "list"), ("catalog", "pull", "x"), ("catalog", "push", "f", "--name", "n")]
)
def test_a_missing_key_is_exit_2_and_named(
    cli: CommandLine, root: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NOEIRA_CLOUD_URL", "http://127.0.0.1:9")
    ran = cli(*arguments, "--json")
    assert ran.code == 2
    assert "NOEIRA_CLOUD_API_KEY" in ran.json["error"]["message"]
    assert str(root / ".env") in ran.json["error"]["message"]


def test_without_a_terminal_the_app_says_so_and_is_exit_2(root: Path) -> None:
    for term in ("xterm-256color", "dumb"):
        ran = subprocess.run(
            [sys.executable, "-m", "noeira_tui"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "TERM": term},
            cwd=root,
        )
        assert ran.returncode == 2
        assert "terminal" in ran.stderr
        assert "\x1b" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [("noeira-tui cat", "catalog"), ("noeira-tui catalog pul", "pull"), ("noeira-tui web --po", "--port")],
)
def test_a_shell_completes_commands_and_options(root: Path, words: str, found: str) -> None:
    asks = {"_NOEIRA_TUI_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = subprocess.run(
        [sys.executable, "-m", "noeira_tui"], capture_output=True, text=True, env={**os.environ, **asks}, cwd=root
    )
    assert (ran.returncode, ran.stdout.split()) == (0, [found])


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("doctor",), ("catalog", "list", "--json")])
@pytest.mark.parametrize("place", ["pipe", "/dev/full"])
def test_output_that_nobody_takes_is_exit_1_without_a_traceback(
    root: Path, place: str, arguments: tuple[str, ...]
) -> None:
    if place == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
    elif Path(place).exists():
        writing = os.open(place, os.O_WRONLY)
    else:
        pytest.skip("this system has no full device")
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "noeira_tui", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
        )
    finally:
        os.close(writing)
    assert ran.returncode == 1, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


def test_closed_streams_are_no_crash(root: Path) -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        line = f'"{sys.executable}" -m noeira_tui catalog list {closed}'
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=root)
        assert ran.returncode == 2, "the missing setting, as with open streams"
        assert "Traceback" not in ran.stderr


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from noeira_tui.__main__ import main; main(['--version']);"
        "print(sorted({name.split('.')[0] for name in sys.modules} &"
        " {'textual','httpx','pyarrow','fastapi','typer','rich','sqlalchemy','sqlite3','dotenv','platformdirs'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, imported = ran.stdout.splitlines()
    assert version.startswith("noeira-tui ")
    assert imported == "[]"


def test_a_command_imports_only_what_it_needs(root: Path) -> None:
    code = (
        "import sys; from noeira_tui.__main__ import main; main(['jobs','list']);"
        "print(sorted({name.split('.')[0] for name in sys.modules} &"
        " {'textual','rich','httpx','pyarrow','fastapi','sqlalchemy','uvicorn'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_library_imports_no_interface() -> None:
    code = (
        "import sys; import noeira_tui; from noeira_tui import RemoteCatalog; import noeira_tui.overview.box;"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'textual','rich','typer','click'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_c_locale_gets_text_instead_of_a_crash(root: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (root / "projects" / "weird" / "datasets").mkdir(parents=True)
    (root / "projects" / "weird" / "project.kv").write_text("description=caf\u00e9 \u2192\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "noeira_tui", "project", "list"], capture_output=True, env=env, cwd=root
    )
    assert ran.returncode == 0, ran.stderr
    assert b"weird" in ran.stdout
    assert ran.stdout.isascii()


def test_names_are_shown_literally(cli: CommandLine, root: Path) -> None:
    name = "[bold]x\x1b[31m\udcff"
    folder = root / "projects" / name
    folder.mkdir(parents=True)
    (folder / "project.kv").write_text("")
    ran = cli("project", "list")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "[bold]x\\x1b[31m\\udcff" in ran.out
    assert cli("project", "list", "--json").json[0]["project"] == name
