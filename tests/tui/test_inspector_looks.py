"""How the inspector looks, as pictures somebody looked at. Facts are frozen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import ASCII, SYMBOLS, Glyphs
from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.screens.inspector import InspectorScreen
from tests.tui.fake_box import FakeBox, frozen_clock
from tests.tui.fake_inspector import FakeInspector

NARROW = (80, 24)
WIDE = (140, 40)
Snap = Callable[..., bool]


async def still(pilot: Pilot[None]) -> None:
    """Wait until what is drawn is the same three times."""
    seen: list[str] = []
    for _ in range(500):
        await pilot.pause(0.02)
        seen.append("\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips()))
        if len(seen) >= 3 and seen[-1] == seen[-2] == seen[-3]:
            return
    raise AssertionError("the screen never came to rest")


def looking(*keys: str, theme: str = "noeira-dark", fails: str = "", glyphs: Glyphs = SYMBOLS) -> Callable[..., object]:
    """Opens the inspector on facts, then presses keys, each once the one before had its effect."""

    async def drive(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, NoeiraApp)
        app.theme = theme
        app.main_screen.watcher.stop()
        inspector = FakeInspector(frozenset(fails.split()))
        uri = "s3://robots/so101/cube-in-bowl"
        screen = InspectorScreen(uri, lambda _: inspector, glyphs, size_bytes=464_000_000)  # type: ignore[arg-type,return-value]
        await app.push_screen(screen)
        for key in ("", *keys):
            if key:
                await pilot.press(key)
            for _ in range(500):
                await pilot.pause(0.02)
                look = screen.look
                wants = screen.section is Section.EPISODES and look.is_seen and screen.view.state.display
                plotted = not wants or look.series is not None or bool(look.failures)
                frame = not look.shown.frame or screen.view.frame.picture is not None or bool(look.failures)
                if not screen.reads.running and plotted and frame:
                    break
        await still(pilot)

    return drive


def app_on(glyphs: Glyphs = SYMBOLS) -> NoeiraApp:
    return make_app(FakeBox(), glyphs=glyphs, clock=frozen_clock)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
class TestLooks:
    def test_summary(self, snap_compare: Snap, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking())

    def test_episodes(self, snap_compare: Snap, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking("3", "j", "j", "j", "L", "L"))

    def test_frame(self, snap_compare: Snap, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking("3", "f", "L", "c"))

    def test_plot_cannot_be_read(self, snap_compare: Snap, size: tuple[int, int]) -> None:
        assert snap_compare(app_on(), terminal_size=size, run_before=looking("3", fails="series"))


def test_a_very_wide_terminal_shows_the_tasks(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=(200, 50), run_before=looking("3", "f", "L"))


def test_bars_stay_beside_their_counts(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=(200, 50), run_before=looking("7"))


def test_help_says_a_reason_once(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=(200, 50), run_before=looking("question_mark"))


def test_problems(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=NARROW, run_before=looking("5", "V"))


def test_statistics(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=NARROW, run_before=looking("6"))


def test_lengths(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=NARROW, run_before=looking("7"))


def test_nothing_can_be_read(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=NARROW, run_before=looking(fails="summary"))


def test_one_dimension_in_light(snap_compare: Snap) -> None:
    run = looking("3", "d", "d", theme="noeira-light")
    assert snap_compare(app_on(), terminal_size=WIDE, run_before=run)


def test_ascii(snap_compare: Snap) -> None:
    run = looking("3", "f", "f", glyphs=ASCII)
    assert snap_compare(app_on(ASCII), terminal_size=NARROW, run_before=run)


def test_plots_alone(snap_compare: Snap) -> None:
    assert snap_compare(app_on(), terminal_size=(58, 20), run_before=looking("3", "enter", "L"))
