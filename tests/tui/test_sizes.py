"""Three panes, tabs, one list: the same data at every size."""

from __future__ import annotations

import pytest

from noeira_tui.core.states import State
from noeira_tui.overview.picture import ProjectView
from noeira_tui.tui.glyphs import ASCII
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, driving
from tests.tui.fake_box import FakeBox, overview, recording, sample_jobs


def busy() -> FakeBox:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    return box


async def test_wide_shows_three_panes() -> None:
    async with driving(busy(), size=(100, 30)) as app:
        text = app.screen_text()
        for name in ("shirts", "hopper-medium-v2", "libero@v1", "Not safe to destroy"):
            assert name in text


async def test_narrow_shows_one_pane_and_names_the_others() -> None:
    async with driving(busy(), size=NARROW) as app:
        text = app.screen_text()
        assert "hopper-medium-v2" in text
        assert "shirts" not in text
        for title in ("1 Projects", "2 Catalog", "3 Packs", "4 Jobs"):
            assert title in text
        await app.press("3")
        await app.until(lambda: "libero@v1" in app.screen_text())
        assert "✗ missing" in app.screen_text()
        await app.press("4")
        assert "libero@v1" in app.screen_text(), "the last pane stays in sight behind the jobs"


async def test_an_empty_catalog_does_not_hide_what_is_here() -> None:
    picture = overview(
        projects=(ProjectView("lab", True, False, recordings=(recording("lab", "arm", State.LOCAL, 7),)),)
    )
    async with driving(FakeBox(picture=picture), size=NARROW) as app:
        await app.until(lambda: "arm" in app.screen_text())
        assert app.main.place is Place.PROJECTS
        await app.press("2")
        looks = len(app.asked("look"))
        app.main.look_again()
        await app.until(lambda: len(app.asked("look")) > looks)
        assert app.main.place is Place.CATALOG, "only the first look moves the keyboard"


async def test_very_narrow_shows_one_list_with_headings() -> None:
    async with driving(busy(), size=(50, 40)) as app:
        text = app.screen_text()
        for name in ("1 Projects", "shirts", "2 Catalog", "hopper-medium-v2", "3 Packs", "libero@v1"):
            assert name in text
        await app.press("2", "down")
        assert app.main.place is Place.CATALOG
        await app.press("p")
        await app.until(lambda: app.asked("pull") == [("pull", "hopper-medium-v2", False)])


async def test_a_filter_in_the_one_list_works_on_all_of_it() -> None:
    async with driving(busy(), size=(50, 40)) as app:
        await app.press("/", *"missing")
        await app.until(lambda: app.names(Place.CATALOG).count("trial-01") == 0)
        names = app.names(Place.CATALOG)
        assert [name for name in names if "·" not in name] == ["pusht", "expert", "hopper-medium-v2", "libero@v1"]


async def test_resizing_keeps_the_cursor_and_the_keyboard() -> None:
    async with driving(busy(), size=(140, 40)) as app:
        await app.highlight("dataset:pusht-demos-v3")
        for width, height in ((80, 24), (140, 40), (100, 30)):
            await app.pilot.resize_terminal(width, height)
            await app.until(lambda width=width: app.app.size.width == width)  # type: ignore[misc]
            await app.until(lambda: app.main.current is not None)
            assert app.main.current is not None
            assert app.main.current.key == "dataset:pusht-demos-v3"
        await app.press("p")
        await app.until(lambda: app.asked("pull") == [("pull", "pusht-demos-v3", False)])


@pytest.mark.parametrize("size", [(200, 50), (120, 30), (99, 24), (60, 20), (59, 20), (40, 12), (20, 8), (10, 4)])
async def test_no_size_breaks_the_app(size: tuple[int, int]) -> None:
    async with driving(busy(), size=size) as app:
        for key in ("1", "3", "4", "2", "?", "escape", "enter", "escape", "D", "escape", "ctrl+p", "escape"):
            await app.press(key)
        assert app.app.is_running


@pytest.mark.parametrize("size", [(140, 40), (80, 24), (50, 24)])
async def test_a_c_locale_gets_nothing_but_ascii(size: tuple[int, int]) -> None:
    async with driving(busy(), size=size, glyphs=ASCII) as app:
        for keys in ((), ("4",), ("?",), ("escape", "ctrl+p"), ("escape", "2", "enter")):
            await app.press(*keys)
            await app.pilot.pause()
            text = app.screen_text()
            assert text.isascii(), sorted({character for character in text if ord(character) > 127})
