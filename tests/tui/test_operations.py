"""Pull, push, cancel and retry, by keys alone."""

from __future__ import annotations

from dataclasses import replace

from noeira_tui.core.errors import BesideError, DestinationError, UnreachableError
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobFailure, JobState
from noeira_tui.tui.modals.confirm import ConfirmDialog
from noeira_tui.tui.modals.details import DetailsDialog
from noeira_tui.tui.modals.error import ErrorDialog
from noeira_tui.tui.modals.push_name import PushNameDialog
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, driving
from tests.tui.fake_box import FakeBox, dataset, job, overview, sample_jobs


async def test_a_pull_starts_moves_and_ends_on_screen() -> None:
    async with driving() as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("p")
        await app.until(lambda: app.asked("pull") == [("pull", "hopper-medium-v2", False)])
        await app.until(lambda: app.status("dataset:hopper-medium-v2") == "waiting")
        running = replace(
            app.box.rows[0], state=JobState.RUNNING, progress=ProgressSnapshot(305_500_000, 611_000_000, rate=1e8)
        )
        app.box.set_jobs(running)
        await app.until(lambda: app.status("dataset:hopper-medium-v2") == "50 %")
        await app.until(lambda: "100 MB/s" in app.text("#header"))
        assert "50 %" in app.screen_text()

        looks = len(app.asked("look"))
        done = dataset("hopper-medium-v2", State.CURRENT, 611_000_000)
        app.box.picture = replace(
            app.box.picture,
            datasets=tuple(done if view.id == done.id else view for view in app.box.picture.datasets),
        )
        app.box.set_jobs(replace(running, state=JobState.DONE))
        # The end of a job is told, and makes the app look again by itself.
        await app.until(lambda: app.status("dataset:hopper-medium-v2") == "current")
        assert len(app.asked("look")) > looks
        assert "pull hopper-medium-v2: done" in app.toasts()


async def test_marked_datasets_are_pulled_together_and_refused_ones_are_named() -> None:
    async with driving() as app:
        for key in ("dataset:hopper-medium-v2", "dataset:kitchen-mixed-v1", "dataset:walker-broken-v1"):
            await app.highlight(key)
            await app.press("space")
        assert "3 marked" in app.main.pane(Place.CATALOG).note_text
        await app.press("p")
        await app.until(lambda: len(app.asked("pull")) == 2)
        assert {call[1] for call in app.asked("pull")} == {"hopper-medium-v2", "kitchen-mixed-v1"}
        await app.until(lambda: "Its upload never completed" in app.toasts())
        await app.until(lambda: not app.main.list.marked, "marks are gone after the action")


async def test_a_file_that_changed_here_is_overwritten_only_after_a_yes() -> None:
    async with driving() as app:
        await app.highlight("dataset:reacher-notes-v1")
        await app.press("p")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.main)
        assert app.asked("pull") == []

        await app.press("p")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        assert app.asked("pull") == []

        await app.press("p")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        await app.press("tab", "enter")
        await app.until(lambda: app.asked("pull") == [("pull", "reacher-notes-v1", True)])


async def test_a_diverged_file_is_pushed_only_after_a_yes() -> None:
    box = FakeBox(picture=overview(datasets=(dataset("walker-x-v1", State.DIVERGED),)))
    async with driving(box) as app:
        await app.press("u")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        assert app.asked("push") == []
        await app.press("right", "enter")
        await app.until(lambda: app.asked("push") == [("push", "walker-x-v1")])


async def test_a_changed_file_is_pushed_under_its_name() -> None:
    async with driving() as app:
        await app.highlight("dataset:reacher-notes-v1")
        await app.press("u")
        await app.until(lambda: app.asked("push") == [("push", "reacher-notes-v1")])
        await app.until(lambda: "Pushing reacher-notes-v1" in app.toasts())


async def test_a_file_the_catalog_does_not_know_is_asked_for_its_name() -> None:
    async with driving(size=NARROW) as app:
        await app.highlight("dataset:sweep-0419")
        await app.press("u")
        await app.until(lambda: isinstance(app.app.screen, PushNameDialog))
        await app.until(lambda: "It becomes sweep-0419-v1" in app.screen_text())
        # A name the catalog would refuse is refused here, with the rule.
        await app.press("end", "/")
        await app.until(lambda: "The name must be" in app.screen_text())
        await app.press("enter")
        assert isinstance(app.app.screen, PushNameDialog)
        await app.press("backspace", "tab", "end", "backspace", "2", "enter")
        await app.until(lambda: app.asked("push_as") == [("push_as", "sweep-0419", "sweep-0419", "v2")])


async def test_a_disabled_action_says_why_and_does_nothing() -> None:
    async with driving() as app:
        await app.highlight("dataset:walker-random-v1")
        await app.press("p")
        await app.until(lambda: "It is here and current." in app.toasts())
        await app.press("c")
        await app.until(lambda: "No job is highlighted." in app.toasts())
        await app.press("4", "p")
        await app.until(lambda: "press 1, 2 or 3" in app.toasts())
        await app.press("3", "u")
        await app.until(lambda: "press 1 or 2" in app.toasts())
        await app.press("1", "home", "p")
        await app.until(lambda: "Highlight a recording" in app.toasts())
        assert app.asked("pull") == []


async def test_read_only_refuses_what_changes_anything() -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box, read_only=True) as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("p", "u", "4", "c", "r")
        await app.until(lambda: "read-only" in app.toasts())
        assert {call[0] for call in app.box.asked} <= {"look"}


async def test_jobs_are_cancelled_and_retried_from_their_row() -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box) as app:
        await app.press("4")
        await app.highlight("job:3")
        await app.press("c")
        await app.until(lambda: app.asked("cancel") == [("cancel", 3)])
        await app.until(lambda: app.status("job:3") == "cancelled")
        await app.highlight("job:2")
        await app.press("c")
        await app.until(lambda: "there is nothing to cancel" in app.toasts())
        await app.press("r")
        await app.until(lambda: app.asked("retry") == [("retry", 2)])
        await app.until(lambda: app.status("job:2") == "queued")


async def test_a_datasets_job_is_cancelled_and_retried_from_the_catalog() -> None:
    box = FakeBox()
    box.set_jobs(job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING))
    async with driving(box) as app:
        await app.highlight("dataset:g1-walk-v2")
        await app.press("c")
        await app.until(lambda: app.asked("cancel") == [("cancel", 1)])
        await app.until(lambda: app.status("job:1") == "cancelled")
        await app.press("r")
        await app.until(lambda: app.asked("retry") == [("retry", 1)])


async def test_a_failed_job_says_why_in_its_row() -> None:
    box = FakeBox()
    async with driving(box) as app:
        box.set_jobs(job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING))
        await app.until(lambda: app.status("job:1") == "running")
        failure = JobFailure("Disk full", "3.1 GB more are needed.", "Free some space.")
        box.set_jobs(job(1, "catalog-pull", "g1-walk-v2", JobState.FAILED, failure=failure))
        await app.until(lambda: "Disk full: 3.1 GB more are needed." in app.screen_text())
        await app.until(lambda: "3.1 GB more are needed" in app.toasts())


async def test_what_fails_is_shown_whole_and_can_be_copied() -> None:
    box = FakeBox(fails_with=DestinationError("A file of yours is at data/x.h5.", hint="Move it, or use --force."))
    async with driving(box) as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("p")
        await app.until(lambda: isinstance(app.app.screen, ErrorDialog))
        await app.until(lambda: "A file of yours is at data/x.h5." in app.screen_text())
        assert "Move it, or use --force." in app.screen_text()
        await app.press("y")
        assert app.app.clipboard == "Destination\nA file of yours is at data/x.h5.\nMove it, or use --force."
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)


async def test_an_error_that_can_pass_says_so() -> None:
    async with driving(FakeBox(fails_with=UnreachableError("No answer from the service."))) as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("p")
        await app.until(lambda: "Trying again later can help." in app.screen_text())


async def test_an_error_whose_hint_says_to_try_again_says_it_once() -> None:
    async with driving(FakeBox(fails_with=BesideError("it was ended; is there enough memory?"))) as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("p")
        await app.until(lambda: "It was ended; is there enough memory?" in app.screen_text())
        assert "?." not in app.screen_text()
        assert app.screen_text().casefold().count("again") == 1


async def test_a_jobs_page_has_its_log() -> None:
    box = FakeBox(log_text="12:00 describe\n12:01 [/red] \x1b[31mforty-two\x1b[0m")
    box.set_jobs(*sample_jobs())
    async with driving(box) as app:
        await app.press("4")
        await app.highlight("job:2")
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, DetailsDialog))
        await app.until(lambda: "[/red] \\x1b[31mforty-two" in app.screen_text())
        assert "Free some space, then retry." in app.screen_text()


async def test_a_jobs_page_is_followed_while_it_is_open() -> None:
    box = FakeBox(log_text="first line")
    running = job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING, progress=ProgressSnapshot(10, 100, rate=1))
    box.set_jobs(running)
    async with driving(box) as app:
        await app.press("4", "enter")
        await app.until(lambda: "first line" in app.screen_text())
        box.log_text = "first line\nsecond line"
        box.set_jobs(replace(running, progress=ProgressSnapshot(80, 100, rate=1)))
        await app.until(lambda: "second line" in app.screen_text())
        assert "80 / 100 B" in app.screen_text()
