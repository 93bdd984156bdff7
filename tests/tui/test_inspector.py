"""The inspector by keys alone: where it opens, every section, names, sizes, datasets of other people."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noeira_tui.core.states import State
from noeira_tui.tui.glyphs import ASCII
from noeira_tui.tui.inspections import address_of, unquoted
from noeira_tui.tui.inspector_actions import BY_ID, INSPECTOR, Inspecting, Section
from noeira_tui.tui.rows import Place
from noeira_tui.tui.screens.inspector_keys import InspectorKeys
from noeira_tui.tui.widgets.plot import Plot
from tests.support.datasets_build import write_v3
from tests.support.datasets_stores import SHARED
from tests.tui.driving import NARROW, driving
from tests.tui.fake_box import WEIRD_NAMES, FakeBox, dataset, recording
from tests.tui.inspecting import Looking, inspecting, write_small


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("inspected"))


# Where it opens


async def test_i_opens_it_on_the_copy_of_this_box(made: Path) -> None:
    box = FakeBox()
    here = recording("so101-tower", "trial-01", State.CURRENT, 5, folder=made / "small", size_bytes=4_200_000)
    tower = replace(box.picture.projects[0], recordings=(here,))
    box.picture = replace(box.picture, projects=(tower, *box.picture.projects[1:]))
    async with driving(box) as app:
        await app.press("1")
        await app.highlight("recording:so101-tower/trial-01")
        await app.press("i")
        looking = Looking(app)
        await app.until(lambda: looking.is_open)
        await looking.settled()
        assert looking.screen.uri == str(made / "small")
        assert "so101_follower" in looking.shown
        assert "4.2 MB" in looking.shown, "the size is known of the recording"
        await app.press("escape")
        await app.until(lambda: not looking.is_open)
        assert app.app.screen is app.main


async def test_i_says_where_it_works() -> None:
    async with driving() as app:
        await app.press("3", "i")
        assert "recordings and datasets of the catalog" in app.toasts()
        await app.press("2")
        await app.highlight("dataset:walker-broken-v1")
        await app.press("i")
        assert "upload never completed" in app.toasts()
        await app.press("1")
        await app.highlight("project:pusht")
        await app.press("i")
        assert "Highlight a recording of pusht" in app.toasts()


def test_the_address_is_the_copy_here_else_that_of_the_service(tmp_path: Path) -> None:
    assert address_of(recording("p", "d", State.REMOTE, 3)) == "noeira://projects/p/d"
    assert address_of(recording("p", "d", State.AHEAD, 3, folder=tmp_path)) == str(tmp_path)
    assert address_of(dataset("walker-v1", State.REMOTE)) == "noeira://datasets/walker-v1"
    assert address_of(dataset("walker-v1", State.MISSING, path=tmp_path / "gone.h5")) == "noeira://datasets/walker-v1"
    assert address_of(dataset("walker-v1", State.CURRENT, path=tmp_path / "walker.h5")) == str(tmp_path / "walker.h5")


def test_an_address_as_it_is_pasted() -> None:
    assert unquoted(" s3://bucket/a \n") == "s3://bucket/a"
    assert unquoted("'/data/with blank'") == "/data/with blank"
    assert unquoted('"') == '"'


async def test_an_address_is_typed_and_an_empty_one_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    async with driving() as app:
        await app.press("I", "enter")
        await app.until(lambda: "Type or paste an address" in app.screen_text())
        await app.press(*"small", "enter")
        looking = Looking(app)
        await app.until(lambda: looking.is_open)
        await looking.settled()
        assert looking.screen.info is not None
        await app.press("escape", "I")
        await app.until(lambda: "small" in app.screen_text(), "what was typed last is offered again")


# The sections


async def test_every_section_by_its_key(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        assert "lerobot-v3 (v3.0)" in looking.text
        assert "observation.images.wrist  64×48 video" in looking.text
        await looking.go_to(Section.FEATURES)
        assert "j0, j1, j2, j3, j4, j5" in looking.text
        await looking.go_to(Section.TASKS)
        assert looking.text.splitlines() == ["0  pick", "1  place"]
        await looking.go_to(Section.PROBLEMS)
        assert "No problem was found" in looking.text
        assert "V compares them" in looking.text
        await looking.go_to(Section.STATISTICS)
        assert "observation.state" in looking.text
        assert "0.5" in looking.text
        await looking.go_to(Section.LENGTHS)
        assert looking.screen.histogram is not None
        assert sum(int(line.split()[-1]) for line in looking.text.splitlines()[1:] if "█" in line) == 5
        await looking.press("tab")
        assert looking.screen.section is Section.SUMMARY
        await looking.press("shift+tab")
        assert looking.screen.section is Section.LENGTHS


async def test_the_bytes_that_were_read_are_told(made: Path) -> None:
    async with inspecting(made / "small") as looking:
        sizes = [(made / "small/meta" / name).stat().st_size for name in ("info.json", "tasks.parquet")]
        cost = looking.screen.reads.cost
        assert cost is not None
        assert (cost.bytes_read, cost.requests) == (sum(sizes), 2), "nothing but the metadata, until somebody looks"
        assert "kB read · 2 requests" in looking.painted("#header")


async def test_what_is_empty_says_so(tmp_path: Path) -> None:
    meta = write_v3(tmp_path / "none", episodes=1, cameras=()) / "meta"
    (meta / "stats.json").unlink()
    info = json.loads((meta / "info.json").read_text())
    (meta / "info.json").write_text(json.dumps(info | {"total_episodes": 0, "total_frames": 0}))
    table = meta / "episodes/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(table).slice(0, 0), table)
    async with inspecting(tmp_path / "none") as looking:
        assert "cameras      none" in looking.text
        await looking.go_to(Section.EPISODES)
        assert "There are no episodes in it." in looking.text
        await looking.press("f")
        assert "no episodes" in looking.driver.toasts()
        await looking.go_to(Section.STATISTICS)
        assert "keeps no statistics" in looking.text
        await looking.go_to(Section.LENGTHS)
        assert "No episode tells how long it is." in looking.text


# Names, keys, sizes


async def test_weird_names_are_literal(tmp_path: Path) -> None:
    folder = write_v3(tmp_path / "[bold]weird [", episodes=2, cameras=())
    info = json.loads((folder / "meta/info.json").read_text())
    names = [name.encode("utf-8", "replace").decode() for name in WEIRD_NAMES]
    info["robot_type"] = names[0]
    info["features"]["action"]["names"] = [names[1], names[2], names[6], names[7], names[8], names[9]]
    (folder / "meta/info.json").write_text(json.dumps(info))
    index = "__index_level_0__"
    pq.write_table(pa.table({"task_index": range(len(names)), index: names}), folder / "meta/tasks.parquet")
    for glyphs in (None, ASCII):
        async with inspecting(folder, **({} if glyphs is None else {"glyphs": glyphs})) as looking:
            assert "[bold]weird [" in looking.painted("#header")
            assert "[/" in looking.text
            await looking.go_to(Section.TASKS)
            assert "[@click=app.quit]x" in looking.text
            assert "\x1b" not in looking.text
            assert "\\x1b[31mred\\x07" in looking.text
            await looking.press("3")
            await looking.plotted(0)
            assert "[bold" in looking.screen.query_one("#action", Plot).legend
            await looking.press("2", "y", "?", "escape", "ctrl+p", "escape")
            assert looking.is_open


def test_ids_and_keys_of_the_inspector_are_unique() -> None:
    keys = [key for action in INSPECTOR for key in action.keys]
    assert len(keys) == len(set(keys))
    assert len(BY_ID) == len(INSPECTOR)


async def test_every_action_of_the_inspector_is_done_or_says_why_not(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with inspecting(made / "small") as looking:
        assert set(InspectorKeys(looking.screen).handlers) == set(BY_ID)
        told: list[str] = []
        monkeypatch.setattr(looking.screen, "tell", lambda text, **_: told.append(text))
        for section in (Section.SUMMARY, Section.EPISODES):
            for action in INSPECTOR:
                if action.label in {"back", "quit", "commands", "help", "go to"} or action.label in list(Section):
                    continue
                looking.screen.go_to(section)
                reason = action.why_not(looking.screen.situation())
                looking.screen.act(action.id)
                assert reason is None or told[-1] == reason
        await looking.settled()


def test_outside_the_inspector_its_actions_do_nothing() -> None:
    situation = Inspecting(place=Place.CATALOG)
    assert all(action.why_not(situation) is not None or not action.elsewhere for action in INSPECTOR)


async def test_the_list_and_the_plots_take_turns_where_it_is_narrow(made: Path) -> None:
    async with inspecting(made / "small", size=(58, 20)) as looking:
        await looking.go_to(Section.EPISODES)
        view = looking.screen.view
        assert view.list.display
        assert not view.state.parent.display  # type: ignore[union-attr]
        assert "enter plots" in looking.keys
        assert looking.screen.look.series is None, "nothing is read that is not in sight"
        await looking.press("enter")
        await looking.plotted(0)
        assert not view.list.display
        await looking.press("j")
        await looking.plotted(1)
        await looking.press("f")
        await looking.until(lambda: view.frame.picture)
        assert not view.state.display
        await looking.press("b")
        assert "data/chunk-000/file-000.parquet" in looking.shown
        await looking.press("escape", "escape")
        assert view.list.display
        await looking.press("escape")
        await looking.until(lambda: not looking.is_open)


async def test_it_follows_the_size_of_the_terminal(made: Path) -> None:
    async with inspecting(made / "small", size=NARROW) as looking:
        await looking.press("3")
        await looking.plotted(0)
        for size in ((58, 20), (140, 40), (30, 8), (80, 24)):
            await looking.driver.pilot.resize_terminal(*size)
            await looking.driver.pilot.pause()
            assert "small" in looking.painted("#header") or size == (30, 8)
        assert looking.screen.view.list.display


async def test_quality_is_shown_beside_the_plot_where_something_is_known(made: Path) -> None:
    from noeira_tui.tui.glyphs import SYMBOLS
    from noeira_tui.tui.inspecting import opener
    from noeira_tui.tui.screens.inspector import InspectorScreen

    asked: list[tuple[str, int]] = []

    def quality_of(uri: str, series: object) -> tuple[tuple[tuple[str, str], ...], ...] | None:
        index = series.episode_index  # type: ignore[attr-defined]
        asked.append((uri, index))
        return ((("score 7.3", "good"),),) if index == 0 else None

    async with driving() as app:
        uri = str(made / "small")
        opened = opener(uri, app.box.settings)
        app.app.push_screen(InspectorScreen(uri, opened, SYMBOLS, quality_of=quality_of))
        looking = Looking(app)
        await app.until(lambda: looking.is_open)
        await app.press("3")
        await looking.plotted(0)
        await app.until(lambda: "score 7.3" in looking.painted("#about"))
        await app.press("j")
        await looking.plotted(1)
        assert "score" not in looking.painted("#about")
        assert asked == [(uri, 0), (uri, 1)]


# Other people's datasets


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real datasets are not here")
@pytest.mark.parametrize(
    ("name", "episodes", "dimensions"),
    [
        ("so101_rosbag_v30", 6, 6),
        ("gr1_picknplace_v20", 5, 44),
        ("lerobot_written/two_cam_image", 3, 6),
        ("pusht_keypoint.zarr", 151, 5),
    ],
)
async def test_real_datasets_in_every_section(name: str, episodes: int, dimensions: int) -> None:
    async with inspecting(SHARED / name, size=NARROW) as looking:
        for section in Section:
            await looking.go_to(section)
            assert looking.screen.failure is None, section
        assert looking.screen.table is not None
        assert len(looking.screen.table) == episodes
        await looking.press("3")
        await looking.plotted(0)
        await looking.press("j")
        await looking.plotted(1)
        look = looking.screen.look
        assert look.dimensions == dimensions
        assert look.series is not None
        assert look.series.action is not None
        assert np.isfinite(look.series.action).all()
        if look.cameras:
            await looking.press("f")
            view = looking.screen.view
            await looking.until(lambda: view.frame.picture or view.frame.notice not in {"", "reading…"})
            assert view.frame.picture is not None or "✗" in view.frame.notice
