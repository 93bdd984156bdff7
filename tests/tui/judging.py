"""Driving the quality screen by keys in tests, on catalogs made for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from noeira_tui.core.settings import Settings
from noeira_tui.tui.glyphs import SYMBOLS, Glyphs
from noeira_tui.tui.screens.inspector import InspectorScreen
from noeira_tui.tui.screens.quality import QualityScreen
from noeira_tui.tui.widgets.key_bar import KeyBar
from tests.tui.driving import WIDE, Driver, driving
from tests.tui.fake_box import FakeBox


class Judge:
    """The quality screen under test with what a user can see of it."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.press = driver.press
        self.until = driver.until

    @property
    def screen(self) -> QualityScreen:
        found = [screen for screen in self.driver.app.screen_stack if isinstance(screen, QualityScreen)]
        assert found, self.driver.app.screen_stack
        return found[-1]

    @property
    def inspector(self) -> InspectorScreen:
        screen = self.driver.app.screen
        assert isinstance(screen, InspectorScreen), screen
        return screen

    @property
    def is_open(self) -> bool:
        return any(isinstance(screen, QualityScreen) for screen in self.driver.app.screen_stack)

    @property
    def shown(self) -> str:
        """Everything on the terminal."""
        return self.driver.screen_text()

    @property
    def keys(self) -> str:
        return self.screen.query_one(KeyBar).text

    def lines(self, name: str) -> str:
        """The lines of a list, those out of sight too."""
        lines = {"rows": self.screen.rows, "flags": self.screen.flags, "about": self.screen.about}[name]
        return "\n".join("".join(text for text, _ in lines.line(index, 160)) for index in range(lines.count))

    def numbers(self, name: str) -> list[float | None]:
        """A number of all episodes that are shown, in their order."""
        table = self.screen.view.table
        assert table is not None
        return [table.columns.number_at(name, int(row)) for row in self.screen.view.rows]

    async def settled(self) -> None:
        """Wait until the catalog was read."""
        await self.until(lambda: self.screen.is_mounted and not self.screen.reading, "the catalog was read")

    async def type(self, text: str) -> None:
        """Open the filter and type into it."""
        await self.press("/")
        await self.until(lambda: self.screen.query("FilterLine"), "the filter line")
        await self.press(*(_KEYS.get(character, character) for character in text), "enter")
        await self.until(lambda: not self.screen.query("FilterLine"), "the filter is typed")


_KEYS = {"<": "less_than_sign", ">": "greater_than_sign", "-": "minus", "!": "exclamation_mark", " ": "space",
         "=": "equals_sign", "_": "underscore", ".": "full_stop"}  # fmt: skip


def box_on(root: Path) -> FakeBox:
    """A box whose root is a folder, and whose catalog is `episodes/` in it."""
    return FakeBox(settings=Settings.load(root=root, cwd=root, environ={"XDG_CONFIG_HOME": str(root / "config")}))


@asynccontextmanager
async def judging(
    root: Path | FakeBox,
    *,
    size: tuple[int, int] = WIDE,
    read_only: bool = False,
    glyphs: Glyphs = SYMBOLS,
    settled: bool = True,
) -> AsyncIterator[Judge]:
    """Open the app and press `Q`."""
    box = root if isinstance(root, FakeBox) else box_on(root)
    async with driving(box, size=size, read_only=read_only, glyphs=glyphs) as driver:
        judge = Judge(driver)
        await driver.press("Q")
        await driver.until(lambda: judge.is_open, "the quality screen")
        if settled:
            await judge.settled()
        yield judge


__all__ = ["Judge", "box_on", "judging"]
