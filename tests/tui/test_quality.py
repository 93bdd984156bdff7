"""The quality screen by keys alone: what is worst, why, and what becomes of it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noeira_tui.core.progress import CancelToken, ProgressSnapshot
from noeira_tui.episodes.browse import Coded, EpisodeColumns
from noeira_tui.jobs.records import JobState
from noeira_tui.recordings.rejected import REJECTED
from noeira_tui.tui import quality_reading
from noeira_tui.tui.quality_table import QualityTable, Wanted
from tests.support.catalog_build import write_catalog
from tests.support.episodes_build import takes, write_v3
from tests.tui.driving import NARROW
from tests.tui.fake_box import WEIRD_NAMES, job
from tests.tui.judging import box_on, judging

S3 = "s3://robots/pusht/expert"
COUNT = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a recording, and a catalog of it and of something far away."""
    root = tmp_path_factory.mktemp("quality")
    folder = write_v3(root / "projects/tower/datasets/cube", takes(COUNT // 2, 30))
    write_catalog(root / "episodes", COUNT, sources=(str(folder), S3))
    return root


@pytest.fixture
def root(made: Path) -> Path:
    (made / "projects/tower/datasets/cube" / REJECTED).unlink(missing_ok=True)
    return made


def rejected(root: Path) -> object:
    path = root / "projects/tower/datasets/cube" / REJECTED
    return json.loads(path.read_text())["rejected_episodes"] if path.exists() else None


async def test_the_worst_come_first_with_every_reason_in_words(root: Path) -> None:
    async with judging(root) as judge:
        scores = judge.numbers("score")
        known = [score for score in scores if score is not None]
        assert len(scores) == COUNT and known == sorted(known) and scores[-1] is None
        await judge.until(lambda: "score · mean" in judge.shown and "flags · " in judge.shown, "it is drawn")
        assert "40 episodes · 2 datasets" in judge.shown
        about = judge.lines("about")
        assert "ldlj −31.4 is below −25: movements are jerky" in about
        assert "after frame 41 the time goes on by 0.433 s" in about
        assert "state_action_consistency" in about and "xxh" not in about
        await judge.press("G")
        await judge.until(lambda: "not scored yet" in judge.lines("about"))


async def test_a_flag_is_chosen_and_left_and_a_filter_typed(root: Path) -> None:
    async with judging(root) as judge:
        view = judge.screen.view
        assert view.table is not None
        flag, count = view.table.flags[0]
        await judge.press("tab")
        await judge.until(lambda: judge.screen.flags.has_focus)
        assert flag in judge.driver.text("#status")
        await judge.press("enter")
        await judge.until(lambda: len(view.rows) == count and judge.screen.rows.has_focus)
        await judge.until(lambda: f"{count} of 40 · {flag}" in judge.shown)
        await judge.press("escape")
        await judge.until(lambda: len(view.rows) == COUNT)

        await judge.type("datasets/cube score<8 !jerky")
        assert view.wanted.needle == "datasets/cube score<8 !jerky"
        assert 0 < len(view.rows) < COUNT
        assert all(score is not None and score < 8 for score in judge.numbers("score"))
        assert "expert" not in judge.lines("rows") and "jerky" not in judge.lines("rows")
        await judge.press("escape")
        await judge.type("bogus<3")
        await judge.until(lambda: "there is no bogus: score, frames" in judge.shown)
        await judge.press("escape", "escape")
        await judge.until(lambda: not judge.is_open)


async def test_any_number_sorts_from_either_end(root: Path) -> None:
    async with judging(root) as judge:
        await judge.press("s", "end", "enter")
        await judge.until(lambda: judge.screen.view.wanted.sort.key == "jitter_ratio")
        jitter = [value for value in judge.numbers("jitter_ratio") if value is not None]
        assert jitter == sorted(jitter, reverse=True), "much of it is bad, and comes first"
        await judge.until(lambda: "↓jitter_ratio" in judge.shown)
        await judge.press("S")
        await judge.until(lambda: judge.numbers("jitter_ratio")[0] == min(jitter))
        assert judge.numbers("jitter_ratio")[-1] is None, "what has no number is last at either end"


async def test_marked_episodes_are_rejected_after_a_question_and_taken_back(root: Path) -> None:
    async with judging(root) as judge:
        await judge.type("datasets/cube")
        await judge.press("s", "home", "down", "down", "down", "enter")
        await judge.until(lambda: judge.numbers("episode")[0] == 0)
        await judge.press("down", "space", "down", "down", "space", "X")
        await judge.until(lambda: "Reject 2 episodes?" in judge.shown, "the question")
        await judge.until(lambda: "cube: 1, 4 (0 rejected so far, 2 then)" in judge.shown, "what it would do")
        await judge.press("enter")
        await judge.until(lambda: "Reject 2 episodes?" not in judge.shown)
        assert rejected(root) is None, "cancel is what enter does"
        await judge.press("X", "tab", "enter")
        await judge.until(lambda: "✗" in judge.shown and not judge.screen.view.marked, "they are shown as rejected")
        assert rejected(root) == [1, 4]
        assert "2 episodes rejected. u takes that back." in judge.driver.toasts()
        await judge.press("escape")
        await judge.type("rejected")
        assert judge.numbers("episode") == [1, 4]

        # All of them are rejected: the same key takes that back.
        await judge.press("X", "tab", "enter")
        await judge.until(lambda: rejected(root) == [4] and judge.numbers("episode") == [4])
        await judge.press("u")
        await judge.until(lambda: rejected(root) == [1, 4] and judge.numbers("episode") == [1, 4])
        await judge.press("u")
        await judge.until(lambda: rejected(root) == [] and not len(judge.screen.view.rows))
        await judge.press("u")
        await judge.until(lambda: "Nothing was rejected since" in judge.driver.toasts())


async def test_what_is_far_away_cannot_be_rejected_and_says_so(root: Path) -> None:
    async with judging(root) as judge:
        await judge.type("expert")
        await judge.press("X")
        await judge.until(lambda: "It is not on this box" in judge.driver.toasts())
        await judge.press("escape", "a", "X")
        await judge.until(lambda: len(judge.screen.view.marked) == COUNT)
        assert judge.driver.app.screen is judge.screen
        assert rejected(root) is None


async def test_a_damaged_list_is_an_error_that_can_be_copied(root: Path) -> None:
    path = root / "projects/tower/datasets/cube" / REJECTED
    path.write_text("{")
    async with judging(root) as judge:
        await judge.type("datasets/cube")
        await judge.press("X", "tab", "enter")
        await judge.until(lambda: "is damaged: it is no JSON" in judge.shown)
    assert path.read_text() == "{"


async def test_read_only_changes_nothing(root: Path) -> None:
    async with judging(root, read_only=True) as judge:
        for key in ("X", "u", "g"):
            judge.driver.app.clear_notifications()
            await judge.press(key)
            await judge.until(lambda: "opened read-only" in judge.driver.toasts())
        assert judge.driver.app.screen is judge.screen


async def test_enter_opens_the_inspector_at_the_episode_with_its_quality(root: Path) -> None:
    async with judging(root) as judge:
        await judge.type("datasets/cube")
        index = judge.numbers("episode")[0]
        assert index == 1, "the bad one"
        await judge.press("enter")
        await judge.until(lambda: judge.driver.app.screen is not judge.screen)
        look = judge.inspector.look
        await judge.until(lambda: look.series is not None and look.series.episode_index == index, "it is plotted")
        about = judge.inspector.view.about
        await judge.until(lambda: "ldlj −31.4 is below −25" in about.text, "its quality")
        assert "quality  " in about.text and "of 10 · 5 flags" in about.text

        # The list of episodes there marks and rejects as well.
        await judge.press("space", "space", "X")
        await judge.until(lambda: "Reject 2 episodes?" in judge.shown)
        await judge.press("tab", "enter")
        await judge.until(lambda: "✗" in judge.shown)
        assert rejected(root) == [1, 2]
        await judge.press("up")
        await judge.until(lambda: "rejected" in judge.driver.text("#status"))
        await judge.press("g")
        await judge.until(lambda: judge.driver.asked("ingest"))
        await judge.press("escape")
        await judge.until(lambda: judge.driver.app.screen is judge.screen)
        await judge.until(lambda: "✗" in judge.shown, "it is seen here too")
        assert judge.numbers("episode")[0] == 1, "where one was"
        await judge.press("u")
        await judge.until(lambda: rejected(root) == [] and "✗" not in judge.shown)


async def test_without_a_catalog_it_says_how_to_get_one(tmp_path: Path, made: Path) -> None:
    async with judging(tmp_path, size=NARROW) as judge:
        await judge.until(lambda: "No episodes here yet." in judge.shown)
        await judge.press("space")
        await judge.until(lambda: "g ingests a dataset" in judge.driver.toasts())
        await judge.press("g")
        await judge.until(lambda: judge.driver.app.screen.query("#answer"))
        await judge.press(*"hf", "enter")
        await judge.until(lambda: judge.driver.asked("ingest"))
        assert judge.driver.asked("ingest") == [("ingest", ("hf",), None)]

        # Another one by its place; what is ingested goes there from now on.
        await judge.press("o")
        await judge.until(lambda: judge.driver.app.screen.query("#answer"))
        judge.driver.app.screen.query_one("#answer").value = str(made / "episodes")  # type: ignore[attr-defined]
        await judge.press("enter")
        await judge.until(lambda: judge.screen.view.table is not None)
        assert len(judge.screen.view.rows) == COUNT


async def test_it_is_read_again_when_an_ingest_ended(tmp_path: Path) -> None:
    box = box_on(tmp_path)
    progress = ProgressSnapshot(bytes_done=3_100_000, items_done=1200, items_total=5000, elapsed_s=4.0)
    running = replace(job(1, "episodes-ingest", "/data/cube", JobState.RUNNING), progress=progress)
    box.set_jobs(running)
    async with judging(box) as judge:
        await judge.until(lambda: "1,200 of 5,000 · 300 episodes/s · 3.1 MB read" in judge.shown, "how far it is")
        write_catalog(tmp_path / "episodes", 6)
        box.set_jobs(replace(running, state=JobState.DONE, finished_at=1.0))
        await judge.until(lambda: judge.screen.view.table is not None, "it was read again")
        assert len(judge.screen.view.rows) == 6


async def test_what_is_missing_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_reading, "_NEEDED", ("no_such_library",))
    async with judging(root) as judge:
        await judge.until(lambda: "pip install 'noeira-tui[episodes]'" in judge.shown)
        await judge.press("g")
        await judge.until(lambda: "no_such_library, which is not installed" in judge.driver.toasts())
        await judge.press("escape", "1", "end", "up", "g")
        await judge.until(lambda: not judge.is_open and len(judge.driver.app._notifications) > 1)
        assert not judge.driver.asked("ingest")


async def test_leaving_stops_the_reading(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens: list[CancelToken] = []
    held, stopped = threading.Event(), threading.Event()

    def read(place: str, cancel: CancelToken) -> object:
        tokens.append(cancel)
        held.wait(30)
        stopped.set()
        cancel.check()
        raise AssertionError("nobody stopped it")

    monkeypatch.setattr(quality_reading, "read_quality", read)
    async with judging(root, settled=False) as judge:
        await judge.until(lambda: tokens)
        await judge.press("X")
        await judge.until(lambda: "The catalog is being read." in judge.driver.toasts())
        await judge.press("escape")
        await judge.until(lambda: not judge.is_open)
        assert tokens[0].is_cancelled
        held.set()
        await judge.until(stopped.is_set)


@pytest.mark.parametrize("size", [NARROW, (140, 40), (45, 12)], ids=str)
async def test_weird_names_are_literal_everywhere(tmp_path: Path, size: tuple[int, int]) -> None:
    names = [name.encode("utf-8", "replace").decode() for name in WEIRD_NAMES]
    sources = tuple(f"/data/{name}" for name in names)
    write_catalog(tmp_path / "episodes", 12, sources=sources, formats=["zarr-v2"] * len(sources), task="[/b]\x1b[31m]")
    async with judging(tmp_path, size=size) as judge:
        for key in (
            "d",
            "d",
            *["down"] * 11,
            "tab",
            "enter",
            "escape",
            "space",
            "y",
            "X",
            "?",
            "escape",
            "s",
            "escape",
        ):
            await judge.press(key)
        assert "\x1b" not in judge.shown
        await judge.until(lambda: "Only LeRobot v3 recordings" in judge.driver.toasts())


async def test_narrow_details_take_the_place_of_the_list(root: Path) -> None:
    async with judging(root, size=NARROW) as judge:
        assert not judge.screen.about.region
        await judge.press("d")
        await judge.until(lambda: judge.screen.about.has_focus and not judge.screen.rows.region)
        await judge.until(lambda: "movements are jerky" in judge.shown, "they are drawn")
        await judge.press("escape")
        await judge.until(lambda: judge.screen.rows.has_focus and judge.is_open)


async def test_a_hundred_thousand_episodes_are_drawn_as_far_as_they_are_seen(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same episodes thousands of times over: only rows in sight are painted, whatever is typed."""
    large, jerky = many(made, 2500), 2500 * count_of(made, "jerky")
    monkeypatch.setattr(quality_reading, "read_quality", lambda place, cancel: large)
    async with judging(made) as judge:
        assert len(judge.screen.view.rows) == 100_000
        painted: list[int] = []
        paint = judge.screen.painter._paint_row
        monkeypatch.setattr(
            judge.screen.painter, "_paint_row", lambda index, width: painted.append(index) or paint(index, width)
        )
        await judge.type("jerky")
        assert len(judge.screen.view.rows) == jerky
        await judge.press("G", "pageup", "home", "a", "escape", "escape")
        await judge.until(lambda: len(judge.screen.view.rows) == 100_000)
        assert len(painted) < 2000, "not a line for every episode"


def count_of(made: Path, needle: str) -> int:
    table = quality_reading.read_quality(str(made / "episodes"), CancelToken())
    return len(table.rows(Wanted(needle))[0])


def many(made: Path, times: int) -> QualityTable:
    """A catalog's table repeated."""
    one = quality_reading.read_quality(str(made / "episodes"), CancelToken()).columns
    return QualityTable(
        EpisodeColumns(
            np.tile(one.ids, times),
            {name: Coded(coded.names, np.tile(coded.codes, times)) for name, coded in one.coded.items()},
            {name: np.tile(values, times) for name, values in one.numbers.items()},
            one.flag_sets,
        )
    )
