"""What the inspector is told of an episode's quality: by its dataset and number, else by its contents."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.settings import Settings
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.jobs.episode_kinds import ingest
from noeira_tui.jobs.records import JobState
from noeira_tui.recordings.rejected import edit_rejected
from noeira_tui.tui import quality_reading
from noeira_tui.tui.glyphs import ASCII, SYMBOLS
from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.quality_reading import Catalogs, EpisodeQuality
from tests.support.episodes_build import takes, write_v3
from tests.tui.fake_box import FakeBox, job
from tests.tui.inspecting import inspecting


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    write_v3(folder / "cube", takes(4, 40))
    return folder


def told(quality: EpisodeQuality, uri: str, episode: int) -> str | None:
    with Inspector(uri) as inspector:
        lines = quality.lines(uri, inspector.series(episode))
    return None if lines is None else "\n".join("".join(text for text, _ in line) for line in lines)


def test_it_is_found_wherever_it_is_read_from(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.load(root=root, cwd=root, environ={})
    quality = EpisodeQuality(Catalogs(FakeBox(settings=settings)), SYMBOLS)
    here = str(root / "cube")
    assert told(quality, here, 1) is None, "there is no catalog yet"
    ingest([root / "cube"], settings=settings)
    text = told(quality, here, 1)
    assert text is not None, "the catalog was made meanwhile"
    assert text.startswith("quality  ") and "of 10" in text and "state_action_consistency 0." in text
    assert told(quality, f"{here}/", 1) == text

    # A copy elsewhere has the same numbers, under another address.
    shutil.copytree(root / "cube", root / "copy", dirs_exist_ok=True)
    assert told(quality, str(root / "copy"), 1) == text
    write_v3(root / "other", takes(1, 40, seed=5))
    assert told(quality, str(root / "other"), 0) is None
    ingest([root / "other"], settings=settings)
    assert told(quality, str(root / "other"), 0) is not None, "it is read again when it changed"

    edit_rejected(root / "cube", reject=(1,))
    rejected = told(quality, here, 1)
    assert rejected is not None and "rejected" in rejected.splitlines()[0]
    monkeypatch.setattr(quality_reading, "_NEEDED", ("no_such_library",))
    assert told(quality, here, 1) is None


def test_a_damaged_catalog_keeps_no_plot_from_being_shown(root: Path, tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes/catalog.json").write_text("{")
    for table in ("episodes", "quality_scores"):
        (tmp_path / "episodes" / table / "_delta_log").mkdir(parents=True)
    settings = Settings.load(root=tmp_path, cwd=tmp_path, environ={})
    assert told(EpisodeQuality(Catalogs(FakeBox(settings=settings)), ASCII), str(root / "cube"), 0) is None


async def test_the_plot_gets_its_quality_when_an_ingest_ends(root: Path, tmp_path: Path) -> None:
    settings = Settings.load(root=tmp_path, cwd=tmp_path, environ={})
    box = FakeBox(settings=settings)
    running = job(1, "episodes-ingest", str(root / "cube"), JobState.RUNNING)
    box.set_jobs(running)
    async with inspecting(root / "cube", box=box) as looking:
        await looking.go_to(Section.EPISODES)
        await looking.plotted(0)
        assert "quality" not in looking.screen.view.about.text
        ingest([root / "cube"], settings=settings)
        box.set_jobs(replace(running, state=JobState.DONE, finished_at=1.0))
        await looking.until(lambda: "quality  " in looking.screen.view.about.text, "its quality")
