"""Every example runs, and says what is missing when something is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from noeira_tui.core.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, cwd=cwd)


def test_every_example_has_a_test() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"roundtrip.py"}


def test_roundtrip(connected: Settings, root: Path) -> None:
    ran = run("roundtrip.py", root)
    assert ran.returncode == 0, ran.stderr
    assert "the same bytes" in ran.stdout
    assert "0 bytes moved" in ran.stdout


def test_roundtrip_names_the_missing_key(root: Path) -> None:
    ran = run("roundtrip.py", root)
    assert ran.returncode == 2
    assert "NOEIRA_CLOUD_URL" in ran.stderr
    assert "Traceback" not in ran.stderr
    (root / ".env").write_text("NOEIRA_CLOUD_URL=http://127.0.0.1:9\n")
    assert "NOEIRA_CLOUD_API_KEY" in run("roundtrip.py", root).stderr
