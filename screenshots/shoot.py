"""Takes the pictures of the app, headless, on the box its settings describe: run it against `noeira-tui demo --no-app`.

    python screenshots/shoot.py [folder]

Writes SVG files, and PNG files beside them where `rsvg-convert` (librsvg) is installed.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from noeira_tui.core.settings import Settings
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.records import JobState
from noeira_tui.overview.box import Box
from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.screens.inspector import InspectorScreen
from noeira_tui.tui.screens.quality import QualityScreen

CELL_WIDTH = 12.2
"""Of one character in the exported SVG."""

DEADLINE_S = 30.0

SHOTS: dict[str, tuple[tuple[int, int], tuple[str, ...], str]] = {
    "main-140x40": ((140, 40), ("p",), "noeira-dark"),
    "main-80x24": ((80, 24), ("R",), "noeira-dark"),
    "light-140x40": ((140, 40), ("R",), "noeira-light"),
    "help-140x40": ((140, 40), ("?",), "noeira-dark"),
    "watch-140x40": ((140, 40), ("1", "G", "k", "w"), "noeira-dark"),
    "inspect-140x40": ((140, 40), ("1", "G", "i", "3", "j", "j"), "noeira-dark"),
    "inspect-80x24": ((80, 24), ("1", "G", "i", "3"), "noeira-dark"),
    "quality-140x40": ((140, 40), ("1", "G", "g", "Q"), "noeira-dark"),
}
"""Name → size, keys pressed, theme."""


async def shoot(name: str, folder: Path, settings: Settings) -> Path:
    """Take one picture once the first whole look is on screen and the keys have had their effect."""
    size, keys, theme = SHOTS[name]
    app = make_app(Box(settings), glyphs=SYMBOLS)
    async with app.run_test(size=size) as pilot:
        await _until(pilot.pause, lambda: app.main_screen.board.overview is not None and not app.main_screen.looking)
        app.theme = theme
        for key in keys:
            await pilot.press(key)
            if key == "g":
                await _until(pilot.pause, lambda: _ingested(app))
            if key in {"i", "3", "Q"}:
                await _until(pilot.pause, lambda: _calm(app))
        if keys == ("p",):
            await _until(pilot.pause, lambda: _half_way(app))
            await pilot.pause()
        elif "w" in keys:
            await _until(pilot.pause, lambda: _tells_episodes(app))
            await pilot.pause(6)
        else:
            await _until(pilot.pause, lambda: not app.main_screen.looking)
            await pilot.pause(0.5)
            await _until(pilot.pause, lambda: _calm(app))
        svg = app.export_screenshot(title="noeira")
        if keys == ("p",) or "w" in keys:
            await pilot.press("c")
            await _until(pilot.pause, lambda: not app.main_screen.board.live_jobs())
    target = folder / f"{name}.svg"
    # Nor in which folder of that machine the demo had its root.
    target.write_text(portable(svg).replace(str(settings.root.parent), "~"), "utf-8")
    return target


def portable(svg: str) -> str:
    """An SVG that every renderer shows alike: no fonts from the network, blanks as offsets instead of characters."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r' textLength="[^"]*"', "", svg)
    return re.sub(
        r'(<text class="[^"]*" x=")([0-9.]+)("[^>]*>)((?:&#160;)+)',
        lambda found: f"{found[1]}{float(found[2]) + CELL_WIDTH * found[4].count('&'):.1f}{found[3]}",
        svg,
    )


def _half_way(app: NoeiraApp) -> bool:
    return any((job.progress.fraction or 0) > 0.3 for job in app.main_screen.board.live_jobs())


def _tells_episodes(app: NoeiraApp) -> bool:
    return any(job.progress.items_total for job in app.main_screen.board.live_jobs())


def _calm(app: NoeiraApp) -> bool:
    """Whether the screen on top reads nothing and no job runs."""
    screen = app.screen
    if isinstance(screen, InspectorScreen):
        look = screen.look
        return not screen.reads.running and (not screen.shows_episodes or look.series is not None)
    if isinstance(screen, QualityScreen):
        return not screen.reading and screen.rows.count > 0
    return not app.main_screen.looking and not app.main_screen.board.live_jobs()


def _ingested(app: NoeiraApp) -> bool:
    return any(
        job.spec.kind == EpisodesIngest.kind and job.state is JobState.DONE for job in app.main_screen.board.jobs
    )


async def _until(pause: Callable[[float], Awaitable[None]], true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("The app did not get there in time.")
        await pause(0.05)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    # The picture shows the app, not whose machine it was taken on.
    socket.gethostname = lambda: "gpu-box-3"
    settings = Settings.load()
    converter = shutil.which("rsvg-convert")
    for name in SHOTS:
        target = asyncio.run(shoot(name, folder, settings))
        sys.stdout.write(f"{target}\n")
        if converter:
            subprocess.run([converter, "-o", str(target.with_suffix(".png")), str(target)], check=True)


if __name__ == "__main__":
    main()
