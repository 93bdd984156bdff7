"""Freeing space by keys alone: the proof first, then a word to type; never on one key."""

from __future__ import annotations

import threading
from dataclasses import replace

from noeira_tui.assets.keep import CachedPack
from noeira_tui.tui.modals.error import ErrorDialog
from noeira_tui.tui.modals.typed import TypedDialog
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, Driver, driving
from tests.tui.fake_box import ROOT, FakeBox, sample, sample_jobs

CURRENT = "dataset:walker-random-v1"


def two_current() -> FakeBox:
    picture = sample()
    more = tuple(
        replace(view, id=f"{view.id}x", path=ROOT / "data/x.h5") for view in picture.datasets if view.id[0] == "w"
    )
    return FakeBox(picture=replace(picture, datasets=(*picture.datasets, *more)))


async def asked_to_type(app: Driver) -> None:
    await app.until(lambda: isinstance(app.app.screen, TypedDialog))
    await app.until(lambda: "Type free and press enter" in app.screen_text())


async def test_a_copy_is_freed_after_a_proof_and_a_typed_word() -> None:
    async with driving(size=NARROW) as app:
        await app.highlight(CURRENT)
        await app.press("x")
        await asked_to_type(app)
        assert app.asked("prove") == [("prove", "walker-random-v1")]
        for fact in ("Free 1 copy, 1 file, 992 MB?", "walker-random-v1", "/data/robots/data/walker-random-v1.h5"):
            assert fact in app.screen_text()
        # Enter alone, or another word, removes nothing.
        await app.press("enter", *"fre", "enter")
        assert isinstance(app.app.screen, TypedDialog)
        assert app.asked("free") == []
        looks = len(app.asked("look"))
        await app.press("e", "enter")
        await app.until(lambda: app.asked("free") == [("free", "walker-random-v1")])
        await app.until(lambda: "Freed 992 MB: walker-random-v1" in app.toasts())
        await app.until(lambda: len(app.asked("look")) > looks)


async def test_leaving_the_question_removes_nothing() -> None:
    async with driving() as app:
        await app.highlight(CURRENT)
        await app.press("x")
        await asked_to_type(app)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        assert app.asked("free") == []


async def test_what_cannot_be_proven_stays_and_is_named() -> None:
    box = two_current()
    box.unproven.add("walker-random-v1x")
    async with driving(box) as app:
        for key in (CURRENT, f"{CURRENT}x", "dataset:reacher-notes-v1"):
            await app.highlight(key)
            await app.press("space")
        await app.press("x")
        await asked_to_type(app)
        assert "Free 1 copy, 1 file, 992 MB?" in app.screen_text()
        assert "Left as they are" in app.screen_text()
        assert "walker-random-v1x: It is not what the service has. Push it first." in app.screen_text()
        assert "does not hold these bytes" in app.toasts()
        await app.press(*"free", "enter")
        await app.until(lambda: app.asked("free") == [("free", "walker-random-v1")])


async def test_when_nothing_is_proven_an_error_says_why() -> None:
    box = FakeBox(unproven={"walker-random-v1"})
    async with driving(box) as app:
        await app.highlight(CURRENT)
        await app.press("x")
        await app.until(lambda: isinstance(app.app.screen, ErrorDialog))
        await app.until(lambda: "It is not what the service has. Push it first." in app.screen_text())
        await app.press("y")
        assert "Nothing can be freed" in app.app.clipboard
        assert app.asked("free") == []


async def test_what_the_service_does_not_hold_is_refused_before_any_proof() -> None:
    async with driving() as app:
        await app.highlight("dataset:reacher-notes-v1")
        await app.press("x")
        await app.until(lambda: "does not hold these bytes" in app.toasts())
        assert app.asked("prove") == []


async def test_a_proof_is_shown_and_stopped_by_a_key() -> None:
    box = FakeBox(hold_proof=threading.Event())
    async with driving(box) as app:
        await app.highlight(CURRENT)
        await app.press("x")
        await app.until(lambda: "comparing walker-random-v1 43 %" in app.main.pane(Place.CATALOG).note_text)
        await app.press("x")
        await app.until(lambda: "goes on already" in app.toasts())
        await app.press("c")
        await app.until(lambda: "nothing was removed" in app.toasts())
        assert app.asked("free") == []
        assert not app.main.background.doing


async def test_the_cache_is_freed_of_what_nothing_uses() -> None:
    held = tuple(
        CachedPack(f"{number}" * 64, ROOT / "cache" / str(number), 5_000_000, 12, 0.0, (f"pack-{number}@v1",))
        for number in (1, 2)
    )
    async with driving(FakeBox(cache=held)) as app:
        await app.press("3", "x")
        await asked_to_type(app)
        assert "Free 2 cached packs, 24 files, 10.0 MB?" in app.screen_text()
        await app.press(*"free", "enter")
        await app.until(lambda: app.asked("prune_cache") == [("prune_cache", ("1" * 64, "2" * 64))])
        await app.until(lambda: "Freed 10.0 MB" in app.toasts())
        app.box.cache = ()
        await app.press("x")
        await app.until(lambda: "nothing that nobody uses" in app.toasts())


async def test_old_jobs_go_with_their_logs_and_failed_ones_stay() -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box) as app:
        await app.press("4", "x")
        await asked_to_type(app)
        assert "Remove 1 old job and 1.2 kB of logs?" in app.screen_text()
        await app.press(*"free", "enter")
        await app.until(lambda: app.asked("forget_jobs") == [("forget_jobs", (1,))])
        await app.until(lambda: "walker-random-v1" not in app.names(Place.JOBS))
        assert "kitchen-mixed-v1" in app.names(Place.JOBS)


async def test_read_only_frees_nothing() -> None:
    async with driving(read_only=True) as app:
        await app.highlight(CURRENT)
        await app.press("x")
        await app.until(lambda: "read-only" in app.toasts())
        assert app.asked("prove") == []
