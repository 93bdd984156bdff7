"""`g` ingests what is highlighted or marked, as a job whose row tells episodes a second and bytes read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.jobs.records import JobRecord, JobState
from noeira_tui.tui.app import make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.lazy_box import LazyBox
from noeira_tui.tui.rows import Place
from tests.support.episodes_build import takes, write_v3
from tests.tui.driving import Driver, driving
from tests.tui.fake_box import ROOT, FakeBox, job
from tests.tui.judging import Judge

PATIENCE_S = 60.0
"""A job is a process of its own: on a busy machine it takes its time to start."""


async def test_it_starts_one_job_for_what_is_highlighted_or_marked() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight("recording:pusht/teleop-b")
        await app.press("g")
        here = str(ROOT / "projects/pusht/teleop-b")
        await app.until(lambda: app.asked("ingest") == [("ingest", (here,), None)])
        await app.until(lambda: "a job, which goes on without the app" in app.toasts())

        # Not twice at once.
        await app.until(lambda: app.main.board.jobs)
        app.app.clear_notifications()
        await app.press("g")
        await app.until(lambda: "is queued" in app.toasts())
        assert len(app.asked("ingest")) == 1

        await app.press("2")
        await app.highlight("dataset:kitchen-mixed-v1")
        await app.press("space", "home", "space", "g")
        await app.until(lambda: len(app.asked("ingest")) == 2)
        _, uris, _ = app.asked("ingest")[1]
        assert isinstance(uris, tuple) and len(uris) == 2 and "noeira://datasets/kitchen-mixed-v1" in uris
        await app.until(lambda: not app.main.list.marked)


@pytest.mark.parametrize(
    ("place", "key", "told"),
    [
        ("2", "dataset:walker-broken-v1", "there is nothing to ingest"),
        ("1", "project:pusht", "Highlight a recording of pusht"),
        ("3", "", "press 1 or 2"),
    ],
)
async def test_what_cannot_be_ingested_says_why(place: str, key: str, told: str) -> None:
    async with driving() as app:
        await app.press(place)
        if key:
            await app.highlight(key)
        await app.press("g")
        await app.until(lambda: told in app.toasts())
        assert not app.asked("ingest")


def ingest(state: JobState, **progress: object) -> JobRecord:
    running = job(7, "episodes-ingest", "/data/robots/projects/pusht/expert", state)
    return replace(running, progress=ProgressSnapshot(**progress))  # type: ignore[arg-type]


async def test_its_row_tells_episodes_a_second_and_bytes_read() -> None:
    box = FakeBox()
    box.set_jobs(ingest(JobState.RUNNING, items_done=1500, items_total=5000, bytes_done=12_300_000, elapsed_s=5.0,
                        phase="scoring"))  # fmt: skip
    async with driving(box) as app:
        await app.until(lambda: "30 %" in app.screen_text())
        row = next(line for line in app.screen_text().splitlines() if "30 %" in line)
        assert "1,500 of 5,000" in row and "300 episodes/s" in row and "12.3 MB read" in row
        box.set_jobs(ingest(JobState.DONE, items_done=5000, items_total=5000, bytes_done=41_000_000))
        await app.until(lambda: "done · 5,000 episodes · 41.0 MB read" in app.screen_text())


async def test_a_recording_is_ingested_judged_and_rejected_by_keys_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the real box: the job, the catalog it makes, the quality screen, and the file that the mirror carries."""
    folder = write_v3(root / "projects/tower/datasets/cube", takes(6, 40))
    (root / "projects/tower/project.kv").write_text("description=Stack cubes\n")
    app = make_app(LazyBox(Settings.load(root=root)), glyphs=SYMBOLS)
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        driver = Driver(app, pilot, FakeBox())
        judge = Judge(driver)
        await driver.until(lambda: driver.main.board.all_rows(Place.PROJECTS), "a look", deadline_s=PATIENCE_S)
        await driver.press("1")
        await driver.highlight("recording:tower/cube")
        await driver.press("Q")
        await driver.until(lambda: judge.is_open and "No episodes here yet." in judge.shown, deadline_s=PATIENCE_S)
        await driver.press("escape")
        await driver.until(lambda: not judge.is_open)
        await driver.press("g", "Q")
        await driver.until(lambda: judge.is_open, deadline_s=PATIENCE_S)
        # A catalog that has just begun is a table without rows.
        await driver.until(lambda: len(judge.screen.view.rows) == 6, "the catalog", deadline_s=PATIENCE_S)
        await driver.press("X")
        await driver.until(lambda: "Reject 1 episode?" in judge.shown)
        await driver.press("tab", "enter")
        path = folder / "meta/rejected_episodes.json"
        await driver.until(path.exists, "it is written", deadline_s=PATIENCE_S)
        worst = judge.screen.view.episode
        assert worst is not None
        assert path.read_text() == f'{{"rejected_episodes":[{worst.episode_index}]}}\n'
