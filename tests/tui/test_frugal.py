"""What is written to the terminal when a little changed: few bytes, and exactly what the screen then shows."""

from __future__ import annotations

import re
from dataclasses import replace

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.jobs.records import JobState
from noeira_tui.tui.frugal import FrugalUpdate, codes_of
from tests.tui.driving import driving
from tests.tui.fake_box import FakeBox, job

_PARTS = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|([^\x1b])")


class Paper:
    """A terminal that understands what an update may hold: cursor moves, colours, text."""

    def __init__(self, lines: list[str]) -> None:
        self.cells = [[half for char in line for half in (char, "")[: cell_len(char)]] for line in lines]

    def write(self, text: str) -> None:
        x = y = 0
        position = 0
        for found in _PARTS.finditer(text):
            assert found.start() == position, text[position : position + 20]
            position = found.end()
            if found[1]:
                y, x = int(found[1]) - 1, int(found[2]) - 1
            elif found[4]:
                for half in (found[4], "")[: cell_len(found[4])]:
                    self.cells[y][x] = half
                    x += 1
        assert position == len(text)

    @property
    def text(self) -> str:
        return "\n".join("".join(line) for line in self.cells)


async def test_updates_make_of_the_old_screen_the_new_one() -> None:
    box = FakeBox()
    running = job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING, progress=ProgressSnapshot(10**9, 4 * 10**10))
    box.set_jobs(running)
    console = Console(color_system="truecolor", force_terminal=True)
    async with driving(box) as app:
        await app.until(lambda: app.status("job:1") == "running")
        await app.pilot.pause()
        paper, written = Paper(app.screen_text().splitlines()), []
        screen = app.main
        draw = screen.app._display

        def display(where: object, update: object) -> None:
            if isinstance(update, FrugalUpdate):
                told = update.render_segments(console)
                written.append(len(told))
                paper.write(told)
            draw(where, update)  # type: ignore[arg-type]

        screen.app._display = display  # type: ignore[method-assign,assignment]
        for step in range(2, 12):
            progress = ProgressSnapshot(step * 10**9, 4 * 10**10, rate=step * 1e7, phase="downloading")
            box.set_jobs(replace(running, progress=progress))
            await app.until(lambda step=step: f"{step}.0 / 40.0 GB" in app.screen_text())  # type: ignore[misc]
        await app.press("j", "k", "space")
        await app.until(lambda: "1 marked" in app.screen_text())
        await app.pilot.pause()
        assert paper.text == app.screen_text()
        assert sum(written[:5]) / 5 < 1500, "a job's progress takes few bytes"


def test_colours_are_told_apart() -> None:
    style = Style(bold=True, color="#ff0000", bgcolor="#0000ff")
    assert codes_of(style, ColorSystem.TRUECOLOR) == ("1", "38;2;255;0;0", "48;2;0;0;255")
    assert codes_of(Style(color="#ff0000"), ColorSystem.STANDARD)[1] in {"31", "91"}
    assert codes_of(Style.null(), ColorSystem.TRUECOLOR) == ("", "", "")
