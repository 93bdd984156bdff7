"""Sizes and rates as people write and read them."""

from __future__ import annotations

import re

from noeira_tui.core.errors import ConfigError

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY = {"ki": 1024, "mi": 1024**2, "gi": 1024**3, "ti": 1024**4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*(?:/s)?\s*", re.IGNORECASE)


def parse_size(text: str, what: str) -> int:
    """A size or rate such as `20MB`, `1.5 GiB` or `300k` in bytes. Raises ConfigError naming `what`."""
    match = _SIZE.fullmatch(text)
    unit = (match[2] or "").lower() if match else ""
    size = float(match[1]) * (_UNITS.get(unit) or _BINARY[unit]) if match else 0.0
    if not 1 <= size < 1e18:
        # Less than a byte, or more than any disk: dividing by it or counting with it would fail much later.
        raise ConfigError(f"{what} is {text!r}, which is no size.", hint="Write it like 20MB, 1.5GiB or 300k.")
    return int(size)


def show_size(size_bytes: float | None) -> str:
    """A size in decimal units, one decimal below a hundred: `992 MB`, `2.1 GB`; a dash while unknown."""
    if size_bytes is None:
        return "—"
    if size_bytes < 999.5:
        return f"{size_bytes:.0f} B"
    value = float(size_bytes)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        value /= 1000
        if value < 999.5 or unit == "PB":
            break
    return f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"


def show_rate(bytes_per_s: float) -> str:
    """A rate: `212 MB/s`."""
    return f"{show_size(bytes_per_s)}/s"


def show_duration(seconds: float | None) -> str:
    """A duration in the two largest units that matter: `4 s`, `1:02`, `2:05:09`, `3 d 4 h`; a dash while unknown."""
    if seconds is None:
        return "—"
    # A clock that was set back makes an age negative.
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    if whole < 48 * 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
