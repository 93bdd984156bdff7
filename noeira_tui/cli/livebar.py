"""Progress of long work on stderr: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import Output, encodable
from noeira_tui.cli.table import cut
from noeira_tui.core.progress import Progress, ProgressSnapshot
from noeira_tui.core.quantity import show_duration, show_rate, show_size

_LIVE_EVERY_S = 0.25
_PLAIN_EVERY_S = 10.0
_BAR_CELLS = 20


@contextmanager
def shown(output: Output, title: str, progress: Progress) -> Iterator[None]:
    """Show `progress` under a title while the context is open. With `--json` only when stderr is a terminal."""
    live = sys.stderr.isatty()
    if output.quiet or (output.json and not live):
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_show, args=(literal(title), progress, stop, live), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _show(title: str, progress: Progress, stop: threading.Event, live: bool) -> None:
    shown_before = False
    while not stop.wait(_LIVE_EVERY_S if live else _PLAIN_EVERY_S):
        text = encodable(describe(title, progress.snapshot(), live=live), sys.stderr)
        if live:
            text = "\r\x1b[K" + cut(text, get_terminal_size().columns - 1)
        else:
            text += "\n"
        sys.stderr.write(text)
        sys.stderr.flush()
        shown_before = True
    if live and shown_before:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def describe(title: str, now: ProgressSnapshot, *, live: bool) -> str:
    """One line: what, how far, how fast, how long still."""
    parts = [title]
    fraction = now.fraction
    if fraction is not None:
        if live:
            full = round(fraction * _BAR_CELLS)
            parts.append("[" + "#" * full + "." * (_BAR_CELLS - full) + "]")
        parts.append(f"{fraction:.0%}")
    if now.bytes_total:
        parts.append(f"{show_size(now.bytes_done)} of {show_size(now.bytes_total)}")
    if now.rate > 0:
        parts.append(show_rate(now.rate))
        if now.remaining_s is not None:
            parts.append(f"{show_duration(now.remaining_s)} left")
    elif now.phase:
        parts.append(now.phase)
    return "  ".join(parts)
