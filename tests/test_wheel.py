"""The wheel, installed into an empty environment, opens the app: styles and all."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(CHECKOUT)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_styles_and_nothing_of_the_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    styles = {f"noeira_tui/styles/{path.name}" for path in (CHECKOUT / "styles").glob("*.tcss")}
    assert styles
    assert styles <= names
    assert "noeira_tui/py.typed" in names
    assert {"noeira_tui/tui/web/page.html", "noeira_tui/tui/web/page.js"} <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]


@pytest.mark.slow
def test_the_app_opens_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--quiet", "--disable-pip-version-check"]
    # Most of what is installed is never imported here: compiling all of it would be most of the work.
    constraints = ["--no-compile", "--constraint", str(CHECKOUT / "constraints.txt")]
    installed = subprocess.run([*pip, *constraints, str(wheel)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    root = tmp_path / "root"
    root.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with Terminal([str(home / "bin" / "noeira-tui")], cwd=root, env=clean, columns=120, lines=35) as terminal:
        terminal.expect("Packs")
        terminal.type("q")
        assert terminal.wait() == 0
    version = subprocess.run(
        [str(home / "bin" / "noeira-tui"), "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("noeira-tui ")
    serve = subprocess.run([str(home / "bin" / "noeira-tui"), "serve"], capture_output=True, text=True, cwd=root)
    assert serve.returncode == 2
    assert "noeira-tui[server]" in serve.stderr, "a missing extra is named"
