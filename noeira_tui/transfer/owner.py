"""Who is writing a `.part`, and whether they still live."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

HEARTBEAT_LIMIT_S = 60.0
"""Another host's record is believed for this long after its journal was last written."""


@dataclass(frozen=True)
class Owner:
    """A process on a host, told apart from a later one with the same number by boot and start time."""

    host: str
    pid: int
    start: str
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    @classmethod
    def me(cls) -> Owner:
        pid = os.getpid()
        return cls(_this_host(), pid, start_of(pid) or "")

    def is_gone(self, silent_s: float) -> bool:
        """Whether the process is certainly no longer writing; `silent_s` is the age of its last sign of life."""
        if self.host != _this_host():
            return silent_s > HEARTBEAT_LIMIT_S
        return start_of(self.pid) != self.start


def start_of(pid: int) -> str | None:
    """When a process of this host started, in a form only good for comparing; None when there is none (or a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except FileNotFoundError:
        return _start_without_proc(pid)
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def _start_without_proc(pid: int) -> str | None:
    if Path("/proc/self/stat").exists():
        return None
    import subprocess

    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None


def _this_host() -> str:
    """This host, this boot and this pid namespace: a process number means nothing outside them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot = space = ""
    return f"{socket.gethostname()} {boot} {space}".strip()
