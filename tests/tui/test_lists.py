"""Moving, filtering, marking, folding: the lists under the keyboard."""

from __future__ import annotations

from dataclasses import replace

from textual import events

from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.tui.modals.details import DetailsDialog
from noeira_tui.tui.rows import Place
from noeira_tui.tui.widgets.filter_line import FilterLine
from noeira_tui.tui.widgets.painted import Painted
from tests.tui.driving import WIDE, driving
from tests.tui.fake_box import NOW, FakeBox, dataset, digest, job, overview, sample


async def test_trouble_comes_first_and_the_tree_keeps_its_order() -> None:
    async with driving() as app:
        assert app.names(Place.CATALOG)[:3] == ["hopper-medium-v2", "g1-walk-v2", "pusht-demos-v3"]
        assert app.names(Place.CATALOG)[-1] == "walker-random-v1"
        assert app.names(Place.PACKS) == ["libero@v1", "aloha@v1", "so101@v2"]
        assert app.names(Place.PROJECTS) == [
            "aloha-fold", "shirts", "pusht", "expert", "teleop-b", "so101-tower", "cube-in-bowl", "trial-01",
        ]  # fmt: skip


async def test_the_cursor_moves_with_arrows_and_vim_keys_and_stops_at_the_ends() -> None:
    async with driving() as app:
        rows = app.main.list
        last = len(rows.rows) - 1
        for key, expected in (
            ("j", 1), ("down", 2), ("k", 1), ("up", 0), ("up", 0), ("G", last), ("down", last), ("<", 0),
            ("end", last), ("home", 0), ("pagedown", last), ("pageup", 0),
        ):  # fmt: skip
            await app.press(key)
            assert rows.cursor == expected, key


async def test_the_cursor_stays_on_its_dataset_when_the_order_changes() -> None:
    async with driving() as app:
        await app.highlight("dataset:kitchen-mixed-v1")
        picture = app.box.picture
        app.box.picture = replace(
            picture,
            datasets=tuple(
                replace(view, state=State.INVALID) if view.id == "kitchen-mixed-v1" else view
                for view in picture.datasets
            ),
        )
        await app.press("R")
        await app.until(lambda: app.status("dataset:kitchen-mixed-v1") == "invalid")
        assert app.main.current is not None
        assert app.main.current.key == "dataset:kitchen-mixed-v1"
        assert app.main.list.cursor == 1


async def test_panes_are_reached_by_number_and_tab() -> None:
    async with driving() as app:
        for key, place in (("1", Place.PROJECTS), ("3", Place.PACKS), ("4", Place.JOBS), ("2", Place.CATALOG)):
            await app.press(key)
            assert app.main.place is place
            assert app.app.focused is app.main.pane(place).list
        await app.press("tab")
        assert app.main.place is Place.PACKS
        await app.press("tab", "tab")
        assert app.main.place is Place.PROJECTS
        await app.press("shift+tab")
        assert app.main.place is Place.JOBS


async def test_a_filter_matches_names_and_states_and_escape_clears_it() -> None:
    async with driving() as app:
        await app.press("/", *"walker")
        await app.until(lambda: app.names(Place.CATALOG) == ["walker-broken-v1", "walker-random-v1"])
        # Keys typed into the filter are text, not actions.
        await app.press("space", *"pend")
        await app.until(lambda: app.names(Place.CATALOG) == ["walker-broken-v1"])
        await app.press("enter")
        await app.until(lambda: app.app.focused is app.main.pane(Place.CATALOG).list)
        assert "1 of 8" in app.main.pane(Place.CATALOG).note_text
        assert app.asked("pull") == []
        await app.press("escape")
        await app.until(lambda: len(app.names(Place.CATALOG)) == 8)


async def test_escape_in_the_filter_line_clears_and_leaves_it() -> None:
    async with driving() as app:
        await app.press("1", "/", *"zzz")
        await app.until(lambda: app.names(Place.PROJECTS) == [])
        await app.until(lambda: "Nothing matches" in app.screen_text())
        await app.press("escape")
        await app.until(lambda: len(app.names(Place.PROJECTS)) == 8)
        await app.until(lambda: app.app.focused is app.main.pane(Place.PROJECTS).list)
        assert not app.main.query(".filter")


async def test_a_filter_in_the_tree_keeps_the_projects_of_what_matches() -> None:
    async with driving() as app:
        await app.press("1", "/", *"missing")
        await app.until(lambda: app.names(Place.PROJECTS) == ["pusht", "expert"])


async def test_what_is_typed_fast_after_the_slash_is_no_command() -> None:
    async with driving() as app:
        # All at once, as a slow link delivers them: `u` pushes and `q` quits when they are taken for commands.
        for key, character in (("slash", "/"), *((letter, letter) for letter in "pusqu")):
            app.app.post_message(events.Key(key, character))
        await app.until(lambda: app.main.board.filters.get(Place.CATALOG) == "pusqu")
        assert app.app.is_running
        assert not app.asked("push") and not app.asked("pull")
        assert app.main.query_one(FilterLine).has_focus


async def test_a_filter_works_on_jobs_too() -> None:
    box = FakeBox()
    box.set_jobs(job(1, "catalog-pull", "a-v1", JobState.FAILED), job(2, "catalog-push", "b-v1", JobState.DONE))
    async with driving(box) as app:
        await app.press("4", "/", *"failed")
        await app.until(lambda: app.names(Place.JOBS) == ["a-v1"])


async def test_marks_follow_their_rows_and_go_with_them() -> None:
    async with driving() as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("space", "space")
        assert app.main.list.marked == {"dataset:hopper-medium-v2", "dataset:g1-walk-v2"}
        await app.press("up", "space")
        assert app.main.list.marked == {"dataset:hopper-medium-v2"}
        picture = app.box.picture
        app.box.picture = replace(picture, datasets=picture.datasets[:2])
        await app.press("R")
        await app.until(lambda: len(app.names(Place.CATALOG)) == 2)
        assert app.main.list.marked == frozenset()


async def test_escape_takes_marks_away() -> None:
    async with driving() as app:
        await app.press("space", "escape")
        assert app.main.list.marked == frozenset()


async def test_projects_fold_with_their_worst_state_in_sight() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight("recording:pusht/teleop-b")
        await app.press("left")
        await app.until(lambda: "expert" not in app.names(Place.PROJECTS))
        assert app.main.current is not None
        assert app.main.current.key == "project:pusht"
        assert app.status("project:pusht") == "missing"
        await app.press("l")
        await app.until(lambda: "expert" in app.names(Place.PROJECTS))


async def test_enter_shows_everything_about_a_row() -> None:
    async with driving() as app:
        await app.highlight("dataset:g1-walk-v2")
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, DetailsDialog))
        await app.until(lambda: digest("g1-walk-v2") in app.screen_text())
        text = app.screen_text()
        for fact in ("40.2 GB (40,200,000,000 bytes)", "seed 7 @ 081b53c0aa41", "/data/robots/data/g1-walk-v2.tar.zst"):
            assert fact in text
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)


async def test_y_copies_the_digest_else_the_path() -> None:
    async with driving() as app:
        await app.highlight("dataset:g1-walk-v2")
        await app.press("y")
        assert app.app.clipboard == digest("g1-walk-v2")
        await app.highlight("dataset:sweep-0419")
        await app.press("y")
        assert app.app.clipboard == "/data/robots/data/sweep-0419.h5"


async def test_ten_thousand_rows_answer_at_once() -> None:
    many = overview(datasets=tuple(dataset(f"set-{number:05}-v1", State.CURRENT) for number in range(10_000)))
    async with driving(FakeBox(picture=many), size=WIDE) as app:
        await app.press("G")
        assert app.main.list.cursor == 9_999
        await app.until(lambda: "set-09999-v1" in app.screen_text())
        assert "set-00000-v1" not in app.screen_text()


async def test_equal_news_repaint_nothing() -> None:
    box = FakeBox()
    box.set_jobs(job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING))
    async with driving(box) as app:
        before = app.main.pane(Place.CATALOG).list.rows
        box.picture = sample()
        looks = len(app.asked("look"))
        await app.press("R")
        await app.until(lambda: len(app.asked("look")) > looks and not app.main.looking)
        after = app.main.pane(Place.CATALOG).list.rows
        assert all(old is new for old, new in zip(before, after, strict=True) if old.key != "dataset:g1-walk-v2")


async def test_the_age_of_a_job_that_ended_grows_on_the_screen() -> None:
    box = FakeBox()
    box.set_jobs(job(1, "catalog-pull", "a-v1", JobState.DONE))
    async with driving(box) as app:
        await app.until(lambda: "min ago" in app.screen_text())
        app.main.board.clock = lambda: NOW + 5 * 3600
        await app.press("R")
        await app.until(lambda: "5 h ago" in app.screen_text())


async def test_details_that_change_in_place_are_repainted_where_they_are() -> None:
    async with driving() as app:
        details = app.main.query_one("#details", Painted)
        for words in ("walker here", "hopper gone", "walker here, and longer than before"):
            details.show([((words, "good"),), (("size 1 MB", ""),)])
            await app.until(lambda words=words: f"│ {words} " in app.screen_text(), words)  # type: ignore[misc]
