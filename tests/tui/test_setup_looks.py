"""How the dialogs of settings, colours and the service look, as pictures somebody looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from noeira_tui.core.settings import API_KEY, MAX_RATE, SLOTS, SPECS, THEME, URL, Setting, Settings, Source
from noeira_tui.overview import ownservice
from noeira_tui.overview.picture import ServiceView
from noeira_tui.tui.app import NoeiraApp
from tests.tui.driving import NARROW, WIDE
from tests.tui.fake_box import NO_SETTINGS, ROOT, FakeBox, overview
from tests.tui.test_snapshots import app_on, settled, still

CONFIG = Path("/data/home/.config/noeira-tui/config.toml")
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


@pytest.fixture(autouse=True)
def _a_box_of_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same places on every machine; nothing is read or written there."""
    monkeypatch.setenv(ownservice.DATA_DIR, "/data/home/service")
    monkeypatch.setattr(ownservice, "missing_extra", lambda: None)


def settings_of(given: Mapping[str, Setting]) -> Settings:
    values = {**NO_SETTINGS, **given}
    return Settings(root=ROOT, cwd=ROOT, env_file=None, places=(), _values=values, config_file=CONFIG)


def empty_box() -> FakeBox:
    return FakeBox(picture=overview(service=ServiceView(None)), settings=settings_of({}))


def box_with_settings() -> FakeBox:
    env = ("environment", Source.ENVIRONMENT)
    dotenv = (str(ROOT / ".env"), Source.DOTENV)
    values = {
        URL: ("https://cloud.noeira.ai", *dotenv),
        API_KEY: ("nk_3f9a77b2c1d0_4e55a8", *dotenv),
        MAX_RATE: ("40MB", *env),
        SLOTS: ("4", str(CONFIG), Source.FILE),
        THEME: ("nord", str(CONFIG), Source.FILE),
    }
    given = {
        spec.name: Setting(spec, value=values[spec.name][0], source=values[spec.name][2], place=values[spec.name][1])
        for spec in SPECS
        if spec.name in values
    }
    return FakeBox(settings=settings_of(given))


def opened(*keys: str, theme: str | None = None, act: str = "") -> Callable[[Pilot[None]], object]:
    """Opens a dialog; a cursor that blinks is never at rest."""
    begin = settled(theme=theme)

    async def drive(pilot: Pilot[None]) -> None:
        await begin(pilot)  # type: ignore[misc]
        assert isinstance(pilot.app, NoeiraApp)
        if act:
            pilot.app.main_screen.act(act)
        await pilot.press(*keys)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await still(pilot)

    return drive


@SIZES
def test_settings(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    drive = opened("comma", *["j"] * 7)
    assert snap_compare(app_on(box_with_settings()), terminal_size=size, run_before=drive)


@SIZES
def test_connect(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    drive = opened("S", "enter")
    assert snap_compare(app_on(empty_box()), terminal_size=size, run_before=drive)


def test_first_run(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app_on(empty_box()), terminal_size=WIDE, run_before=opened("S", theme="noeira-light"))


def test_themes(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app_on(FakeBox()), terminal_size=WIDE, run_before=opened("j", act="themes"))
