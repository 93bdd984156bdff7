"""Episodes in the inspector: plots at a cursor, dimensions, a camera's frame, a hundred thousand of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.widgets.episode_view import ALL_FROM
from noeira_tui.tui.widgets.plot import Plot
from tests.tui.inspecting import inspecting, write_many, write_small


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("inspected"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_many(tmp_path_factory.mktemp("many"))


async def test_state_and_action_are_plotted_and_read_at_a_cursor(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        await looking.press("3")
        await looking.plotted(0)
        await looking.press("j", "j")
        await looking.plotted(2)
        look, state = looking.screen.look, looking.screen.query_one("#state", Plot)
        assert look.frames == 42
        await looking.press("right", "right", "left")
        assert look.frame > 0
        await looking.press("end")
        await looking.plotted(4)
        await looking.press("full_stop", "full_stop", "full_stop")
        assert look.frame == 3
        series = look.series
        assert series is not None
        assert series.state is not None
        for number in range(6):
            assert f"j{number} {series.state[3, number]:.4g}" in " ".join(state.legend.split()), state.legend
        assert "frame 3 of 44" in looking.shown
        await looking.press("L", "comma")
        assert look.frame == 3 + round(44 * 0.1) - 1


async def test_dimensions_one_by_one_and_all(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        await looking.press("3")
        await looking.plotted(0)
        state, action = looking.screen.query_one("#state", Plot), looking.screen.query_one("#action", Plot)
        looking.driver.app.set_keymap({"inspector_dimension": "f5"})
        await looking.press("f5")
        assert "dimension 1 of 6" in looking.shown, "its keys can be remapped"
        assert state.legend.startswith("j0 ")
        assert " min " in state.legend
        await looking.press("D", "D")
        assert state.legend.startswith("j5 ")
        await looking.press("a")
        assert "6 dimensions" in looking.shown
        await looking.press("s")
        assert (state.display, action.display) == (True, False)
        await looking.press("s")
        assert (state.display, action.display) == (False, True)
        await looking.press("s")
        assert (state.display, action.display) == (True, True)


async def test_the_parts_are_laid_out_before_they_are_seen(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        view = looking.screen.view
        assert not view.display
        assert not view.frame.display, "else it flashes up when the episodes are opened"
        assert view._right.display
        assert view.about.display == (looking.screen.size.height - 4 >= ALL_FROM)


async def test_a_camera_and_a_moment_are_chosen_by_keys(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        await looking.go_to(Section.EPISODES)
        await looking.press("c")
        assert "No frame is shown" in looking.driver.toasts()
        await looking.press("f")
        frame = looking.screen.view.frame
        await looking.until(lambda: frame.picture, "a frame")
        first = frame.picture
        assert first is not None
        assert (first.camera, first.width, first.height) == ("observation.images.front", 64, 48)
        assert "▀" in looking.shown
        await looking.press("L", "L")
        await looking.until(lambda: frame.picture is not None and frame.picture.at_s > first.at_s, "a later frame")
        await looking.press("c")
        await looking.until(lambda: frame.picture is not None and frame.picture.camera.endswith("wrist"), "wrist")
        assert "observation.images.wrist 2/2" in looking.shown
        await looking.press("C")
        await looking.until(lambda: frame.picture is not None and frame.picture.camera.endswith("front"), "front")
        await looking.press("m")
        assert "Drawn as letters" in looking.driver.toasts()
        assert "▀" not in looking.shown
        await looking.press("m", "escape")
        assert frame.drawing == "half blocks"
        assert not frame.display
        assert looking.is_open, "escape hides the frame before it leaves"


async def test_a_frame_without_its_decoder_says_what_to_install(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "av.py").write_text("raise ModuleNotFoundError('No module named av', name='av')", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with inspecting(made / "small") as looking:
        await looking.go_to(Section.EPISODES)
        await looking.press("f")
        await looking.until(lambda: "pip install 'noeira-tui[preview]'" in looking.screen.view.frame.notice)
        assert "noeira-tui[preview]" in looking.shown


async def test_pictures_and_numbers_of_a_zarr(made: Path) -> None:
    async with inspecting(made / "images.zarr") as looking:
        await looking.press("3")
        await looking.plotted(0)
        assert looking.screen.look.dimensions > 0


async def test_a_hundred_thousand_episodes_cost_what_is_in_sight(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with inspecting(many) as looking:
        await looking.go_to(Section.EPISODES)
        table = looking.screen.table
        assert table is not None
        assert len(table) == 100_000
        made = 0
        original = type(table).episode  # type: ignore[attr-defined]

        def counted(self: object, row: int) -> object:
            nonlocal made
            made += 1
            return original(self, row)

        monkeypatch.setattr(type(table), "episode", counted)
        for key, at in (("G", 99_999), ("k", 99_998), ("<", 0), ("pagedown", None), ("ctrl+u", 0), ("j", 1)):
            made = 0
            await looking.press(key)
            await looking.driver.pilot.pause()
            cursor = looking.screen.view.list.cursor
            assert at is None or cursor == at
            assert f"{cursor:,}".replace(",", "") in looking.shown
            assert made <= 3 * 40, f"{key}: as many as are in sight, a few times"
        await looking.press("slash", *"100000", "enter")
        await looking.until(lambda: "There is no episode 100000." in looking.shown)
        await looking.press("backspace", "enter")
        await looking.until(lambda: looking.screen.view.list.cursor == 10_000)
        assert looking.screen.look.episode is not None
        assert looking.screen.look.episode.index == 10_000
