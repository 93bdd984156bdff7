"""Plain tables for a person: aligned by display width, cut to the terminal where there is one."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from shutil import get_terminal_size

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_GAP = "  "


def width(text: str) -> int:
    """Cells a text takes on a terminal; colour sequences take none."""
    plain = _SGR.sub("", text)
    if plain.isascii():
        return len(plain)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in plain
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """The lines of a table; the columns in `right` are aligned to the right. The first column gives way on a narrow
    terminal."""
    widths = [max(width(row[column]) for row in (header, *rows)) for column in range(len(header))]
    if sys.stdout.isatty():
        room = get_terminal_size().columns - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
        widths[0] = max(12, min(widths[0], room))
    return [_line(row, widths, right) for row in (header, *rows)]


def _line(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    cells = []
    for column, text in enumerate(row):
        text = cut(text, widths[column])
        pad = " " * (widths[column] - width(text))
        cells.append(pad + text if column in right else text + pad)
    return _GAP.join(cells).rstrip()


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` cells, its end replaced by `…` when it is longer. Coloured text is left whole."""
    if width(text) <= limit or _SGR.search(text):
        return text
    kept = ""
    for character in text:
        if width(kept + character) > limit - 1:
            break
        kept += character
    return kept + "…"
