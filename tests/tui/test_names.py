"""Names that have broken screens go through every screen and are shown literally."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.assets.compare import FileProblem, Trouble
from noeira_tui.assets.keep import CachedPack
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobFailure, JobState
from noeira_tui.overview.packfacts import PackFacts
from noeira_tui.overview.picture import ProjectView, ServiceView
from noeira_tui.recordings.compare import FileComparison, FileState
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import clean
from tests.tui.driving import NARROW, WIDE, driving
from tests.tui.fake_box import WEIRD_NAMES, FakeBox, dataset, job, overview, pack, recording


def weird_box(name: str) -> FakeBox:
    """A box where everything that can have a name has this one."""
    files = (
        FileComparison(name, FileState.DIVERGED, 5, None, name),
        FileComparison(name, FileState.HELD, 5, None, name),
    )
    problems = (FileProblem(name, Trouble.MODIFIED),)
    picture = overview(
        box=name,
        service=ServiceView(f"https://{name}", False, error=name, error_title=name, hint=name),
        projects=(
            ProjectView(
                name,
                here=False,
                on_service=True,
                description=name,
                recordings=(
                    recording(
                        name, name, State.DIVERGED, 3, detail=name, problems=(name,), comparison=files, here=True
                    ),
                ),
                wants=(name,),
                problem=name,
            ),
        ),
        datasets=(
            dataset(name, State.MODIFIED, name=name, version=name, detail=name, columns=name, filename=name),
            dataset(f"local {name}", State.LOCAL, detail=name),
            dataset(f"{name} held", State.CURRENT, path=Path(name)),
        ),
        packs=(
            pack(name, name, State.MODIFIED, 5, name, problems=problems, locator=name, installed_version=name),
            pack(f"{name} too", name, State.MISSING, 5, name),
        ),
        warnings=(name,),
    )
    facts = PackFacts(name, name, True, name, 1, 1, (Path(name),), (Path(name),))
    held = CachedPack("1" * 64, Path(name), 5, 1, 0.0, (name,))
    box = FakeBox(picture=picture, log_text=name, facts=facts, cache=(held,))
    box.set_jobs(
        job(1, "catalog-pull", name, JobState.FAILED, failure=JobFailure(name, name, name)),
        job(2, "dataset-watch", f"other/{name}", JobState.RUNNING, progress=ProgressSnapshot(phase=name)),
        job(3, "assets-pull", f"{name}, {name}", JobState.QUEUED),
    )
    return box


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_every_name_is_literal_in_the_lists_in_errors_and_in_toasts(size: tuple[int, int]) -> None:
    names = list(WEIRD_NAMES)
    picture = overview(
        projects=tuple(
            ProjectView(name, here=True, on_service=True, recordings=(recording(name, name, State.AHEAD, 3),))
            for name in names
        ),
        datasets=tuple(dataset(name, State.MODIFIED, name=name, detail=name) for name in names),
        packs=tuple(pack(name, name, State.MODIFIED, 5, name) for name in names),
        warnings=tuple(names),
    )
    box = FakeBox(picture=picture)
    box.set_jobs(*(job(number, "catalog-pull", name, JobState.QUEUED) for number, name in enumerate(names)))
    async with driving(box, size=size) as app:
        for place_key, place in (("1", Place.PROJECTS), ("2", Place.CATALOG), ("3", Place.PACKS), ("4", Place.JOBS)):
            await app.type(place_key)
            for end in ("home", "end"):
                await app.type(end)
                plain = app.screen_text()
                assert_harmless(plain)
            for name in names:
                assert any(clean(name) in one for one in app.names(place))
        for name in names:
            app.main.show_error(NoeiraError(name, title=name, hint=name))
            await app.until(lambda name=name: clean(name)[:12] in app.screen_text(), name)  # type: ignore[misc]
            assert_harmless(app.screen_text())
            await app.type("escape")
            app.main.tell(name, title=name)
            await app.until(lambda name=name: clean(name) in app.toasts(), name)  # type: ignore[misc]
        assert app.app.is_running


def assert_harmless(text: str) -> None:
    """What reaches the terminal can be encoded, and holds nothing that a terminal obeys."""
    text.encode("utf-8")
    assert not {character for character in text if ord(character) < 32 and character != "\n"}


TOGETHER = {
    "markup": " ".join(name for name in WEIRD_NAMES if "[" in name and "\x1b" not in name),
    "unprintable": " ".join(name for name in WEIRD_NAMES if clean(name) != name),
    "wide": "é→日本語データ",
    "long": "n" * 200,
}
"""All of them again, fewer at once: walking through all dialogs takes its time."""


def test_no_name_is_left_out() -> None:
    assert [name for name in WEIRD_NAMES if not any(name in text for text in TOGETHER.values())] == []


@pytest.mark.parametrize("kind", TOGETHER)
async def test_a_name_is_literal_on_every_screen(kind: str) -> None:
    name = TOGETHER[kind]
    size = WIDE if kind == "wide" else NARROW
    shown = clean(name)[:12]
    async with driving(weird_box(name), size=size) as app:
        for place_key, place in (("1", Place.PROJECTS), ("2", Place.CATALOG), ("3", Place.PACKS), ("4", Place.JOBS)):
            await app.type(place_key)
            await app.until(lambda: shown in app.screen_text(), name)
            assert any(clean(name) in one for one in app.names(place))
            await app.type("enter")
            await app.until(lambda: app.app.screen is not app.main)
            await app.until(lambda: shown in app.screen_text(), name)
            await app.type("y", "escape")
            await app.until(lambda: app.app.screen is app.main)
        # What is freed: the copies, after their proof; the cache; in jump mode every row has a letter.
        for keys, told in ((("2", "end", "x"), "Free 1 copy"), (("3", "x"), "Free 1 cached pack"), (("f",), "")):
            await app.type(*keys)
            await app.until(lambda: app.app.screen is not app.main, str(keys))
            await app.until(lambda told=told: told in app.screen_text() and shown in app.screen_text())  # type: ignore[misc]
            await app.type("escape")
            await app.until(lambda: app.app.screen is app.main)
        # The confirmation, the question for a name, the reasons, a filter with it.
        # Of a recording: the project it would make, what it would overwrite here and there; of packs what they lose.
        recording_row = ("1", "home", "down")
        dialogs = (
            ("2", "home", "p"), ("end", "up", "u"), ("D",), ("D", "u"), ("ctrl+p",), ("?",),
            (*recording_row, "p"), (*recording_row, "p", "tab", "enter"), (*recording_row, "u"), ("3", "end", "p"),
        )  # fmt: skip
        for keys in dialogs:
            await app.type(*keys)
            await app.until(lambda: app.app.screen is not app.main)
            assert_harmless(app.screen_text())
            await app.type("escape")
            await app.until(lambda: app.app.screen is app.main)
        assert app.app.is_running
        assert_harmless(app.screen_text())
