"""Plain tables for a person: aligned by display width, cut to the terminal where there is one."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from shutil import get_terminal_size

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_GAP = "  "
_MAX_PADDED = 60
_MIN_CUT = 12


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
    """The lines of a table; the columns in `right` are aligned to the right.

    On a narrow terminal the widest column gives way. Elsewhere nothing is cut, and one endless name does not push the
    other rows' columns away.
    """
    widths = [max(width(row[column]) for row in (header, *rows)) for column in range(len(header))]
    layout = Layout.of(widths, right)
    return [layout.line(row) for row in (header, *rows)]


@dataclass(frozen=True)
class Layout:
    """How a table's lines are made: cells of each column, those aligned to the right, and whether nothing is cut."""

    widths: tuple[int, ...]
    right: frozenset[int]
    whole: bool

    @classmethod
    def of(cls, widest: Sequence[int], right: frozenset[int]) -> Layout:
        """The layout where these are the widest cells, on this terminal."""
        if not sys.stdout.isatty():
            return cls(tuple(min(wide, _MAX_PADDED) for wide in widest), right, whole=True)
        widths = list(widest)
        over = sum(widths) + len(_GAP) * (len(widths) - 1) - get_terminal_size().columns
        while over > 0 and max(widths) > _MIN_CUT:
            widths[widths.index(max(widths))] -= 1
            over -= 1
        return cls(tuple(widths), right, whole=False)

    def line(self, row: Sequence[str]) -> str:
        cells = []
        for column, text in enumerate(row):
            text = text if self.whole else cut(text, self.widths[column])
            pad = " " * (self.widths[column] - width(text))
            cells.append(pad + text if column in self.right else text + pad)
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
