"""Figures as a person reads them: sizes, rates, durations, ages, digests. All by the same rules, so they align."""

from __future__ import annotations

from noeira_tui.core.quantity import show_size
from noeira_tui.tui.glyphs import Glyphs


def size(size_bytes: float | None, glyphs: Glyphs) -> str:
    """Bytes in decimal units with three figures: `992 MB`, `2.1 GB`, `0 B`; a dash when they are not known."""
    return glyphs.none if size_bytes is None else show_size(max(0, size_bytes))


def brief_size(size_bytes: float | None, glyphs: Glyphs) -> str:
    """The same in as few cells as it can be read in, as `ls -h` writes it: `992M`, `2.1G`, `0B`."""
    number, _, unit = size(size_bytes, glyphs).partition(" ")
    return number + (unit if unit == "B" else unit.removesuffix("B"))


def of_total(done: int, total: int, glyphs: Glyphs) -> str:
    """`27.4 / 40.2 GB`: the unit once where both share it; no total that was not known."""
    if total < done or not total:
        return size(done, glyphs)
    done_text, total_text = size(done, glyphs), size(total, glyphs)
    if done_text.split(" ")[-1] == total_text.split(" ")[-1]:
        done_text = done_text.split(" ")[0]
    return f"{done_text} / {total_text}"


def rate(bytes_per_s: float, glyphs: Glyphs) -> str:
    """`212 MB/s`."""
    return f"{size(bytes_per_s, glyphs)}/s"


def clock(seconds: float) -> str:
    """A time left: `0:05`, `12:30`, `3:04:05`, `2 d 4 h`."""
    whole = round(max(0.0, seconds))
    if whole >= 86400:
        return f"{whole // 86400} d {whole % 86400 // 3600} h"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def span(seconds: float) -> str:
    """A duration or age in its largest unit: `4 s`, `3 min`, `2 h`, `5 d`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 86400 * 2:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} d"


def ago(then: float, now: float) -> str:
    """`just now`, or `4 min ago`."""
    return "just now" if now - then < 2 else f"{span(now - then)} ago"


def digest(sha256: str | None, glyphs: Glyphs) -> str:
    """A digest's first eight figures."""
    return f"{sha256[:8]}{glyphs.ellipsis}" if sha256 else glyphs.none


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 recording`, `2 recordings`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(fraction: float) -> str:
    """`68 %`, right-aligned in five cells; 100 only when it is whole."""
    return f"{min(99 if fraction < 1 else 100, int(fraction * 100)):>3} %"
