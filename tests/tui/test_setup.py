"""Settings, colours and the way to a service, by keys alone; everything that is kept is kept in real files."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.settings import API_KEY, LOCAL_ONLY, MAX_RATE, PROJECTS, SLOTS, THEME, URL, Settings
from noeira_tui.core.settingsfile import read_settings_file, write_settings_file
from noeira_tui.overview import ownservice
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.modals.connect import ConnectDialog
from noeira_tui.tui.modals.first_run import FirstRunDialog
from noeira_tui.tui.modals.help import HelpDialog
from noeira_tui.tui.modals.own_service import OwnServiceDialog
from noeira_tui.tui.modals.setting_value import SettingValueDialog
from noeira_tui.tui.modals.settings import SettingsDialog
from noeira_tui.tui.modals.themes import ThemesDialog
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import clean
from noeira_tui.tui.widgets.painted import Painted
from tests.support.service_fixture import RunningService
from tests.support.service_process import until
from tests.tui.driving import NARROW, WIDE, Driver, driving
from tests.tui.fake_box import WEIRD_NAMES, FakeBox

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
        await app.until(lambda: isinstance(app.app.screen, SettingValueDialog))
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
        await app.until(lambda: isinstance(app.app.screen, SettingValueDialog))
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
            await app.until(lambda: isinstance(app.app.screen, SettingValueDialog))
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


# A service


@asynccontextmanager
async def first_run(settings: Settings, size: tuple[int, int]) -> AsyncIterator[Driver]:
    from noeira_tui.tui.app import make_app

    box = FakeBox(settings=settings)
    app = make_app(box, glyphs=SYMBOLS, asks_for_service=True)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot, box)
        await driver.until(lambda: isinstance(app.screen, FirstRunDialog))
        yield driver


@pytest.mark.parametrize("size", [NARROW, WIDE, (50, 20)])
async def test_a_box_without_a_service_is_asked_once(root: Path, size: tuple[int, int]) -> None:
    async with first_run(Settings.load(), size) as app:
        await app.until(lambda: "Go on without" in app.screen_text())
        for told in ("Connect to a service", "Start one on this box", "No catalog service"):
            await app.until(lambda told=told: told in app.screen_text(), told)  # type: ignore[misc]
        await app.press("G", "enter")
        await app.until(lambda: app.box.settings.get(LOCAL_ONLY) == "yes")
        await app.until(lambda: "S connects it to a service later" in app.toasts())


@pytest.mark.parametrize(("key", "done"), [("q", "left"), ("question_mark", "Keys"), ("1", "projects")])
async def test_keys_of_the_main_screen_work_at_once(root: Path, key: str, done: str) -> None:
    async with first_run(Settings.load(), NARROW) as app:
        await app.press(key)
        if done == "left":
            await app.until(lambda: app.app._exit)
        elif done == "projects":
            await app.until(lambda: app.app.screen is app.main and app.main.place is Place.PROJECTS)
        else:
            await app.until(lambda: isinstance(app.app.screen, HelpDialog))


async def test_with_a_service_the_ways_are_another_one_or_another_key(connected: Settings) -> None:
    async with set_up(connected, size=NARROW) as app:
        await app.press("S")
        await app.until(lambda: f"This box uses {connected.get(URL)}" in app.screen_text())
        assert "Go on without" not in app.screen_text()
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.focused, Input) and app.app.focused.id == "key")


async def test_not_now_asks_again_next_time(root: Path) -> None:
    async with first_run(Settings.load(), NARROW) as app:
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        assert not app.box.settings.config_file.exists()


async def test_a_wrong_key_is_told_mended_and_kept_for_the_owner_only(root: Path, service: RunningService) -> None:
    async with set_up(size=NARROW) as app:
        dialog = await open_connect(app)
        dialog._url.value = service.url
        await app.press("enter", *"nk_1_wrong", "enter")
        await app.until(lambda: "Wrong API key" in app.screen_text() and "whole key again" in app.screen_text())
        assert not app.box.settings.config_file.exists(), "nothing is kept before the service agrees"
        assert "nk_1_wrong" not in app.screen_text()
        await app.press("ctrl+u")
        dialog._key.value = service.key
        await app.press("enter")
        await app.until(lambda: app.box.settings.get(URL) == service.url)
        await app.until(lambda: "Connected to" in app.toasts())
        path = app.box.settings.config_file
        assert read_settings_file(path) == {URL: service.url, API_KEY: service.key}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert service.key not in app.screen_text() + app.toasts()


async def test_both_lines_are_pasted_at_once_into_a_dotenv(root: Path, service: RunningService) -> None:
    (root / ".env").write_text("# ours\n")
    async with set_up() as app:
        dialog = await open_connect(app)
        dialog._place.focus()  # pasted anywhere
        text = "".join(f"{name}={value}\n" for name, value in service.environ.items())
        assert app.app.focused is not None
        app.app.focused.post_message(events.Paste(text))
        await app.until(lambda: dialog._key.value == service.key and dialog._url.value == service.url)
        # The settings file is first, `.env` second.
        await app.until(lambda: app.app.focused is dialog._place)
        await app.press("right", "enter")
        await app.until(lambda: app.box.settings.get(URL) == service.url)
        assert (root / ".env").read_text().startswith("# ours\n")
        assert read_dotenv(root / ".env") == service.environ
        assert stat.S_IMODE((root / ".env").stat().st_mode) == 0o600
        assert not app.box.settings.config_file.exists()


async def test_lines_typed_by_a_terminal_that_cannot_paste_are_understood(root: Path, service: RunningService) -> None:
    async with set_up() as app:
        dialog = await open_connect(app)
        for name, value in service.environ.items():
            assert isinstance(app.app.focused, Input)
            app.app.focused.insert_text_at_cursor(f"{name}={value}")
            await app.press("enter")
        await app.until(lambda: app.box.settings.get(URL) == service.url)
        assert dialog._key.value == service.key


async def test_no_answer_and_no_service_are_told_apart(root: Path) -> None:
    async with set_up(size=NARROW) as app:
        dialog = await open_connect(app)
        await app.press("enter")
        await app.until(lambda: "address of the service is missing" in app.screen_text())
        assert app.app.focused is dialog._url, "what is missing is asked for"
        dialog._url.value, dialog._key.value = "http://127.0.0.1:1", "nk_1_x"
        dialog._key.focus()
        await app.press("enter")
        await app.until(lambda: "cannot be reached" in app.screen_text())
        assert "^s keeps it all the same" in app.screen_text()
        await app.press("ctrl+s")
        await app.until(lambda: app.box.settings.get(URL) == "http://127.0.0.1:1")
        await app.until(lambda: "gave no answer yet" in app.toasts())


async def test_an_address_that_is_none_is_refused_before_anybody_is_asked(root: Path) -> None:
    async with set_up() as app:
        dialog = await open_connect(app)
        dialog._url.value, dialog._key.value = "http://", "nk_1_x"
        dialog._key.focus()
        await app.press("enter")
        await app.until(lambda: "no http(s) address" in app.screen_text())


async def test_what_stands_in_the_way_of_a_kept_key_is_told(
    root: Path, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(API_KEY, "nk_1_from_the_shell_profile")
    async with set_up() as app:
        dialog = await open_connect(app)
        dialog._url.value, dialog._key.value = service.url, service.key
        dialog._key.focus()
        await app.press("enter")
        await app.until(lambda: f"{API_KEY} is set in the environment" in " ".join(app.screen_text().split()))
        assert read_settings_file(app.box.settings.config_file)[API_KEY] == service.key
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.main)


async def test_a_service_of_this_box_is_started_and_said_how_to_stop(root: Path) -> None:
    pid = 0
    try:
        async with set_up(size=NARROW) as app:
            await app.press("S")
            await app.until(lambda: isinstance(app.app.screen, FirstRunDialog))
            await app.press("j", "enter")
            await app.until(lambda: isinstance(app.app.screen, OwnServiceDialog))
            await app.until(lambda: "goes on without this app" in " ".join(app.screen_text().split()), deadline_s=40)
            running = ownservice.running(ownservice.service_dir(os.environ, root))
            assert running is not None
            pid = running.pid
            for told in (f"kill {pid}", "serve.log", "noeira-tui serve", "client.env", "config.toml"):
                await app.until(lambda told=told: told in app.screen_text(), told)  # type: ignore[misc]
            assert app.box.settings.get(URL) == running.connection.url
            assert app.box.settings.get(API_KEY) == running.connection.key
            await app.press("enter")
            await app.until(lambda: app.app.screen is app.main)
    finally:
        if pid:
            os.kill(pid, signal.SIGTERM)
            until(lambda: os.waitpid(pid, os.WNOHANG)[0] != 0, "it stops")


async def test_without_the_extra_it_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownservice, "find_spec", lambda name: None)
    async with set_up() as app:
        await app.press("S")
        await app.until(lambda: "pip install 'noeira-tui[server]'" in app.screen_text())
        await app.press("j", "enter")
        await app.until(lambda: "not installed" in app.toasts())
        assert isinstance(app.app.screen, FirstRunDialog)


def test_opening_asks_only_a_box_without_a_service(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from noeira_tui.tui import app as app_module
    from noeira_tui.tui.start import open_app

    asked: list[tuple[str | None, bool]] = []

    def run(box: object, *, theme: str | None, asks_for_service: bool, **others: object) -> int:
        asked.append((theme, asks_for_service))
        return 0

    monkeypatch.setattr(app_module, "run", run)
    open_app(Settings.load())
    (root / ".env").write_text(f"{LOCAL_ONLY}=yes\n{THEME}=nord\n")
    open_app(Settings.load())
    (root / ".env").write_text(f"{URL}=http://127.0.0.1:1\n")
    open_app(Settings.load())
    assert asked == [(None, True), ("nord", False), (None, False)]
