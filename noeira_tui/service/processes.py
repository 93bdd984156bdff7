"""Processes that end with their parent, and ending one that an earlier run left behind, and no other."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict

from noeira_tui.core.owner import Life, ProcessOwner

_POLL_S = 0.02
_PR_SET_PDEATHSIG = 1


def to_notes(owner: ProcessOwner) -> dict[str, object]:
    """A process as it is kept in a file."""
    return asdict(owner)


def from_notes(notes: Mapping[str, object]) -> ProcessOwner | None:
    """The process that `to_notes` kept; None for notes that are empty or another version's."""
    try:
        return ProcessOwner(
            host=str(notes["host"]),
            boot_id=str(notes["boot_id"]),
            pid_namespace=str(notes["pid_namespace"]),
            pid=int(str(notes["pid"])),
            start_time=str(notes["start_time"]),
        )
    except (KeyError, ValueError):
        return None


def die_with(parent: int) -> None:
    """Let the kernel end this process when `parent` ends, where it can (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It died before the kernel was asked to tell.
        os._exit(1)


def first_line(process: subprocess.Popen[bytes], patience_s: float) -> str | None:
    """What a process of ours says first; empty when it ends without a word, None when it says nothing for so long."""
    assert process.stdout is not None, "it was started with a pipe"
    readable, _, _ = select.select([process.stdout], [], [], patience_s)
    return process.stdout.readline().decode("ascii", "replace").strip() if readable else None


def end(owner: ProcessOwner, *, patience_s: float = 5.0) -> bool:
    """Ask a process of this box to end, then kill it; whether it is gone (or was never ours to look at)."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if owner.life() is not Life.ALIVE:
            return True
        try:
            os.kill(owner.pid, number)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        deadline = time.monotonic() + patience_s
        while owner.life() is Life.ALIVE and time.monotonic() < deadline:
            time.sleep(_POLL_S)
    return owner.life() is not Life.ALIVE
