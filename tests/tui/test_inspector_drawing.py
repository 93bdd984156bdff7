"""What the inspector draws: curves as dots, pictures as cells, by every protocol it knows."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.screen import ModalScreen

from noeira_tui.datasets.facts import Episode, Picture
from noeira_tui.tui import canvas, inspector_lines, pixels, sixels
from noeira_tui.tui.canvas import Axis, draw, number_text, rising, value_axis
from noeira_tui.tui.glyphs import ASCII, SYMBOLS
from noeira_tui.tui.pixels import Drawing, Room, drawing_for, fitted, scaled, transmission
from noeira_tui.tui.themes import DARK, look_variables
from noeira_tui.tui.widgets.frame import Frame

TIMES = np.linspace(0.0, 1.0, 101)


def dots(cells: canvas.Cells) -> list[list[bool]]:
    """The braille dots of a canvas, row by row."""
    rows = [[False] * (2 * len(cells.rows[0])) for _ in range(4 * len(cells.rows))]
    places = {0x01: (0, 0), 0x02: (1, 0), 0x04: (2, 0), 0x40: (3, 0), 0x08: (0, 1), 0x10: (1, 1), 0x20: (2, 1)}
    places[0x80] = (3, 1)
    for y, row in enumerate(cells.rows):
        for x, character in enumerate(row):
            bits = 0 if character == " " else ord(character) - 0x2800
            for bit, (down, across) in places.items():
                rows[4 * y + down][2 * x + across] = bool(bits & bit)
    return rows


def test_a_rising_line_goes_from_corner_to_corner() -> None:
    drawn = dots(draw(TIMES, TIMES[:, None], Axis(0.0, 1.0), 10, 5))
    assert drawn[19][0]
    assert drawn[0][19]
    for x in range(20):
        column = [y for y in range(20) if drawn[y][x]]
        assert column, "no hole"
        assert abs(column[0] - (19 - x)) <= 1


def test_a_jump_is_joined_and_a_gap_is_not() -> None:
    step = np.where(TIMES < 0.5, 0.0, 1.0)[:, None]
    drawn = dots(draw(TIMES, step, Axis(0.0, 1.0), 10, 5))
    assert any(all(drawn[y][x] for y in range(1, 19)) for x in range(20)), "the jump is a line"
    hole = np.where((TIMES > 0.3) & (TIMES < 0.7), np.nan, 0.5)[:, None]
    drawn = dots(draw(TIMES, hole, Axis(0.0, 1.0), 10, 5))
    assert not any(drawn[y][10] for y in range(20))
    assert any(drawn[y][2] for y in range(20))
    assert any(drawn[y][17] for y in range(20))


def test_a_spike_between_two_columns_is_seen() -> None:
    values = np.zeros((10_000, 1))
    values[4321] = 1.0
    drawn = dots(draw(np.arange(10_000.0), values, Axis(0.0, 1.0), 20, 4))
    assert any(drawn[0]), "the greatest value of each column is drawn"


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=40),
    st.integers(1, 12),
    st.integers(1, 6),
    st.booleans(),
)
def test_anything_is_drawn_in_its_cells(values: list[float], width: int, height: int, is_ascii: bool) -> None:
    column = np.array(values, np.float64)[:, None]
    axis = value_axis(column)
    if axis is None:
        assert not np.isfinite(column).any()
        return
    assert axis.low < axis.high
    cells = draw(np.arange(float(len(values))), column, axis, width, height, is_ascii=is_ascii)
    assert [len(row) for row in cells.rows] == [width] * height
    assert [len(row) for row in cells.owners] == [width] * height
    if is_ascii:
        assert set("".join(cells.rows)) <= set(" .':")


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_number_fits_its_column(value: float) -> None:
    assert len(number_text(value)) <= 7
    assert number_text(-0.0) == "0"


def test_times_that_can_be_an_axis() -> None:
    assert rising(np.array([0.0, 0.0, 1.0]))
    assert not rising(np.array([0.0, 2.0, 1.0]))
    assert not rising(np.array([1.0, 1.0]))
    assert not rising(np.array([0.0, np.nan]))
    assert not rising(np.array([]))


# Pictures

COLOURS = bytes([255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255])
"""Two by two pixels: red, green, blue, white."""


def test_a_picture_keeps_its_proportions() -> None:
    assert fitted(640, 480, 80, 40) == Room(80, 30, 0, 5)
    assert fitted(640, 480, 80, 10) == Room(27, 10, 26, 0)
    assert fitted(1, 1000, 10, 10) == Room(1, 10, 4, 0)


def test_pixels_are_means_of_what_they_cover() -> None:
    checked = bytes([0, 0, 0, 200, 200, 200] * 8)
    assert scaled(checked, 4, 4, 2, 2).tolist() == [[[100] * 3] * 2] * 2
    assert scaled(COLOURS, 2, 2, 4, 4)[0].tolist() == [[255, 0, 0], [255, 0, 0], [0, 255, 0], [0, 255, 0]]
    assert scaled(bytes(range(27)), 3, 3, 2, 2).shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("environ", "options", "drawing"),
    [
        ({"TERM": "xterm-kitty"}, {}, Drawing.KITTY),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, {}, Drawing.KITTY),
        ({"TERM": "xterm-ghostty"}, {}, Drawing.KITTY),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1", "TMUX": "/x"}, {}, Drawing.BLOCKS),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, {}, Drawing.BLOCKS),
        ({"TERM": "xterm-kitty"}, {"truecolor": False}, Drawing.BLOCKS),
        ({"TERM": "xterm-kitty"}, {"is_own": False}, Drawing.BLOCKS),
        ({"TERM": "xterm-kitty"}, {"colours": False}, Drawing.LETTERS),
        ({"TERM": "xterm-kitty"}, {"is_ascii": True}, Drawing.LETTERS),
        ({"TERM": "foot"}, {}, Drawing.SIXEL),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, {"truecolor": False}, Drawing.SIXEL),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, {}, Drawing.SIXEL),
        ({"TERM": "foot"}, {"is_own": False}, Drawing.BLOCKS),
        ({"TERM": "linux"}, {}, Drawing.BLOCKS),
        ({}, {}, Drawing.BLOCKS),
    ],
)
def test_how_a_terminal_draws(environ: dict[str, str], options: dict[str, bool], drawing: Drawing) -> None:
    facts = {"colours": True, "truecolor": True, "is_ascii": False, "is_own": True, **options}
    assert drawing_for(environ, **facts) is drawing


def test_a_transmission_is_the_picture_in_chunks() -> None:
    rgb = np.random.default_rng(1).integers(0, 255, 64 * 48 * 3, np.uint8).tobytes()
    sent = transmission(77, rgb, 64, 48, Room(20, 8, 0, 0))
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", sent)
    assert "".join(f"\x1b_G{head};{body}\x1b\\" for head, body in parts) == sent, "nothing else is written"
    assert all(len(body) <= 4096 for _, body in parts)
    assert [head.rpartition("m=")[2] for head, _ in parts] == ["1"] * (len(parts) - 1) + ["0"]
    assert zlib.decompress(base64.standard_b64decode("".join(body for _, body in parts))) == rgb
    head = dict(part.split("=") for part in parts[0][0].split(","))
    assert head == {"i": "77", "a": "T", "U": "1", "c": "20", "r": "8", "f": "24", "s": "64", "v": "48", "o": "z",
                    "t": "d", "q": "2", "m": "1"}  # fmt: skip


def painted(code: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """What a terminal would make of sixels: colour numbers, -1 where nothing is drawn."""
    found = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)((?:#\d+;2;\d+;\d+;\d+)*)(.*)\x1b\\', code)
    assert found is not None
    width, height = int(found[1]), int(found[2])
    shown = np.full((height + 6, width), -1)
    top = column = number = 0
    for colour, count, character in re.findall(r"#(\d+)|(?:!(\d+))?([?-~$\-])", found[4]):
        if colour:
            number = int(colour)
        elif character == "$":
            column = 0
        elif character == "-":
            top, column = top + 6, 0
        else:
            for _ in range(int(count or 1)):
                for bit in range(6):
                    if (ord(character) - 63) >> bit & 1:
                        shown[top + bit, column] = number
                column += 1  # noqa: SIM113 - a carriage return puts it back
    return shown[:height]


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 9))
def test_sixels_are_the_picture(width: int, height: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    picture = np.repeat(rng.integers(0, 256, (height, 1, 3), np.uint8), width, axis=1)
    picture[:, width // 2 :] = rng.integers(0, 256, 3, np.uint8)
    shown = painted(sixels.encoded(picture))
    assert (shown >= 0).all(), "every pixel is drawn"
    steps = np.stack([shown // 36, shown // 6 % 6, shown % 6], axis=2) * 51
    assert (abs(steps - picture.astype(int)) <= 51).all(), "within a step of its colour, by dithering"


def test_sixels_are_short_where_a_colour_goes_on() -> None:
    code = sixels.encoded(np.full((480, 640, 3), 255, np.uint8))
    assert len(code) < 2000


def test_the_marks_of_rows_are_those_of_the_protocol() -> None:
    tgp = pytest.importorskip("textual_image.renderable.tgp")
    assert [ord(mark) for mark in pixels._ROW_MARKS] == tgp._NUMBER_TO_DIACRITIC[: pixels.MAX_ROWS]


class Shown(App[None]):
    """One frame on a screen."""

    def __init__(self, glyphs: object = SYMBOLS) -> None:
        super().__init__()
        self.frame = Frame(id="frame", glyphs=glyphs)  # type: ignore[arg-type]
        self.register_theme(DARK)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield self.frame

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        self.theme_variables = {**variables, **look_variables(variables)}
        return self.theme_variables

    def lines(self) -> list[str]:
        return [strip.text for strip in self.screen._compositor.render_strips()]


async def test_half_blocks_have_the_colours_of_two_pixels() -> None:
    app = Shown()
    async with app.run_test(size=(4, 2)) as pilot:
        app.frame.show(Picture("c", 2, 2, COLOURS, 0.0, True))
        await pilot.pause()
        assert app.lines() == ["▀▀▀▀", "▀▀▀▀"]
        strips = app.frame._strips
        first = next(iter(segment for segment in strips[0] if segment.text.strip()))
        last = [segment for segment in strips[1] if segment.text.strip()][-1]
        assert first.style is not None
        assert last.style is not None
        assert (first.style.color.triplet, first.style.bgcolor.triplet) == ((255, 0, 0), (255, 0, 0))  # type: ignore[union-attr]
        assert (last.style.color.triplet, last.style.bgcolor.triplet) == ((255, 255, 255), (255, 255, 255))  # type: ignore[union-attr]


async def test_sixteen_colours_are_too_few_for_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Frame, "_is_own", True)
    app = Shown()
    async with app.run_test(size=(4, 2)):
        for system, drawing in (("standard", Drawing.LETTERS), ("256", Drawing.BLOCKS), ("truecolor", Drawing.BLOCKS)):
            monkeypatch.setattr(type(app.console), "color_system", system)
            assert app.frame.drawing is drawing


async def test_letters_where_there_are_no_blocks() -> None:
    app = Shown(ASCII)
    async with app.run_test(size=(4, 2)) as pilot:
        app.frame.show(Picture("c", 2, 2, COLOURS, 0.0, True))
        await pilot.pause()
        assert app.lines() == ["::++", "..@@"]


async def test_kitty_is_given_the_picture_once_and_told_to_forget_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Frame, "drawing", Drawing.KITTY)
    sent: list[str] = []
    monkeypatch.setattr(Frame, "_write", lambda self, text: sent.append(text))
    app = Shown()
    async with app.run_test(size=(6, 3)) as pilot:
        app.frame.show(Picture("c", 2, 2, COLOURS, 0.0, True))
        await pilot.pause()
        app.frame.refresh()
        await pilot.pause()
        assert len(sent) == 1, "a repaint sends nothing again"
        image_id = int(re.findall(r"i=(\d+)", sent[0])[0])
        assert all(pixels.PLACEHOLDER in line for line in app.lines())
        assert all(cell_len(line) == 6 for line in app.lines())
        placed = next(segment for segment in app.frame._strips[0] if pixels.PLACEHOLDER in segment.text)
        assert placed.style is not None
        colour = placed.style.color.triplet  # type: ignore[union-attr]
        assert colour is not None
        assert colour.red << 16 | colour.green << 8 | colour.blue == image_id
        app.frame.tell(())
        await pilot.pause()
        assert sent[1:] == [pixels.deletion(image_id)]


async def test_sixels_are_drawn_with_their_cells_and_not_over_a_dialog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Frame, "drawing", Drawing.SIXEL)
    monkeypatch.setattr(sixels, "cell_pixels", lambda: (10, 20))
    app = Shown()
    async with app.run_test(size=(6, 4)) as pilot:
        app.frame.show(Picture("c", 2, 2, COLOURS, 0.0, True))
        await pilot.pause()
        last = app.frame.render_line(3)
        assert last.cell_length == 6
        code = "".join(segment.text for segment in last if segment.control)
        assert code.startswith("\x1b7\x1b[1;1H\x1bP")
        assert code.endswith("\x1b\\\x1b8")
        assert '"1;1;60;60' in code, "three rows of twenty pixels, six columns of ten"
        await app.push_screen(ModalScreen())
        await pilot.pause()
        assert not [segment for segment in app.frame.render_line(3) if segment.control]


async def test_without_the_size_of_a_cell_there_are_no_sixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Frame, "drawing", Drawing.SIXEL)
    monkeypatch.setattr(sixels, "cell_pixels", lambda: None)
    app = Shown()
    async with app.run_test(size=(4, 2)) as pilot:
        app.frame.show(Picture("c", 2, 2, COLOURS, 0.0, True))
        await pilot.pause()
        assert app.lines() == ["▀▀▀▀", "▀▀▀▀"]


def test_the_columns_of_a_long_episode_do_not_touch() -> None:
    line = inspector_lines.episode_line(Episode(0, 1_080_000), 1, 30.0, 60, SYMBOLS)
    assert "".join(text for text, _ in line).split()[:3] == ["0", "1,080,000", "36,000.0"]
