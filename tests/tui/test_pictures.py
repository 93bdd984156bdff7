"""What the app shows before, without and instead of a service: empty, offline, looking, failing."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from noeira_tui.core.errors import StateError
from noeira_tui.core.states import State
from noeira_tui.overview.picture import ServiceView
from noeira_tui.tui.modals.help import HelpDialog
from noeira_tui.tui.modals.palette import PaletteDialog
from noeira_tui.tui.modals.unsent import UnsentDialog
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, WIDE, driving
from tests.tui.fake_box import NOW, FakeBox, dataset, overview, sample, sample_jobs


def offline(answer_at: float | None) -> ServiceView:
    return ServiceView(
        "https://cloud.noeira.ai",
        reachable=False,
        error="The connection was refused.",
        error_title="Service unreachable",
        hint="Is it running?",
        checked_at=NOW,
        answer_at=answer_at,
    )


async def test_the_screen_is_there_before_the_first_look_ends() -> None:
    hold = threading.Event()
    async with driving(FakeBox(hold_looks=hold), settled=False) as app:
        await app.until(lambda: "Looking" in app.screen_text())
        await app.press("1", "?")
        await app.until(lambda: isinstance(app.app.screen, HelpDialog))
        await app.press("escape")
        hold.set()
        await app.until(lambda: "trial-01" in app.names(Place.PROJECTS))
        assert app.asked("look")[:2] == [("look", False), ("look", True)]


async def test_quitting_does_not_wait_for_a_look() -> None:
    hold = threading.Event()
    try:
        async with driving(FakeBox(hold_looks=hold), settled=False) as app:
            started = threading.Event()
            app.box.on_look = started.set
            await app.press("R")
            began = time.monotonic()
            await app.press("q")
            await app.until(lambda: not app.app.is_running)
        assert time.monotonic() - began < 2
    finally:
        hold.set()


async def test_quitting_says_that_jobs_go_on() -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box) as app:
        await app.press("q")
        await app.until(lambda: app.app._exit)
        assert "2 jobs go on without the app" in str(app.app._exit_renderables)


async def test_without_a_service_the_two_lines_are_told() -> None:
    for size in (NARROW, WIDE):
        async with driving(FakeBox(picture=overview(service=ServiceView(None))), size=size) as app:
            await app.until(lambda app=app: "NOEIRA_CLOUD_URL=" in app.screen_text())  # type: ignore[misc]
            text = app.screen_text()
            for told in ("NOEIRA_CLOUD_API_KEY=", ".env", "noeira-tui serve", "No jobs."):
                assert told in text
    assert "No projects yet." in text
    assert "No asset packs declared." in text


async def test_an_empty_catalog_says_what_to_do() -> None:
    async with driving(FakeBox(picture=overview())) as app:
        await app.until(lambda: "The catalog is empty." in app.screen_text())
        assert "noeira-tui catalog push" in app.screen_text()
        # With nothing highlighted, every key is answered.
        await app.press("p")
        await app.until(lambda: "Nothing is highlighted." in app.toasts())


async def test_offline_shows_the_last_answer_and_its_age() -> None:
    picture = replace(
        sample(),
        service=offline(NOW - 2400),
        datasets=(
            dataset("walker-random-v1", State.UNKNOWN, last_state=State.CURRENT),
            dataset("hopper-medium-v2", State.MISSING),
        ),
    )
    async with driving(FakeBox(picture=picture)) as app:
        await app.until(lambda: "offline, as of 40 min ago" in app.screen_text())
        assert app.status("dataset:walker-random-v1") == "unknown current"
        assert app.status("dataset:hopper-medium-v2") == "missing"
        assert "offline" in app.text("#header")


async def test_offline_without_any_answer_is_not_blank() -> None:
    async with driving(FakeBox(picture=overview(service=offline(None)))) as app:
        await app.until(lambda: "The connection was" in app.screen_text())
        assert "Is it running?" in app.screen_text()


async def test_a_refusal_is_not_called_offline() -> None:
    refused = replace(offline(NOW - 60), error_title="Service refused", error="401 Invalid API key")
    async with driving(FakeBox(picture=replace(sample(), service=refused))) as app:
        await app.until(lambda: "401 Invalid" in app.screen_text())
        assert "service refused, as of 1 min ago" in app.screen_text()
        assert "Is it running?" in app.screen_text(), "what to do next"
        assert "offline" not in app.screen_text()


async def test_a_look_that_fails_keeps_what_was_known_and_is_told_once() -> None:
    async with driving() as app:
        app.box.looks_fail_with = StateError("The database is locked.", hint="Close the other program.")
        for _ in range(2):
            await app.press("R")
            await app.until(lambda: not app.main.looking)
        await app.until(lambda: "The database is locked." in app.toasts())
        assert app.toasts().count("The database is locked.") == 1
        assert len(app.names(Place.CATALOG)) == 8


async def test_a_title_keeps_its_capitals() -> None:
    refused = replace(offline(None), error_title="Wrong API key", error="401 Invalid API key")
    async with driving(FakeBox(picture=overview(service=refused))) as app:
        await app.until(lambda: "wrong API key" in app.screen_text())
        assert "S gives another key or address" in app.screen_text()


async def test_jobs_that_cannot_be_read_are_not_called_none() -> None:
    box = FakeBox()
    box.jobs_fail_with = StateError("The folder /proc/x cannot be made.", hint="Name another.")
    box.picture = replace(box.picture, warnings=(str(box.jobs_fail_with),))
    async with driving(box, settled=False) as app:
        await app.until(lambda: "The jobs cannot be read: The folder /proc/x" in app.screen_text())
        await app.until(lambda: app.main.board.overview and not app.main.looking)
        await app.until(lambda: "/proc/x" in app.toasts())
        assert app.toasts().count("/proc/x") == 1, "one fault, told once"
        box.jobs_fail_with = None
        await app.until(lambda: "No jobs." in app.screen_text())


async def test_the_box_is_safe_or_says_why_not() -> None:
    async with driving() as app:
        assert "Not safe to destroy · 136 MB not sent" in app.text("#status")
        await app.press("D")
        await app.until(lambda: isinstance(app.app.screen, UnsentDialog))
        await app.until(lambda: "sweep-0419 is local" in app.screen_text())
        await app.press("escape")
        app.box.picture = overview(datasets=(dataset("a-v1", State.CURRENT),))
        await app.press("R")
        await app.until(lambda: "✓ Safe to destroy · the service holds everything" in app.text("#status"))
        # Nothing is here: then nobody holds it either.
        app.box.picture = overview(service=offline(NOW), datasets=(dataset("a-v1", State.REMOTE),))
        await app.press("R")
        await app.until(lambda: "✓ Safe to destroy · nothing is here" in app.text("#status"))
        await app.press("D")
        await app.until(lambda: "Nothing is here that could be lost" in app.screen_text())
        assert "Only recordings, data files" in app.screen_text()


async def test_the_palette_finds_an_action_by_its_name_and_does_it() -> None:
    async with driving() as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("ctrl+p")
        await app.until(lambda: isinstance(app.app.screen, PaletteDialog))
        await app.press(*"pull", "enter")
        await app.until(lambda: app.asked("pull") == [("pull", "hopper-medium-v2", False)])


async def test_help_shows_the_keys_and_why_one_cannot_be_used() -> None:
    async with driving() as app:
        await app.press("3", "?")
        await app.until(lambda: "Fetch the highlighted recording" in app.screen_text())
        assert "Not now: This works on recordings: press 1." in app.screen_text()


async def test_the_theme_changes_and_colours_follow() -> None:
    async with driving() as app:
        dark = app.main.list.render_line(0)
        await app.press("ctrl+p", *"light", "enter")
        await app.until(lambda: app.app.theme == "noeira-light")
        await app.pilot.pause()
        assert app.main.list.render_line(0) != dark


async def test_every_theme_of_the_library_has_all_looks() -> None:
    async with driving() as app:
        for name in app.app.available_themes:
            app.app.theme = name
            await app.pilot.pause()
            assert "hopper-medium-v2" in app.screen_text(), name


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_fault_while_looking_is_not_looking_for_ever() -> None:
    box = FakeBox()

    def fault() -> None:
        raise ModuleNotFoundError("No module named 'half_an_upgrade'")

    box.on_look = fault
    async with driving(box, size=(80, 24), settled=False) as app:
        for told in ("This box cannot be looked at", "half_an_upgrade", "is not known", "R looks again"):
            await app.until(lambda told=told: told in app.screen_text(), told)  # type: ignore[misc]
        box.on_look = None
        await app.press("R")
        await app.until(lambda: "hopper-medium-v2" in app.screen_text())
        assert "cannot be looked at" not in app.screen_text()


async def test_offline_takes_one_line_of_a_list() -> None:
    box = FakeBox()
    box.picture = replace(box.picture, service=offline(NOW - 120))
    async with driving(box, size=(58, 20)) as app:
        await app.until(lambda: "offline, as of 2 min ago · R asks again" in app.screen_text())
        assert "Is it running?" not in app.screen_text()
