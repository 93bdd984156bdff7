"""The app on a real box with a real service: a pack is pulled, a recording pushed and watched, by keys alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.settings import API_KEY, Settings
from noeira_tui.jobs.records import JobState
from noeira_tui.overview.box import Box
from noeira_tui.tui.app import make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.lazy_box import LazyBox
from noeira_tui.tui.rows import Place
from tests.support import pack_archives
from tests.support.recorders import CheckpointingRecorder
from tests.tui.driving import Driver
from tests.tui.fake_box import FakeBox

ARM = "recording:e2e-tower/arm"
PATIENCE_S = 60.0
"""Jobs are processes of their own: on a busy machine they take their time to start."""


@pytest.fixture
def meshes(root: Path) -> Iterator[Path]:
    """A pack that is declared below the root and served on loopback; the folder it goes into."""
    data = pack_archives.zst(pack_archives.tar_of())
    with pack_archives.serving() as server:
        url = server.put("/libero.tar.zst", data)
        pack_archives.declare(root / "projects/e2e-tower", pack_archives.stanza(url, data))
        yield root / "projects/e2e-tower/assets"


@pytest.fixture
def recorder(root: Path) -> CheckpointingRecorder:
    """A project with a recording of two episodes that goes on."""
    project = root / "projects/e2e-tower"
    project.mkdir(parents=True, exist_ok=True)
    (project / "project.kv").write_text("description=Stack cubes\n")
    made = CheckpointingRecorder(project / "datasets/arm")
    made.record()
    made.record()
    return made


def sent(settings: Settings, minimum: int) -> bool:
    """Whether the service tells of that many episodes."""
    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        rows = client.list_recordings("e2e-tower") if "e2e-tower" in {p.slug for p in client.list_projects()} else ()
    return any(row.name == "arm" and (row.n_episodes or 0) >= minimum for row in rows)


async def test_pull_a_pack_push_a_recording_and_watch_it(
    connected: Settings, meshes: Path, recorder: CheckpointingRecorder
) -> None:
    app = make_app(LazyBox(connected), glyphs=SYMBOLS)
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        driver = Driver(app, pilot, FakeBox())

        async def until(true: object, what: str) -> None:
            assert callable(true)
            await driver.until(true, what, deadline_s=PATIENCE_S)

        def row(place: Place, name: str) -> str:
            return next((row.status for row in driver.main.board.all_rows(place) if row.name == name), "")

        await until(lambda: driver.main.board.overview and not driver.main.looking, "a whole look")
        await until(lambda: "1 pack missing" in driver.screen_text(), "the banner")

        await driver.press("3", "p")
        await until(lambda: row(Place.PACKS, "libero@v1") == "current", "the pack is here")
        assert pack_archives.tree(meshes) == pack_archives.MESHES
        await driver.press("v")
        await until(lambda: "libero@v1: every file is as it was installed." in driver.toasts(), "verified")

        await driver.press("1")
        await driver.highlight(ARM)
        await driver.press("u")
        await until(lambda: any(job.state is JobState.DONE and job.spec.kind == "dataset-push"
                                for job in driver.main.board.jobs), "the push is done")  # fmt: skip
        assert await asyncio.to_thread(sent, connected, 2)

        await driver.press("w")
        await until(lambda: driver.status(ARM).endswith("⟲"), "the row says it is watched")
        await until(lambda: "2 of 2 episodes sent" in driver.screen_text(), "the watch tells what is sent")
        await asyncio.to_thread(recorder.record)
        await until(lambda: "3 of 3 episodes sent" in driver.screen_text(), "the new episode is sent by itself")
        assert await asyncio.to_thread(sent, connected, 3)

        await driver.press("w")
        await until(lambda: not driver.status(ARM).endswith("⟲"), "it is no longer watched")
    assert not any(job.is_live for job in Box(connected).jobs())
