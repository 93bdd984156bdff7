"""Settings and colours by keys alone; everything that is kept is kept in real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.core.settings import API_KEY, LOCAL_ONLY, MAX_RATE, PROJECTS, SLOTS, THEME, Settings
from noeira_tui.core.settingsfile import read_settings_file, write_settings_file
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.modals.setting_value import SettingValueDialog
from noeira_tui.tui.modals.settings import SettingsDialog
from noeira_tui.tui.modals.themes import ThemesDialog
from noeira_tui.tui.text import clean
from noeira_tui.tui.widgets.painted import Painted
from tests.tui.driving import NARROW, WIDE, Driver
from tests.tui.fake_box import WEIRD_NAMES, FakeBox
from tests.tui.setting_up import KEY, open_settings, set_up

# Settings


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_every_setting_is_shown_with_its_source_and_no_key_is(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv(MAX_RATE, "9MB")
    (root / ".env").write_text(f"{API_KEY}={KEY}\n")
    write_settings_file(Settings.load().config_file, {SLOTS: "3", MAX_RATE: "5MB"})
    async with set_up(size=size) as app:
        await open_settings(app, MAX_RATE)
        text = app.screen_text()
        for told in ("cloud_url", "no service", "cloud_api_key", "55a8", "max_rate", "9MB", "transfer_slots", "theme"):
            assert told in text, told
        for source in ("environment", ".env", "settings file", "default"):
            assert source in text
        assert "counts before the settings file; it says" in " ".join(text.split())
        assert KEY not in text
        await app.press("home", "j", "y")
        assert app.app._clipboard == "", "a key is not copied"


async def test_a_setting_is_edited_refused_and_taken_out(root: Path) -> None:
    async with set_up() as app:
        dialog = await open_settings(app, SLOTS)
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, SettingValueDialog) and app.app.screen.focused)
        await app.press(*"99", "enter")
        await app.until(lambda: "from 1 to 64" in app.screen_text())
        assert isinstance(app.app.screen, SettingValueDialog), "refused: nothing was saved"
        await app.press("backspace", "backspace", "4", "enter")
        await app.until(lambda: app.box.settings.get(SLOTS) == "4")
        await app.until(lambda: app.app.screen is dialog and "4" in app.screen_text())
        assert read_settings_file(app.box.settings.config_file) == {SLOTS: "4"}
        await app.press("delete")
        await app.until(lambda: app.box.settings.get(SLOTS) is None)
        await app.press("backspace")
        await app.until(lambda: "does not name transfer_slots" in app.toasts())
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)


async def test_what_the_environment_overrules_is_said_after_saving_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOTS, "7")
    async with set_up() as app:
        await open_settings(app, SLOTS)
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, SettingValueDialog) and app.app.screen.focused)
        await app.press("backspace", "5", "enter")
        await app.until(lambda: "but environment counts first" in app.toasts())
        assert read_settings_file(app.box.settings.config_file) == {SLOTS: "5"}
        assert app.box.settings.get(SLOTS) == "7"


async def test_a_switch_is_switched_by_enter(root: Path) -> None:
    async with set_up() as app:
        await open_settings(app, LOCAL_ONLY)
        await app.press("enter")
        await app.until(lambda: app.box.settings.get(LOCAL_ONLY) == "yes")
        await app.press("enter")
        await app.until(lambda: app.box.settings.get(LOCAL_ONLY) == "no")


async def test_read_only_shows_settings_and_changes_none(root: Path) -> None:
    async with set_up(read_only=True) as app:
        await app.press("S")
        await app.until(lambda: "read-only" in app.toasts())
        assert app.app.screen is app.main
        await open_settings(app, SLOTS)
        await app.press("enter", "delete")
        await app.until(lambda: app.toasts().count("read-only") >= 2)
        assert isinstance(app.app.screen, SettingsDialog)
        assert not app.box.settings.config_file.exists()


async def test_a_settings_file_that_was_damaged_meanwhile_is_said_and_kept(root: Path) -> None:
    async with set_up() as app:
        await open_settings(app, LOCAL_ONLY)
        path = app.box.settings.config_file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("what = is this")
        await app.press("enter")
        await app.until(lambda: "config.toml" in app.screen_text() and "Configuration" in app.screen_text())
        assert path.read_text() == "what = is this"


async def test_weird_values_are_shown_literally(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with set_up(size=NARROW) as app:
        for name in WEIRD_NAMES:
            monkeypatch.setenv(PROJECTS, name)
            app.box.settings = app.box.settings.reload()
            dialog = await open_settings(app, PROJECTS)
            about = dialog.query_one(".about", Painted)
            await app.until(lambda: clean(name)[:20] in about.text.replace("\n", ""), name)  # noqa: B023  awaited here
            await app.type("enter")
            await app.until(lambda: isinstance(app.app.screen, SettingValueDialog) and app.app.screen.focused)
            assert not set(app.screen_text()) & set("\x1b\u202e\udcff\x07")
            await app.type("escape", "escape")
            await app.until(lambda: app.app.screen is app.main)


# Colours


async def test_a_theme_is_seen_before_it_is_chosen_and_remembered(root: Path) -> None:
    async with set_up() as app:
        await app.press("ctrl+p", *"choose", "enter")
        await app.until(lambda: isinstance(app.app.screen, ThemesDialog))
        await app.press("down")
        await app.until(lambda: app.app.theme == "noeira-light")
        await app.press("escape")
        await app.until(lambda: app.app.theme == "noeira-dark")
        assert not app.box.settings.config_file.exists()

        await app.press("ctrl+p", *"choose", "enter")
        await app.until(lambda: isinstance(app.app.screen, ThemesDialog))
        await app.press("down", "down", "enter")
        await app.until(lambda: app.box.settings.get(THEME) is not None)
        assert app.box.settings.get(THEME) == app.app.theme != "noeira-dark"


async def test_the_theme_is_chosen_in_the_settings_too_and_taken_back(root: Path) -> None:
    async with set_up() as app:
        dialog = await open_settings(app, THEME)
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, ThemesDialog))
        await app.press("j", "enter")
        await app.until(lambda: app.app.screen is dialog and "noeira-light" in app.screen_text())
        await app.press("delete")
        await app.until(lambda: app.app.theme == "noeira-dark")


async def test_light_or_dark_is_remembered(root: Path) -> None:
    async with set_up() as app:
        await app.press("ctrl+p", *"light or dark", "enter")
        await app.until(lambda: app.box.settings.get(THEME) == "noeira-light")
        assert app.app.theme == "noeira-light"


async def test_the_app_opens_with_the_remembered_theme_and_survives_one_that_is_gone() -> None:
    from noeira_tui.tui.app import make_app

    app = make_app(FakeBox(), glyphs=SYMBOLS, theme="noeira-light")
    assert app.theme == "noeira-light"
    gone = make_app(FakeBox(), glyphs=SYMBOLS, theme="[solarized")
    async with gone.run_test() as pilot:
        assert gone.theme == "noeira-dark"
        driver = Driver(gone, pilot, FakeBox())
        await driver.until(lambda: "no theme [solarized" in driver.toasts())
