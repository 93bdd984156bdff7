"""Driving the dialogs of settings and services in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noeira_tui.core.settings import Settings
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.modals.connect import ConnectDialog
from noeira_tui.tui.modals.first_run import FirstRunDialog
from noeira_tui.tui.modals.settings import SettingsDialog
from tests.tui.driving import WIDE, Driver, driving
from tests.tui.fake_box import FakeBox

KEY = "nk_3f9a77b2c1d04e55a8"


@asynccontextmanager
async def set_up(
    settings: Settings | None = None, *, size: tuple[int, int] = WIDE, read_only: bool = False
) -> AsyncIterator[Driver]:
    async with driving(FakeBox(settings=settings or Settings.load()), size=size, read_only=read_only) as app:
        yield app


async def open_settings(app: Driver, name: str) -> SettingsDialog:
    """Open the settings and put the cursor on one."""
    await app.press(",")
    await app.until(lambda: isinstance(app.app.screen, SettingsDialog))
    dialog = app.app.screen
    assert isinstance(dialog, SettingsDialog)
    await app.until(lambda: bool(dialog.rows_list.rows))
    keys = [row.key for row in dialog.rows_list.rows]
    await app.press("home", *["j"] * keys.index(name))
    await app.until(lambda: dialog.current is not None and dialog.current.name == name)
    return dialog


async def open_connect(app: Driver) -> ConnectDialog:
    """Open the dialog for address and key."""
    await app.press("S")
    await app.until(lambda: isinstance(app.app.screen, FirstRunDialog))
    await app.press("enter")
    await app.until(lambda: isinstance(app.app.screen, ConnectDialog))
    dialog = app.app.screen
    assert isinstance(dialog, ConnectDialog)
    return dialog


@asynccontextmanager
async def first_run(settings: Settings, size: tuple[int, int]) -> AsyncIterator[Driver]:
    from noeira_tui.tui.app import make_app

    box = FakeBox(settings=settings)
    app = make_app(box, glyphs=SYMBOLS, asks_for_service=True)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot, box)
        await driver.until(lambda: isinstance(app.screen, FirstRunDialog))
        yield driver


__all__ = ["KEY", "first_run", "open_connect", "open_settings", "set_up"]
