"""Display text: literal, clean, and as wide as it says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noeira_tui.tui.glyphs import ASCII, SYMBOLS, glyphs_for
from noeira_tui.tui.text import (
    changed_cells,
    clean,
    clean_lines,
    cut,
    cut_line,
    cut_middle,
    fit,
    spread,
    width_of,
    wrap,
    wrap_line,
)

ANYTHING = st.text(st.characters(), max_size=80)
CLEAN = ANYTHING.map(clean)
WIDTHS = st.integers(1, 60)


def test_what_a_terminal_would_obey_is_shown() -> None:
    assert clean("a\x1b[31mb\x07") == "a\\x1b[31mb\\x07"
    assert clean("line\nnext\ttab") == "line\\nnext\\ttab"
    assert clean("lone\udcff") == "lone\\xff"
    assert clean("turn\u202earound\u200b") == "turn\\u202earound\\u200b"
    assert clean("[/] [bold] é→日本") == "[/] [bold] é→日本"


def test_signed_urls_lose_their_signature() -> None:
    assert clean("GET https://s3.example.org/a?X-Amz-Signature=abc failed") == "GET https://s3.example.org/a?… failed"


def test_ascii_shows_other_characters_as_escapes() -> None:
    assert clean("é→", ASCII) == "\\xe9\\u2192"


@given(ANYTHING)
def test_clean_text_can_be_written_and_obeys_nothing(text: str) -> None:
    shown = clean(text)
    shown.encode("utf-8")
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in shown)
    assert clean(text, ASCII).isascii()


@given(CLEAN, WIDTHS)
def test_fitted_text_has_the_width_asked_for(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) == width
    assert cell_len(cut(text, width)) <= width
    assert cell_len(cut_middle(text, width)) <= width
    assert cell_len(fit(text, width, ASCII)) == width


@given(CLEAN, CLEAN, CLEAN, WIDTHS)
def test_lines_never_grow_over_their_width(one: str, two: str, three: str, width: int) -> None:
    line = ((one, "good"), (two, ""))
    assert width_of(cut_line(line, width)) <= width
    assert width_of(spread(line, ((three[:4], ""),), width)) <= width


@given(CLEAN, st.integers(4, 40))
def test_wrapping_loses_no_character(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    pieces = wrap_line(((text, "good"), (text, "")), width)
    assert all(width_of(line) <= width for line in pieces)
    assert "".join(part for line in pieces for part, _ in line).replace(" ", "") == (text + text).replace(" ", "")


def test_lines_keep_their_ends_only() -> None:
    assert clean_lines("a\r\nb\tc\x1b") == ["a", "b   c\\x1b"]


def test_the_middle_of_a_path_gives_way() -> None:
    assert cut_middle("/data/robots/projects/so101/walker-v1.h5", 24) == "/data/ro…01/walker-v1.h5"


def test_the_locale_chooses_the_signs() -> None:
    assert glyphs_for({"LANG": "en_US.UTF-8"}) is SYMBOLS
    assert glyphs_for({"LANG": "en_US.UTF-8", "TERM": "linux"}) is ASCII
    assert glyphs_for({"LC_ALL": "C", "LANG": "en_US.UTF-8"}) is ASCII
    assert glyphs_for({"LANG": "C", "LC_CTYPE": "C.UTF-8"}) is ASCII
    assert glyphs_for({"LANG": "en_US.ISO-8859-1"}) is ASCII
    assert glyphs_for({}) is SYMBOLS
    assert glyphs_for({"TMUX": "/socket,1,0"}) is ASCII
    assert glyphs_for({"TMUX": "/socket,1,0", "LC_CTYPE": "de_DE.utf8"}) is SYMBOLS


def test_only_the_cells_that_differ_are_written_again() -> None:
    old = (("name ", ""), ("68 %", "live"), ("  27.4 GB of a long text  ", ""), ("1:02", ""))
    new = (("name ", ""), ("69 %", "live"), ("  27.4 GB of a long text  ", ""), ("1:02", ""))
    assert changed_cells(old, new) == [(6, 7)]
    assert changed_cells(old, old) == []
    assert changed_cells((("日本", ""),), (("日a ", ""),)) == [(2, 4)]
    assert changed_cells((("a", "good"),), (("a", "trouble"),)) == [(0, 1)]
    assert changed_cells((("a", ""),), (("abc", ""),)) == [(1, 3)]
    far = changed_cells((("12 MB/s   1:02 left", ""),), (("13 MB/s   1:01 left", ""),))
    assert far == [(1, 2), (13, 14)], "what is far apart is not joined"


@given(CLEAN)
def test_a_changed_look_is_a_change_of_every_cell(text: str) -> None:
    span = changed_cells(((text, "good"),), ((text, "trouble"),))
    cells = sum(cell_len(character) for character in text)
    assert span == ([(0, cells)] if cells else [])
    assert changed_cells(((text, ""),), ((text, ""),)) == []
