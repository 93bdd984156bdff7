"""What a filter keeps: words, states, sizes, negation."""

from __future__ import annotations

import pytest

from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.tui.board import Board
from noeira_tui.tui.filtering import kept_rows, parse_filter
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.rows import Place
from tests.tui.driving import driving
from tests.tui.fake_box import FakeBox, dataset, frozen_clock, job, overview, sample


def board() -> Board:
    made = Board(SYMBOLS, frozen_clock)
    made.take(made.shelve(sample()))
    return made


@pytest.mark.parametrize(
    ("needle", "kept"),
    [
        ("stale", ["pusht-demos-v3"]),
        ("walker", ["walker-broken-v1", "walker-random-v1"]),
        ("walker !pending", ["walker-random-v1"]),
        ("!walker !current !remote >1GB", ["g1-walk-v2", "pusht-demos-v3"]),
        (">1GB", ["g1-walk-v2", "pusht-demos-v3", "kitchen-mixed-v1"]),
        (">=7.4GB <40GB", ["kitchen-mixed-v1"]),
        ("<10MB", ["reacher-notes-v1"]),
        ("=992mb", ["walker-random-v1"]),
        ("!>1MB", ["walker-broken-v1"]),
        ("no-such-thing", []),
    ],
)
def test_a_filter_keeps_what_every_term_holds_for(needle: str, kept: list[str]) -> None:
    assert [row.name for row in kept_rows(board().all_rows(Place.CATALOG), needle)] == kept


def test_a_negated_state_means_the_state_and_not_the_name() -> None:
    picture = overview(datasets=(dataset("current-map-v1", State.STALE), dataset("b-v1", State.CURRENT)))
    made = Board(SYMBOLS, frozen_clock)
    made.take(made.shelve(picture))
    assert [row.name for row in kept_rows(made.all_rows(Place.CATALOG), "!current")] == ["current-map-v1"]


def test_a_project_stays_with_any_of_its_recordings_only() -> None:
    rows = board().all_rows(Place.PROJECTS)
    assert [row.name for row in kept_rows(rows, "pusht !missing")] == ["pusht", "teleop-b"]
    assert [row.name for row in kept_rows(rows, "!current !remote >2GB")] == ["pusht", "expert"]


@pytest.mark.parametrize(
    ("needle", "problem"),
    [(">", "needs a size"), ("<abc", "needs a size"), ("!", "leaves out"), ("!>x", "needs a size"), ("a b", "")],
)
def test_what_cannot_be_understood_is_said_and_left_out(needle: str, problem: str) -> None:
    found = parse_filter(needle)
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)
    assert len(found.terms) == (2 if needle == "a b" else 0)


async def test_the_problem_is_said_where_one_types_and_jobs_are_filtered_alike() -> None:
    box = FakeBox()
    box.set_jobs(job(1, "catalog-pull", "a-v1", JobState.FAILED), job(2, "catalog-push", "b-v1", JobState.DONE))
    async with driving(box) as app:
        await app.press("/", *"walker", "space", ">")
        await app.until(lambda: "needs a size" in app.main.pane(Place.CATALOG).note_text)
        assert app.names(Place.CATALOG) == ["walker-broken-v1", "walker-random-v1"]
        await app.press(*"1MB")
        await app.until(lambda: app.names(Place.CATALOG) == ["walker-random-v1"])
        assert "needs a size" not in app.main.pane(Place.CATALOG).note_text
        await app.press("escape", "4", "/", "!", *"failed")
        await app.until(lambda: app.names(Place.JOBS) == ["b-v1"])
