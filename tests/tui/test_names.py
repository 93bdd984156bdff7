"""Names that have broken screens go through every screen and are shown literally."""

from __future__ import annotations

import pytest

from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobFailure, JobState
from noeira_tui.overview.picture import ProjectView, ServiceView
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import clean
from tests.tui.driving import NARROW, WIDE, driving
from tests.tui.fake_box import WEIRD_NAMES, FakeBox, dataset, job, overview, pack, recording


def weird_box(name: str) -> FakeBox:
    """A box where everything that can have a name has this one."""
    picture = overview(
        box=name,
        service=ServiceView(f"https://{name}", False, error=name, error_title=name, hint=name),
        projects=(
            ProjectView(
                name,
                here=True,
                on_service=False,
                description=name,
                recordings=(recording(name, name, State.INVALID, 3, detail=name, problems=(name,)),),
                wants=(name,),
                problem=name,
            ),
        ),
        datasets=(
            dataset(name, State.MODIFIED, name=name, version=name, detail=name, columns=name, filename=name),
            dataset(f"local {name}", State.LOCAL, detail=name),
        ),
        packs=(pack(name, name, State.MISSING, 5, name),),
        warnings=(name,),
    )
    box = FakeBox(picture=picture, log_text=name)
    box.set_jobs(job(1, "catalog-pull", name, JobState.FAILED, failure=JobFailure(name, name, name)))
    return box


@pytest.mark.parametrize("index", range(len(WEIRD_NAMES)))
async def test_a_name_is_literal_on_every_screen(index: int) -> None:
    name = WEIRD_NAMES[index]
    size = WIDE if index % 2 else NARROW
    shown = clean(name)[:12]
    async with driving(weird_box(name), size=size) as app:
        for place_key, place in (("1", Place.PROJECTS), ("2", Place.CATALOG), ("3", Place.PACKS), ("4", Place.JOBS)):
            await app.press(place_key)
            await app.until(lambda: shown in app.screen_text(), name)
            assert clean(name) in app.names(place)[0]
            await app.press("enter")
            await app.until(lambda: app.app.screen is not app.main)
            await app.until(lambda: shown in app.screen_text(), name)
            await app.press("y", "escape")
            await app.until(lambda: app.app.screen is app.main)
        # The confirmation, the question for a name, the reasons, a filter with it, an error and a toast.
        for keys in (("2", "g", "p"), ("G", "u"), ("D",), ("ctrl+p",), ("?",)):
            await app.press(*keys)
            await app.until(lambda: app.app.screen is not app.main)
            await app.pilot.pause()
            await app.press("escape")
            await app.until(lambda: app.app.screen is app.main)
        app.main.show_error(NoeiraError(name, title=name, hint=name))
        await app.until(lambda: shown in app.screen_text())
        await app.press("escape")
        app.main.tell(name, title=name)
        await app.pilot.pause()
        assert app.app.is_running
        # Whatever reaches the terminal can be encoded, and holds nothing a terminal obeys.
        text = app.screen_text()
        text.encode("utf-8")
        assert not {character for character in text if ord(character) < 32 and character != "\n"}
