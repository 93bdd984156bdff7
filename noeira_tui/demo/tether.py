"""Runs a command that ends with the process that started it, whatever ends that: `tether PARENT COMMAND …`.

A demo that is killed must not leave its service behind. On Linux the kernel sends SIGTERM when the parent dies
(`prctl(2)`, PR_SET_PDEATHSIG); elsewhere the command simply runs.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    """Become the command, unless the parent is gone already."""
    parent, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == int(parent):
        os.execv(command[0], command)
    return 1


def tethered(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` tied to this process."""
    return [sys.executable, "-m", "noeira_tui.demo.tether", str(os.getpid()), *command]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
