"""Driving the inspector by keys in tests, on datasets made for them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from textual.events import Paste

from noeira_tui.tui.glyphs import SYMBOLS, Glyphs
from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.screens.inspector import InspectorScreen
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.line_list import LineList
from tests.support.datasets_build import write_v3, write_zarr
from tests.tui.driving import WIDE, Driver, driving
from tests.tui.fake_box import FakeBox


class Looking:
    """The inspector under test with what a user can see of it."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.press = driver.press
        self.until = driver.until

    @property
    def screen(self) -> InspectorScreen:
        found = [screen for screen in self.driver.app.screen_stack if isinstance(screen, InspectorScreen)]
        assert found, self.driver.app.screen_stack
        return found[-1]

    @property
    def is_open(self) -> bool:
        return any(isinstance(screen, InspectorScreen) for screen in self.driver.app.screen_stack)

    @property
    def shown(self) -> str:
        """Everything on the terminal."""
        return self.driver.screen_text()

    @property
    def text(self) -> str:
        """The lines of the section, those out of sight too."""
        lines = self.screen.query_one("#text", LineList)
        return "\n".join("".join(text for text, _ in lines.line(index, 200)) for index in range(lines.count))

    def painted(self, name: str) -> str:
        return self.driver.text(name)

    @property
    def keys(self) -> str:
        return self.screen.query_one(KeyBar).text

    async def settled(self) -> None:
        """Wait until nothing is read any more."""
        await self.until(lambda: self.screen.is_mounted and not self.screen.reads.running, "nothing is read any more")

    async def go_to(self, section: Section) -> None:
        """Press a section's key and wait for what it shows."""
        await self.press(str(list(Section).index(section) + 1))
        await self.settled()

    async def plotted(self, index: int) -> None:
        """Wait until an episode is plotted."""

        def done() -> bool:
            series = self.screen.look.series
            return series is not None and series.episode_index == index

        await self.until(done, f"episode {index} is plotted")


@asynccontextmanager
async def inspecting(
    uri: str | Path,
    *,
    size: tuple[int, int] = WIDE,
    glyphs: Glyphs = SYMBOLS,
    settled: bool = True,
    box: FakeBox | None = None,
) -> AsyncIterator[Looking]:
    """Open the app, press `I` and paste an address."""
    async with driving(box or FakeBox(), size=size, glyphs=glyphs) as driver:
        await driver.press("I")
        await driver.until(lambda: driver.app.screen.query("#answer"), "the question")
        driver.app.post_message(Paste(str(uri)))
        await driver.press("enter")
        looking = Looking(driver)
        await driver.until(lambda: looking.is_open, "the inspector")
        if settled:
            await looking.settled()
        yield looking


def write_small(folder: Path) -> Path:
    """`small`, five episodes of two cameras with statistics of the state, and a zarr with pictures."""
    write_v3(folder / "small")
    write_zarr(folder / "images.zarr", generation=3, consolidated=True)
    return folder


def write_many(folder: Path) -> Path:
    """A hundred thousand episodes, of which only the table is there."""
    count = 100_000
    (folder / "meta/episodes/chunk-000").mkdir(parents=True)
    info = {"codebase_version": "v3.0", "total_episodes": count, "total_frames": 10 * count, "fps": 10}
    paths = {"data_path": "data/{chunk_index:03d}-{file_index:03d}.parquet", "features": {}}
    (folder / "meta/info.json").write_text(json.dumps(info | paths))
    table = {
        "episode_index": pa.array(range(count)),
        "length": pa.array([10] * count),
        "tasks": pa.array([["a task"]] * count),
        "data/chunk_index": pa.array([0] * count),
        "data/file_index": pa.array([0] * count),
    }
    pq.write_table(pa.table(table), folder / "meta/episodes/chunk-000/file-000.parquet")
    return folder


__all__ = ["Looking", "inspecting", "write_many", "write_small"]
