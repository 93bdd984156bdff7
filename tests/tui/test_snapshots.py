"""How the app looks, as pictures somebody looked at. Times and facts are frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from noeira_tui.assets.compare import FileProblem, Trouble
from noeira_tui.core.states import State
from noeira_tui.overview.packfacts import PackFacts
from noeira_tui.overview.picture import ServiceView
from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import ASCII, SYMBOLS, Glyphs
from tests.tui.fake_box import NOW, ROOT, FakeBox, dataset, frozen_clock, overview, pack, sample, sample_jobs, watch_job

NARROW = (80, 24)
WIDE = (140, 40)


def app_on(box: FakeBox, glyphs: Glyphs = SYMBOLS) -> NoeiraApp:
    return make_app(box, glyphs=glyphs, clock=frozen_clock)


def busy() -> FakeBox:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    return box


def watched() -> FakeBox:
    """A recording that is watched, and packs with something to say."""
    aloha = pack(
        "aloha",
        "v1",
        State.PARTIAL,
        77_000_000,
        "1 of 3 files is gone: meshes/gripper.stl.",
        problems=(FileProblem("meshes/gripper.stl", Trouble.GONE),),
        installed_version="v1",
        installed_at=NOW - 7200,
    )
    box = FakeBox(facts=PackFacts("HF_TOKEN", "environment", True, "", 2, 0, (ROOT / "sim/assets/aloha",)))
    box.picture = replace(box.picture, packs=(*box.picture.packs[:2], aloha))
    box.set_jobs(watch_job(), *sample_jobs())
    return box


def offline() -> FakeBox:
    picture = sample()
    away = ServiceView(
        "https://cloud.noeira.ai",
        False,
        None,
        "The connection was refused.",
        "Service unreachable",
        "",
        NOW,
        NOW - 2400,
    )
    known = {State.MISSING, State.PARTIAL}
    rows = tuple(
        view if view.state in known else replace(view, state=State.UNKNOWN, last_state=view.state)
        for view in picture.datasets
    )
    return FakeBox(picture=replace(picture, service=away, datasets=rows))


async def still(pilot: Pilot[None]) -> None:
    """Wait until the screen has not changed for a while: dialogs fill themselves, the box is asked what can be done."""
    seen: object = None
    same = 0
    for _ in range(400):
        now = (pilot.app.screen, pilot.app.screen._compositor.render_strips())
        same = same + 1 if now == seen else 0
        if same == 5:
            return
        seen = now
        # A picture costs more than a wait: few are compared, as long a time apart as it takes to be sure.
        await pilot.pause(0.05)
    raise AssertionError("the screen never came to rest")


def settled(*keys: str, theme: str | None = None) -> Callable[[Pilot[None]], object]:
    """Waits for the first whole picture, then presses keys."""

    async def drive(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, NoeiraApp)
        board = app.main_screen.board
        for _ in range(1000):
            if board.overview is not None and not app.main_screen.looking and app.main_screen.jobs_known:
                break
            await pilot.pause(0.01)
        else:
            raise AssertionError("no picture came")
        if theme is not None:
            app.theme = theme
        await still(pilot)
        await pilot.press(*keys)
        app.main_screen.watcher.stop()
        await still(pilot)

    return drive


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
class TestLooks:
    def test_busy(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled())

    def test_light(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("1", "j", theme="noeira-light"))

    def test_offline(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(offline()), terminal_size=size, run_before=settled())

    def test_no_service(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        box = FakeBox(picture=overview(service=ServiceView(None)))
        assert snap_compare(app_on(box), terminal_size=size, run_before=settled())

    def test_ascii(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy(), ASCII), terminal_size=size, run_before=settled())

    def test_details(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("j", "enter"))

    def test_watched(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        to_cube = settled("1", "end", "up")
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=to_cube)

    def test_packs(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=settled("3", "space", "space"))

    def test_recording_details(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=settled("1", "end", "up", "enter"))

    def test_pack_details(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=settled("3", "j", "enter"))

    def test_unsent(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=settled("D"))

    def test_make_project(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(watched()), terminal_size=size, run_before=settled("1", "j", "p"))

    def test_help(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("?"))


@pytest.mark.parametrize("size", [(100, 30), (200, 50)], ids=["100x30", "200x50"])
class TestMainScreen:
    """At the sizes between and beyond."""

    def test_dark(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled())

    def test_light(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("3", theme="noeira-light"))


@pytest.mark.parametrize("size", [NARROW, (100, 30), WIDE, (200, 50)], ids=["80x24", "100x30", "140x40", "200x50"])
def test_no_colour(snap_compare: Callable[..., bool], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("1", "j"))


@pytest.mark.parametrize(
    ("size", "keys"),
    [((100, 30), ("f",)), (NARROW, ("D",)), (NARROW, ("u",)), (NARROW, ("4", "x"))],
    ids=["jump", "unsent", "toast", "typed"],
)
def test_told_apart_without_colours(
    snap_compare: Callable[..., bool], size: tuple[int, int], keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled(*keys))


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
class TestFreeing:
    """What `x` asks, and where `f` goes."""

    def test_typed(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("end", "x"))

    def test_jump(self, snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
        assert snap_compare(app_on(busy()), terminal_size=size, run_before=settled("f"))


def test_labels_of_two_letters_cover_no_name(snap_compare: Callable[..., bool]) -> None:
    many = overview(datasets=tuple(dataset(f"walker-{index:03d}-v1", State.REMOTE) for index in range(100)))
    assert snap_compare(app_on(FakeBox(picture=many)), terminal_size=WIDE, run_before=settled("f"))


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
def test_themes_of_others(snap_compare: Callable[..., bool], theme: str) -> None:
    assert snap_compare(app_on(busy()), terminal_size=(100, 30), run_before=settled("3", theme=theme))


def test_one_list(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app_on(busy()), terminal_size=(50, 30), run_before=settled())
