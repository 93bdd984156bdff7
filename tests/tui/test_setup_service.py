"""The way to a service by keys alone; everything that is kept is kept in real files."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.settings import API_KEY, LOCAL_ONLY, THEME, URL, Settings
from noeira_tui.core.settingsfile import read_settings_file
from noeira_tui.overview import ownservice
from noeira_tui.tui.modals.first_run import FirstRunDialog
from noeira_tui.tui.modals.help import HelpDialog
from noeira_tui.tui.modals.own_service import OwnServiceDialog
from noeira_tui.tui.rows import Place
from tests.support.service_fixture import RunningService
from tests.support.service_process import until
from tests.tui.driving import NARROW, WIDE
from tests.tui.setting_up import first_run, open_connect, set_up


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
