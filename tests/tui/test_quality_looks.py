"""How the quality screen looks, as pictures somebody looked at. Numbers are the same every time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from noeira_tui.tui import quality_reading
from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import ASCII, SYMBOLS, Glyphs
from noeira_tui.tui.quality_table import QualityTable
from noeira_tui.tui.screens.quality import QualityScreen
from tests.support.catalog_build import SOURCES, write_catalog
from tests.tui.fake_box import FakeBox, frozen_clock

NARROW = (80, 24)
WIDE = (140, 40)
Snap = Callable[..., bool]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> QualityTable:
    place = write_catalog(tmp_path_factory.mktemp("looks") / "episodes", 400)
    columns = quality_reading.read_quality(str(place), quality_reading.CancelToken()).columns
    return QualityTable(columns, {SOURCES[0]: frozenset({1, 25, 133})})


def looking(*keys: str, theme: str = "noeira-dark") -> Callable[..., object]:
    """Opens the screen, then presses keys, each once the one before had its effect."""

    async def drive(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, NoeiraApp)
        app.theme = theme
        for _ in range(500):
            if app.main_screen.is_mounted and app.main_screen.focused is not None:
                break
            await pilot.pause(0.02)
        app.main_screen.watcher.stop()
        app.main_screen.act("quality")
        for _ in range(500):
            await pilot.pause(0.02)
            if isinstance(app.screen, QualityScreen) and app.screen.is_mounted and not app.screen.reading:
                break
        else:
            raise AssertionError("the quality screen never came")
        await still(pilot)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.02)
        await still(pilot)

    return drive


async def still(pilot: Pilot[None]) -> None:
    seen: list[str] = []
    for _ in range(500):
        await pilot.pause(0.02)
        seen.append("\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips()))
        if len(seen) >= 5 and len(set(seen[-5:])) == 1:
            return
    raise AssertionError("the screen never came to rest")


@pytest.fixture
def app_on(table: QualityTable, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NoeiraApp]:
    monkeypatch.setattr(quality_reading, "read_quality", lambda place, cancel: table)

    def make(glyphs: Glyphs = SYMBOLS) -> NoeiraApp:
        return make_app(FakeBox(), glyphs=glyphs, clock=frozen_clock)

    return make


Apps = Callable[..., NoeiraApp]


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
class TestLooks:
    def test_worst_first(self, snap_compare: Snap, app_on: Apps, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking("j", "space"))

    def test_a_flag(self, snap_compare: Snap, app_on: Apps, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking("tab", "j", "enter"))

    def test_rejecting(self, snap_compare: Snap, app_on: Apps, size: tuple[int, int]) -> None:
        keys = ("slash", *"datasets", "enter", "j", "space", "space", "X")
        assert snap_compare(app_on(), terminal_size=size, run_before=looking(*keys))


def test_a_very_wide_terminal(snap_compare: Snap, app_on: Apps) -> None:
    assert snap_compare(app_on(), terminal_size=(200, 50), run_before=looking("j", "space"))


def test_details(snap_compare: Snap, app_on: Apps) -> None:
    assert snap_compare(app_on(), terminal_size=NARROW, run_before=looking("d"))


def test_sort_in_light(snap_compare: Snap, app_on: Apps) -> None:
    run = looking("s", "j", "j", "j", "j", "j", theme="noeira-light")
    assert snap_compare(app_on(), terminal_size=WIDE, run_before=run)


def test_ascii(snap_compare: Snap, app_on: Apps) -> None:
    assert snap_compare(app_on(ASCII), terminal_size=NARROW, run_before=looking("j"))


def test_nothing_yet(snap_compare: Snap) -> None:
    app = make_app(FakeBox(), glyphs=SYMBOLS, clock=frozen_clock)
    assert snap_compare(app, terminal_size=NARROW, run_before=looking())
