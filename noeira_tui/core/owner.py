"""Which process does a piece of work, told so that a reused pid, a zombie or another host is not taken for it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

FOREIGN_HEARTBEAT_S = 60.0
"""An owner that cannot be looked at from here counts as dead after this long without a heartbeat."""


_HAS_PROC = Path("/proc/self/stat").is_file()


class Life(StrEnum):
    ALIVE = "alive"
    DEAD = "dead"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class ProcessOwner:
    """A process: host, boot and pid namespace say where its pid means something, the start time which process it is."""

    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_time: str

    @classmethod
    def me(cls) -> ProcessOwner:
        """This process."""
        pid = os.getpid()
        return cls(socket.gethostname(), boot_id(), pid_namespace(), pid, _start_time(pid) or "")

    def life(self) -> Life:
        """Whether the process still runs, as far as it can be told from here."""
        if not self.boot_id or self.boot_id != boot_id():
            # Another boot of this host ended everything. The boot goes first: a laptop's name may change while it runs.
            if self.host != socket.gethostname():
                return Life.FOREIGN
            if self.boot_id or boot_id():
                return Life.DEAD
        if self.pid_namespace != pid_namespace():
            return Life.FOREIGN
        started = _start_time(self.pid)
        return Life.ALIVE if started is not None and started == self.start_time else Life.DEAD

    def is_gone(self, heartbeat_age_s: float) -> bool:
        """Whether what it worked on is to be called interrupted."""
        life = self.life()
        return life is Life.DEAD or (life is Life.FOREIGN and heartbeat_age_s > FOREIGN_HEARTBEAT_S)


@cache
def boot_id() -> str:
    """What changes when the machine starts again; empty where it cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _output(["sysctl", "-n", "kern.bootsessionuuid"])


@cache
def pid_namespace() -> str:
    """The pid namespace of this process (containers on one host have several); empty where there are none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """When a process began, in the platform's own words; None when there is none, or only a zombie."""
    if _HAS_PROC:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return None
        # The command's name may hold spaces and brackets: fields are counted after its last bracket.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in {"Z", "X", "x"} else fields[19]
    state = _output(["ps", "-o", "stat=,lstart=", "-p", str(pid)])
    return None if not state or state.startswith("Z") else state.partition(" ")[2].strip()


def _output(command: list[str]) -> str:
    # Imported here: only systems without /proc ask other programs, and every command starts with this module.
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
