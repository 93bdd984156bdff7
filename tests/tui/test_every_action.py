"""Every action of the registry, by its key, in every list: it does something that can be seen, or says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.assets.keep import CachedPack
from noeira_tui.core.settings import Settings
from noeira_tui.tui.actions import ACTIONS, Action, Danger
from noeira_tui.tui.rows import Place
from tests.tui.driving import Driver, driving
from tests.tui.fake_box import ROOT, FakeBox, sample_jobs, watch_job

ON_MAIN = tuple(action for action in ACTIONS if Place.DIALOG not in action.places)
KEYS = {Place.PROJECTS: "1", Place.CATALOG: "2", Place.PACKS: "3", Place.JOBS: "4"}
ELSEWHERE = {"1": "2", "2": "3", "3": "4", "4": "1"}


def seen(app: Driver) -> tuple[object, ...]:
    """Everything an action may change."""
    main = app.main
    rows = main.list
    return (
        main.place,
        rows.cursor,
        rows.marked,
        tuple(row.key for row in rows.rows),
        dict(main.board.filters),
        app.app.screen,
        type(main.focused),
        app.app.theme,
        app.app.clipboard,
        len(app.box.asked),
        tuple(toast.message for toast in app.app._notifications),
    )


async def to_a_known_place(app: Driver, place: Place) -> None:
    """The second row of a list, nothing marked or filtered, no dialog, no toast."""
    await app.until(lambda: leaves_dialogs(app), "dialogs are left")
    app.app.clear_notifications()
    await app.press(KEYS[place], "escape", "escape", "home", "down")
    await app.until(lambda: app.main.place is place and app.main.list.cursor == 1, f"at {place}")


def leaves_dialogs(app: Driver) -> bool:
    if app.app.screen is app.main:
        return True
    app.app.pop_screen()
    return False


async def prepare(app: Driver, action: Action, place: Place) -> None:
    """What an action needs, so that it has something to change."""
    if action.id == "back":
        await app.press("space")
    elif action.id == place.value:
        await app.press(ELSEWHERE[action.keys[0]])
    elif action.id in {"previous_visit", "next_visit"}:
        for keys in ("home", "enter"), ("end", "enter"):
            await app.press(*keys)
            await app.until(lambda: app.app.screen is not app.main)
            await app.until(lambda: leaves_dialogs(app))
        if action.id == "next_visit":
            await app.press("[")
    elif action.id == "unfold" and place is Place.PROJECTS:
        await app.press("left")
    elif action.id == "page_up":
        await app.press("end")


async def drive(app: Driver, action: Action, place: Place) -> None:
    await to_a_known_place(app, place)
    await prepare(app, action, place)
    app.app.clear_notifications()
    reason = action.why_not(app.main.situation())
    before, asked = seen(app), len([call for call in app.box.asked if call[0] not in {"look", "log"}])
    if action.keys:
        await app.press(action.keys[0])
    else:
        app.main.act(action.id)
    if reason is None:
        await app.until(lambda: seen(app) != before, f"{action.id} in {place} changes something")
    else:
        await app.until(lambda: reason in app.toasts(), f"{action.id} in {place} says: {reason}")
        assert app.app.screen is app.main, action.id
        assert len([call for call in app.box.asked if call[0] not in {"look", "log"}]) == asked, action.id


def busy(folder: Path) -> FakeBox:
    held = CachedPack("1" * 64, ROOT / "cache/1", 5_000_000, 12, 0.0, ("old@v1",))
    settings = Settings.load(root=folder, cwd=folder, environ={"XDG_CONFIG_HOME": str(folder / "config")})
    box = FakeBox(cache=(held,), settings=settings)
    box.set_jobs(watch_job(), *sample_jobs())
    return box


@pytest.mark.parametrize("place", KEYS)
@pytest.mark.parametrize("read_only", [False, True], ids=["", "read-only"])
async def test_every_action_does_something_or_says_why_not(place: Place, read_only: bool, tmp_path: Path) -> None:
    async with driving(busy(tmp_path), read_only=read_only) as app:
        for action in ON_MAIN:
            if action.id != "quit" and (not read_only or action.danger is not Danger.NONE):
                await drive(app, action, place)
        await to_a_known_place(app, place)
        await app.press("q")
        await app.until(lambda: not app.app.is_running)
