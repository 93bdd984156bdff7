"""Driving the app in tests: wait for what must become true, by a deadline, never by a sleep."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual import events
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import SYMBOLS, Glyphs
from noeira_tui.tui.rows import Place
from noeira_tui.tui.screens.main import MainScreen
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.painted import Painted
from tests.tui.fake_box import FakeBox, frozen_clock

_ROUNDS = 3
"""A key is passed from the app to a screen or a widget, and from there comes an action."""
WIDE = (140, 40)
NARROW = (80, 24)


class Driver:
    """The app under test with what a user can see of it."""

    def __init__(self, app: NoeiraApp, pilot: Pilot[None], box: FakeBox) -> None:
        self.app = app
        self.pilot = pilot
        self.box = box

    @property
    def main(self) -> MainScreen:
        return self.app.main_screen

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, *keys: str) -> None:
        """Press keys, each after every widget has done what the former asked of it; what threads bring is for `until`.

        `press` waits until the process is idle, twice a key: 40 ms at least, and up to two seconds on a loaded machine.
        """
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            driver.send_message(_key_event(key))
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
                await self.pilot._wait_for_screen()

    async def until(self, true: Callable[[], object], what: str = "", *, deadline_s: float = 30) -> None:
        """Wait until something is true; fail after half a minute: other work may share the machine."""
        deadline = time.monotonic() + deadline_s
        while not true():
            assert time.monotonic() < deadline, f"never became true: {what or true}"
            await self.pilot.pause(0.01)

    async def highlight(self, key: str) -> None:
        """Move the cursor of the list with the keyboard to a row, by keys."""
        rows = self.main.list
        keys = [row.key for row in rows.rows]
        assert key in keys, keys
        await self.press("home", *["down"] * keys.index(key))
        await self.until(lambda: rows.current is not None and rows.current.key == key, key)

    def names(self, place: Place) -> list[str]:
        """The names shown in a list."""
        return [row.name for row in self.main.pane(place).list.rows]

    def status(self, key: str) -> str:
        """The state a row shows; empty while there is no such row."""
        for place in Place:
            if place is not Place.DIALOG:
                for row in self.main.pane(place).list.rows:
                    if row.key == key:
                        return row.status
        return ""

    def text(self, selector: str) -> str:
        return self.app.screen.query_one(selector, Painted).text

    def keys_shown(self) -> str:
        return self.main.query_one(KeyBar).text

    def toasts(self) -> str:
        """Everything said in toasts so far that is still there."""
        return "\n".join(f"{toast.title} {toast.message}" for toast in self.app._notifications)

    def screen_text(self) -> str:
        """What is on the terminal, as text."""
        return "\n".join(line.text for line in self.app.screen._compositor.render_strips())

    def asked(self, what: str) -> list[tuple[object, ...]]:
        return [call for call in self.box.asked if call[0] == what]


def _key_event(key: str) -> events.Key:
    """A key by the library's name, or a character, as the library's pilot makes it."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character: str | None = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = name if len(name) == 1 else None
    return events.Key(name, character)


@asynccontextmanager
async def driving(
    box: FakeBox | None = None,
    *,
    size: tuple[int, int] = WIDE,
    read_only: bool = False,
    glyphs: Glyphs = SYMBOLS,
    settled: bool = True,
) -> AsyncIterator[Driver]:
    """Run the app on a fake box; by default from the moment the first whole picture is on screen."""
    box = box or FakeBox()
    app = make_app(box, read_only=read_only, glyphs=glyphs, clock=frozen_clock)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot, box)
        if settled:
            await driver.until(
                lambda: driver.main.board.overview and not driver.main.looking and _jobs_shown(driver), "settled"
            )
            await asyncio.sleep(0)
        yield driver


def _jobs_shown(driver: Driver) -> bool:
    return len(driver.main.board.jobs) == len(driver.box.rows)


__all__ = ["NARROW", "WIDE", "Driver", "driving"]
