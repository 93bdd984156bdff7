"""Telling one process from another that later got the same number."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessId:
    """A process: its number and when it began, in whatever unit this platform tells."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The process that has this number now; None when there is none, or only a zombie."""
        started = _started(pid)
        return cls(pid, started) if started is not None else None

    def is_alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def end(self, *, patience_s: float = 5.0) -> bool:
        """Ask it to end, then kill it; whether it is gone. Never signals another process of the same number."""
        for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, patience_s)):
            if not self.is_alive():
                return True
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return True
            except PermissionError:
                return False
            deadline = time.monotonic() + wait_s
            while self.is_alive() and time.monotonic() < deadline:
                time.sleep(0.02)
        return not self.is_alive()


def _started(pid: int) -> str | None:
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            # The name in brackets may hold spaces and brackets itself: fields are counted from the last one.
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            return None
        if fields[0] in {"Z", "X"}:
            return None
        return f"{_boot_id()}/{fields[19]}"
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip() or None


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
