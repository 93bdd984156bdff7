"""What tests let a process beside them do; by name, because it imports this there."""

from __future__ import annotations

import os
import signal
import threading
import time
from importlib import import_module
from pathlib import Path

from noeira_tui.core.besidechild import say
from noeira_tui.core.errors import VerificationError
from noeira_tui.core.progress import CancelToken
from noeira_tui.recordings.info import Info
from noeira_tui.recordings.tables import TableFacts, read_table


def where() -> tuple[int, int, int]:
    """Process, session and niceness."""
    return os.getpid(), os.getsid(0), os.nice(0)


def double(number: int) -> int:
    return 2 * number


def refuse() -> None:
    raise VerificationError("other bytes", expected="aa", actual="bb", hint="Look.")


def fault() -> int:
    return 1 // 0


def hang(started: Path) -> None:
    """Say that it began, and never end."""
    started.write_text(str(os.getpid()), "utf-8")
    threading.Event().wait()


def until_stopped(started: Path, token: CancelToken) -> None:
    """Say that it began; at the end, that it was stopped."""
    started.write_text("begun", "utf-8")
    while not token.is_cancelled:
        time.sleep(0.01)
    started.write_text("stopped", "utf-8")


def end_by(number: int) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait()


def leave() -> None:
    os._exit(3)


def tell(text: str) -> str:
    say(text)
    return text.upper()


def can_import(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


# In place of `read_table`; this module imports nothing large, for the process may do without it


def crash_on_bad(path: Path, info: Info) -> TableFacts:
    """Reads as Arrow would that a damaged table brings down."""
    if "bad" in str(path):
        os.kill(os.getpid(), signal.SIGSEGV)
    return read_table(path, info)


def hang_on_a_table(path: Path, info: Info) -> TableFacts:
    threading.Event().wait()
    return TableFacts()


def killed_on_a_table(path: Path, info: Info) -> TableFacts:
    os.kill(os.getpid(), signal.SIGKILL)
    return TableFacts()
