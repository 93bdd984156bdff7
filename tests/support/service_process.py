"""`serve` in a process of its own, to be stopped, killed and started again.

Run as `python -m tests.support.service_process DATA_DIR [field=value …]` it prints one line of JSON when it is ready.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None)
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ServeProcess:
    """A running `serve`: its process and what it announced."""

    process: subprocess.Popen[str]
    data_dir: Path
    url: str
    store_endpoint: str
    key: str = field(repr=False)

    @property
    def store_pid(self) -> int:
        return int(json.loads((self.data_dir / "store.pid").read_text())["pid"])

    def kill(self) -> None:
        """End it as the kernel does when memory runs out."""
        self.process.kill()
        self.process.wait(10)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(15)


def start(data_dir: Path, **fields: Any) -> ServeProcess:
    """Start `serve` on free ports and wait until it is ready; AssertionError with its words when it fails."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.service_process", str(data_dir), json.dumps({"port": 0, **fields})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.stderr.read())
    told = json.loads(line)
    return ServeProcess(process, data_dir, told["url"], told["store_endpoint"], told["key"])


def until(condition: Callable[[], bool], what: str, patience_s: float = 15.0) -> None:
    """Poll until a condition holds; AssertionError naming it otherwise."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience_s} s: {what}"
        time.sleep(0.02)


def ends_with_us() -> None:
    """For `preexec_fn`: let the kernel end a server of ours when the tests' process is killed (Linux)."""
    if sys.platform == "linux":
        _LIBC.prctl(1, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text("utf-8", "replace").rpartition(")")[2].split()[0] != "Z"


def main() -> None:
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.service.config import ServiceConfig, ServiceReady
    from noeira_tui.service.run import serve

    def announce(ready: ServiceReady) -> None:
        key = ready.lines[1].partition("=")[2]
        told = {"url": ready.url, "store_endpoint": ready.store_endpoint, "key": key}
        print(json.dumps(told), flush=True)

    try:
        serve(ServiceConfig(Path(sys.argv[1]), **json.loads(sys.argv[2])), announce)
    except NoeiraError as err:
        print(f"{type(err).__name__}: {err}", file=sys.stderr)
        sys.exit(err.exit_code)


if __name__ == "__main__":
    main()
