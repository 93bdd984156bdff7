"""Starts a demo of its own, takes every picture with `shoot.py`, and ends the demo.

    python screenshots/take.py
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="noeira-pictures-") as folder:
        demo = subprocess.Popen(
            [sys.executable, "-m", "noeira_tui", "demo", "--no-app", "--data-dir", folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert demo.stdout is not None
        try:
            settings = dict(demo.stdout.readline().rstrip("\n").split("=", 1) for _ in range(4))
            shoot = [sys.executable, str(HERE / "shoot.py"), str(HERE)]
            root = settings["NOEIRA_ROOT"]
            # The pictures show the app, not in which folder of this machine the demo had its root.
            environ = {**os.environ, **settings, "HOME": str(Path(root).parent)}
            return subprocess.run(shoot, check=False, env=environ, cwd=root).returncode
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait()


if __name__ == "__main__":
    sys.exit(main())
