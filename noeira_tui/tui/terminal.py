"""Putting the terminal back, however the app ends.

Textual restores it on a normal end only: after SIGTERM, SIGHUP or a crash of its loop, mouse reporting and the
alternate screen stay on. So the signals ask the app to end, and when it does not within a moment, or did not get to
it, the sequences are written here directly.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

RESET = (
    "\x1b[?2026l"  # synchronised output
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse reporting
    "\x1b[?2004l\x1b[?2048l\x1b[?1004l"  # bracketed paste, in-band resize, focus reports
    "\x1b[<u"  # the keyboard protocol of kitty
    "\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"  # line wrap, colours, alternate screen, cursor
)

WIPE = "\x1b[0m\x1b[H\x1b[2J"
"""Clears the screen; on an alternate screen nobody sees it."""

PAGE_DRIVER = "noeira_tui.tui.web.driver:PageDriver"
"""What `TEXTUAL_DRIVER` says to an app that runs in a page of `noeira-tui web`: the browser is its terminal."""

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""What ends an app from outside. The keys for the last two reach a terminal app as keys; `kill` sends them too."""

PARENT_EVERY_S = 1.0
"""How often the app looks whether the shell that started it still lives."""

GRACE_S = 1.5
"""How long a signalled app may take to end by itself."""


def is_page() -> bool:
    """Whether this app runs in a page and not in a terminal."""
    return os.environ.get("TEXTUAL_DRIVER") == PAGE_DRIVER


def has_mouse(environ: Mapping[str, str]) -> bool:
    """Whether to ask for the mouse. GNU screen then keeps a lone escape until the next key: `esc` would do nothing."""
    return is_page() or not _may_be_gnu_screen(environ)


def has_other_screen(environ: Mapping[str, str]) -> bool:
    """Whether the terminal surely brings back what it showed before. The console of Linux cannot, GNU screen does not
    unless it is told to: there the app has to wipe what it drew."""
    return is_page() or not (environ.get("TERM") == "linux" or _may_be_gnu_screen(environ))


def _may_be_gnu_screen(environ: Mapping[str, str]) -> bool:
    """Over ssh only the terminal's name tells; tmux goes by that name too, with a variable of its own."""
    return bool(environ.get("STY")) or (environ.get("TERM", "").startswith("screen") and not environ.get("TMUX"))


def draw_on_the_terminal() -> None:
    """Make the app draw on stdout when stderr goes elsewhere (`2>log`, `2>&-`).

    Textual draws on what stderr was at the start. What others say on stderr still goes where the user sent it.
    """
    if sys.stderr is not None and sys.stderr.isatty():
        return
    stdout = sys.stdout
    if is_page() or not stdout.isatty():
        return
    stream = os.fdopen(os.dup(stdout.fileno()), "w", encoding=stdout.encoding, errors=stdout.errors)
    vars(sys)["__stderr__"] = stream
    if sys.stderr is None:
        sys.stderr = stream


class Keeper:
    """Remembers how the terminal was and puts it back, once."""

    def __init__(self, fd: int) -> None:
        import termios

        self._fd = fd
        self._lock = threading.Lock()
        self._done = False
        self._before: list[Any] | None = None
        try:
            self._before = termios.tcgetattr(fd)
        except termios.error:
            self._before = None  # not a terminal

    def restored(self) -> None:
        """The app put the terminal back itself: nothing is left to do."""
        with self._lock:
            self._done = True

    def restore(self) -> None:
        """Put the terminal back. Never waits for output and never raises: the terminal may be gone."""
        import termios

        with self._lock:
            if self._done:
                return
            self._done = True
        # A terminal that is gone answers with an error; then nothing is left to restore.
        with suppress(OSError):
            os.set_blocking(self._fd, False)
            wipe = "" if has_other_screen(os.environ) else WIPE
            os.write(self._fd, (wipe + RESET).encode())
        with suppress(OSError):
            os.set_blocking(self._fd, True)
        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, self._before)


@contextmanager
def kept_terminal(end: Callable[[int], None]) -> Iterator[Keeper]:
    """Within this, the signals call `end(exit code)`; whatever happens, the terminal is put back afterwards.

    When the shell that started the app is killed and another one takes the terminal, no signal comes: two programs
    would share it. That counts as a hang-up.
    A second thread ends the process itself when `end` did not get it to within a moment (a blocked loop, a terminal
    that takes no more output).
    """
    assert sys.__stderr__ is not None, "the app has a terminal"
    keeper = Keeper(sys.__stderr__.fileno())
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def on_signal(number: int, frame: FrameType | None) -> None:
        code = 128 + number

        def insist() -> None:
            keeper.restore()
            os._exit(code)

        last_resort = threading.Timer(GRACE_S, insist)
        last_resort.daemon = True
        last_resort.start()
        end(code)

    for number in SIGNALS:
        # Started with nohup, a hang-up is to be ignored.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, on_signal)
    over = threading.Event()
    threading.Thread(target=_watch_parent, args=(over,), name="noeira-parent", daemon=True).start()
    try:
        yield keeper
    finally:
        over.set()
        keeper.restore()
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _watch_parent(over: threading.Event) -> None:
    """Hang up when the parent is another one than at the start."""
    parent = os.getppid()
    while not over.wait(PARENT_EVERY_S):
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGHUP)
            return
