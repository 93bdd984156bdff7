"""A picture's pixels as what a terminal can draw: half cells, letters by brightness, or a graphics protocol."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RAMP = " .:-=+*#%@"
_CHUNK = 4096

PLACEHOLDER = "\U0010eeee"
"""The character that stands for one cell of a picture (kitty graphics protocol, "Unicode placeholders")."""

_ROW_MARKS = tuple(
    map(
        chr,
        (
            *(0x305, 0x30D, 0x30E, 0x310, 0x312, 0x33D, 0x33E, 0x33F, 0x346, 0x34A, 0x34B, 0x34C, 0x350, 0x351, 0x352),
            *(0x357, 0x35B, 0x363, 0x364, 0x365, 0x366, 0x367, 0x368, 0x369, 0x36A, 0x36B, 0x36C, 0x36D, 0x36E, 0x36F),
            *(0x483, 0x484, 0x485, 0x486, 0x487, 0x592, 0x593, 0x594, 0x595, 0x597, 0x598, 0x599, 0x59C, 0x59D, 0x59E),
            *(0x59F, 0x5A0, 0x5A1, 0x5A8, 0x5A9, 0x5AB, 0x5AC, 0x5AF, 0x5C4, 0x610, 0x611, 0x612, 0x613, 0x614, 0x615),
            *(0x616, 0x617, 0x657, 0x658),
        ),
    )
)
"""The combining marks that number rows, as the protocol lists them: the first 64."""

MAX_ROWS = len(_ROW_MARKS)


class Drawing(StrEnum):
    """How a picture is drawn. `blocks` is two pixels a cell in colour, `letters` one by its brightness."""

    KITTY = "kitty graphics"
    SIXEL = "sixels"
    BLOCKS = "half blocks"
    LETTERS = "letters"


@dataclass(frozen=True)
class Room:
    """Cells of a picture, and of the widget: it is centred."""

    width: int
    height: int
    left: int
    top: int


def drawing_for(environ: Mapping[str, str], *, colours: bool, truecolor: bool, is_ascii: bool, is_own: bool) -> Drawing:
    """How the terminal can draw. Asked of its environment: it could only be asked itself before the app begins.

    kitty and Ghostty draw placeholders; others that speak their protocol do not, but draw sixels. `is_own` tells that
    the app writes to a terminal itself, not into a browser. Inside tmux and screen neither passes.
    """
    if not colours or is_ascii:
        return Drawing.LETTERS
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    multiplexed = "TMUX" in environ or "STY" in environ or term.startswith(("tmux", "screen"))
    if multiplexed or not is_own:
        return Drawing.BLOCKS
    if "KITTY_WINDOW_ID" in environ or term in {"xterm-kitty", "xterm-ghostty"} or program == "ghostty":
        return Drawing.KITTY if truecolor else Drawing.BLOCKS
    sixels = term.startswith(("foot", "mlterm", "wezterm", "contour")) or program in {"WezTerm", "iTerm.app", "mintty"}
    return Drawing.SIXEL if sixels or environ.get("LC_TERMINAL") == "iTerm2" else Drawing.BLOCKS


def fitted(width: int, height: int, room_width: int, room_height: int, *, cell_ratio: float = 2.0) -> Room:
    """The cells that a picture of `width` by `height` pixels takes, its proportions kept; a cell is `cell_ratio` times
    as high as wide."""
    scale = min(room_width / max(1, width), room_height * cell_ratio / max(1, height))
    cells = max(1, min(room_width, round(width * scale)))
    rows = max(1, min(room_height, round(height * scale / cell_ratio)))
    return Room(cells, rows, (room_width - cells) // 2, (room_height - rows) // 2)


def scaled(rgb: bytes, width: int, height: int, columns: int, rows: int) -> NDArray[np.uint8]:
    """The picture in `columns` by `rows` pixels, shape (rows, columns, 3): the mean of what falls into each."""
    import numpy as np

    pixels = np.frombuffer(rgb, np.uint8).reshape(height, width, 3)
    for axis, size, wanted in ((0, height, rows), (1, width, columns)):
        if wanted >= size:
            pixels = np.take(pixels, np.arange(wanted) * size // wanted, axis=axis)
            continue
        edges = np.arange(wanted) * size // wanted
        counts = np.diff(np.append(edges, size))
        shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
        sums = np.add.reduceat(pixels.astype(np.float32), edges, axis=axis)
        pixels = (sums / counts.reshape(shape)).round().astype(np.uint8)
    return pixels


def letters(pixels: NDArray[np.uint8]) -> list[str]:
    """Each pixel as a letter: the brighter, the fuller (luma of ITU-R BT.601)."""
    luma = pixels @ [0.299, 0.587, 0.114]
    numbers = (luma / 256 * len(_RAMP)).astype(int)
    return ["".join(_RAMP[number] for number in row) for row in numbers]


def transmission(image_id: int, rgb: bytes, width: int, height: int, room: Room) -> str:
    """The escape codes that give kitty a picture and a place of `room` cells that placeholders can show.

    Answers are asked for by nobody (`q=2`): they would arrive as keys.
    """
    payload = base64.standard_b64encode(zlib.compress(rgb, 1)).decode()
    chunks = [payload[at : at + _CHUNK] for at in range(0, len(payload), _CHUNK)]
    head = f"i={image_id},a=T,U=1,c={room.width},r={room.height},f=24,s={width},v={height},o=z,t=d,q=2,"
    return "".join(
        f"\x1b_G{head if number == 0 else 'q=2,'}m={0 if number == len(chunks) - 1 else 1};{chunk}\x1b\\"
        for number, chunk in enumerate(chunks)
    )


def deletion(image_id: int) -> str:
    """The escape code that frees a picture in the terminal."""
    return f"\x1b_Ga=d,d=I,i={image_id},q=2\x1b\\"


def placeholders(room: Room) -> Iterator[str]:
    """The text of each row of a picture: the first cell names the row and column, the others follow it."""
    for row in range(room.height):
        mark = _ROW_MARKS[row]
        yield f"{PLACEHOLDER}{mark}{_ROW_MARKS[0]}" + PLACEHOLDER * (room.width - 1)
