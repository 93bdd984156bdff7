"""How far an ingest is, in words: episodes, episodes a second, bytes read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.text import clean

if TYPE_CHECKING:
    from noeira_tui.core.progress import ProgressSnapshot
    from noeira_tui.jobs.records import JobRecord

KIND = "episodes-ingest"
_LEAST_S = 0.5
"""Before that a rate tells nothing."""


def episodes_rate(progress: ProgressSnapshot) -> str:
    """`340 episodes/s` since the beginning; empty while that cannot be told."""
    if progress.elapsed_s < _LEAST_S or not progress.items_done:
        return ""
    rate = progress.items_done / progress.elapsed_s
    return f"{rate:,.0f} episodes/s" if rate >= 10 else f"{rate:.1f} episodes/s"


def bytes_read(progress: ProgressSnapshot, glyphs: Glyphs) -> str:
    """`3.1 MB read`."""
    return f"{figures.size(progress.bytes_done, glyphs)} read"


def progress_text(job: JobRecord, glyphs: Glyphs) -> str:
    """All of it in one line, for another screen than the jobs'."""
    progress = job.progress
    name = clean(job.spec.title, glyphs)
    if job.state != "running":
        return f"{name} {glyphs.dot} {job.state.value}"
    of = "" if progress.items_total is None else f" of {progress.items_total:,}"
    parts = [name, f"{progress.items_done:,}{of}", episodes_rate(progress), bytes_read(progress, glyphs)]
    return f" {glyphs.dot} ".join(part for part in parts if part)


def done_text(job: JobRecord, glyphs: Glyphs) -> str:
    """What an ingest that ended had done."""
    return f"{figures.count(job.progress.items_done, 'episode')} {glyphs.dot} {bytes_read(job.progress, glyphs)}"
