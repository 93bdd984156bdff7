"""The one place that turns text from outside into text for the screen: never markup, never control characters.

Everything drawn is a `Line`, a list of `(text, look)` pieces; a look is a name such as `good` or `quiet` that the
theme gives a colour. Because nothing here is ever parsed as markup, brackets in names are just brackets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from noeira_tui.tui.glyphs import SYMBOLS, Glyphs

Piece = tuple[str, str]
"""Text that is clean already, and the name of its look; the empty look is plain text."""

Line = tuple[Piece, ...]

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, marks that reorder or hide text, lone surrogates."""


def clean(text: object, glyphs: Glyphs = SYMBOLS) -> str:
    """Any text on one line: what a terminal could obey or hide is shown as its escape, signed URLs lose their query."""
    from noeira_tui.core.redact import redact  # it brings all names of HTML entities: not for the first paint

    shown = _UNSAFE.sub(_escaped, redact(str(text)))
    return shown.encode("ascii", "backslashreplace").decode("ascii") if glyphs.is_ascii else shown


def clean_lines(text: object, glyphs: Glyphs = SYMBOLS) -> list[str]:
    """Any text as clean lines: only line ends keep their meaning, tabs become spaces."""
    return [clean(line.expandtabs(4), glyphs) for line in str(text).replace("\r\n", "\n").split("\n")]


def short_path(path: object) -> str:
    """A path with the home folder as `~`. Not clean yet."""
    home, shown = os.path.expanduser("~"), str(path)  # noqa: PTH111  never raises, unlike Path.home
    return "~" + shown[len(home) :] if len(home) > 1 and f"{shown}/".startswith(f"{home}/") else shown


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that was no UTF-8 (surrogateescape)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(match.group()) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )


def width_of(line: Iterable[Piece]) -> int:
    """Cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def fit(text: str, width: int, glyphs: Glyphs = SYMBOLS) -> str:
    """Clean text in exactly `width` cells: padded, or cut with an ellipsis. Wide characters are never split."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(cut(text, width, glyphs), width)


def cut(text: str, width: int, glyphs: Glyphs = SYMBOLS) -> str:
    """Clean text in at most `width` cells, with an ellipsis where something is missing."""
    if cell_len(text) <= width:
        return text
    room = width - len(glyphs.ellipsis)
    if room <= 0:
        return set_cell_size(text, max(0, width)).rstrip()
    return set_cell_size(text, room).rstrip() + glyphs.ellipsis


def cut_middle(text: str, width: int, glyphs: Glyphs = SYMBOLS) -> str:
    """Like `cut`, but keeps both ends: for paths and digests, whose end tells most."""
    if cell_len(text) <= width or width < 8:
        return cut(text, width, glyphs)
    tail_width = (width - len(glyphs.ellipsis)) * 2 // 3
    tail = text[-tail_width:]
    while cell_len(tail) > tail_width:
        tail = tail[1:]
    return set_cell_size(text, width - len(glyphs.ellipsis) - cell_len(tail)).rstrip() + glyphs.ellipsis + tail


def cut_line(line: Iterable[Piece], width: int, glyphs: Glyphs = SYMBOLS) -> Line:
    """A line in at most `width` cells."""
    kept: list[Piece] = []
    pieces = list(line)
    room = width
    for index, (text, look) in enumerate(pieces):
        needed = cell_len(text)
        rest = width_of(pieces[index + 1 :])
        if needed <= room and (rest == 0 or needed < room):
            kept.append((text, look))
            room -= needed
            continue
        shortened = cut(text + ("  " if rest else ""), room, glyphs)
        kept.append((shortened, look))
        break
    return tuple(kept)


def spread(left: Iterable[Piece], right: Iterable[Piece], width: int, glyphs: Glyphs = SYMBOLS) -> Line:
    """One line with a left and a right part; the left one is cut when both do not fit."""
    left, right = tuple(left), tuple(right)
    room = width - width_of(right)
    if room < 8:
        return cut_line(left, width, glyphs)
    left = cut_line(left, room - (1 if right else 0), glyphs)
    return (*left, (" " * (room - width_of(left)), ""), *right)


def wrap(text: str, width: int) -> list[str]:
    """Clean text in lines of at most `width` cells, broken at spaces where there are any."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        joined = f"{current} {word}" if current else word
        if cell_len(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        # A long word, such as a digest, is cut into parts of about one length.
        parts = -(-cell_len(word) // max(2, width))
        while cell_len(word) > max(2, width):
            head = set_cell_size(word, max(2, min(width, -(-cell_len(word) // parts)))).rstrip() or word[0]
            parts = max(1, parts - 1)
            lines.append(head)
            word = word[len(head) :]
        current = word
    lines.append(current)
    return lines


def wrap_line(line: Line, width: int) -> list[Line]:
    """A line of pieces in lines of at most `width` cells, each word in its look."""
    lines: list[Line] = []
    current: list[Piece] = []
    used = 0
    for text, look in line:
        for index, word in enumerate(text.split(" ")):
            if index and used and used < width:
                current.append((" ", look))
                used += 1
            for part in wrap(word, width):
                if used and used + cell_len(part) > width:
                    lines.append(tuple(current))
                    current, used = [], 0
                if part:
                    current.append((part, look))
                    used += cell_len(part)
    return [*lines, tuple(current)]


MIN_GAP = 6
"""Equal cells between two differing ones are written too where they are fewer: moving the cursor costs as much."""


def changed_cells(old: Line, new: Line) -> list[tuple[int, int]]:
    """The cells, from and to, in which two lines differ."""
    before, after = _cells_of(old), _cells_of(new)
    length = max(len(before), len(after))
    before += [(" ", "")] * (length - len(before))
    after += [(" ", "")] * (length - len(after))
    spans: list[tuple[int, int]] = []
    for x in range(length):
        if before[x] == after[x]:
            continue
        if spans and x - spans[-1][1] < MIN_GAP:
            spans[-1] = (spans[-1][0], x + 1)
        else:
            spans.append((x, x + 1))
    return spans


def _cells_of(line: Line) -> list[Piece]:
    """Each cell's character and look; the cells of a wide character both hold it and which half they are."""
    cells: list[Piece] = []
    for text, look in line:
        for character in text:
            width = cell_len(character)
            if width == 0 and cells:
                cells[-1] = (cells[-1][0] + character, look)
            cells += [(f"{character}{half or ''}", look) for half in range(width)]
    return cells
