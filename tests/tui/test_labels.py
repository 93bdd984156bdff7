"""A key that turns something on and off is labelled with what it does now."""

from __future__ import annotations

from dataclasses import replace

from noeira_tui.jobs.records import JobState
from noeira_tui.tui.rows import Place
from tests.tui.driving import Driver, driving
from tests.tui.fake_box import FakeBox, sample_jobs, watch_job

CUBE = "recording:so101-tower/cube-in-bowl"


def shown(app: Driver) -> list[str]:
    """The labels in the footer."""
    return [part.strip() for part in app.keys_shown().split("  ")]


async def test_the_watch_key_says_that_it_ends_a_watch() -> None:
    async with driving(size=(200, 50)) as app:
        await app.press("1")
        await app.highlight(CUBE)
        await app.until(lambda: "w watch" in shown(app))
        app.box.set_jobs(watch_job())
        await app.until(lambda: "w unwatch" in shown(app))
        await app.press("ctrl+p", *"watch")
        await app.until(lambda: "unwatch " in app.screen_text())
        await app.press("escape", "?")
        await app.until(lambda: "unwatch " in app.screen_text())
        await app.press("escape")
        await app.highlight("recording:so101-tower/trial-01")
        await app.until(lambda: "w watch" in shown(app))


async def test_marked_recordings_are_unwatched_only_when_all_are_watched() -> None:
    async with driving(size=(200, 50)) as app:
        app.box.set_jobs(watch_job())
        await app.press("1")
        await app.highlight(CUBE)
        await app.press("space")
        await app.until(lambda: "w unwatch" in shown(app))
        await app.highlight("recording:so101-tower/trial-01")
        # The mark counts, not what is highlighted.
        await app.until(lambda: "w unwatch" in shown(app))
        await app.press("space")
        await app.until(lambda: "w watch" in shown(app))


async def test_a_paused_job_goes_on() -> None:
    paused = replace(sample_jobs()[0], state=JobState.PAUSED)
    async with driving(FakeBox()) as app:
        app.box.set_jobs(paused)
        await app.press("4")
        await app.until(lambda: app.names(Place.JOBS))
        await app.press("ctrl+p", *"stand still")
        await app.until(lambda: "go on " in app.screen_text())
        assert "pause " not in app.screen_text()
