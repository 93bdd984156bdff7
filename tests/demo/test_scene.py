"""The sample box on a real service: every state arises, a second run makes nothing twice, a cut run is completed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.catalog.remote import RemoteCatalog
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from noeira_tui.demo import catalog_files, scene
from noeira_tui.demo.scene import CatalogUploads, build
from noeira_tui.overview.look import look
from tests.support.service_fixture import RunningService, running_service

STATES = {
    "so101-tower/trial-01": State.CURRENT,
    "so101-tower/trial-02": State.AHEAD,
    "so101-tower/cube-in-bowl": State.RECORDING,
    "pusht/keyboard-01": State.LOCAL,
    "pusht/teleop-01": State.REMOTE,
    "walker-random-v1": State.CURRENT,
    "pusht-demos-v3": State.STALE,
    "g1-walk-v2": State.MISSING,
    "walker-broken-v1": State.PENDING,
    "so101-sim-v1": State.REMOTE,
    "so101-grasp-v1": State.PARTIAL,
    "so101-meshes-v2": State.REMOTE,
    "table-textures-v1": State.REMOTE,
    "so101@v2": State.MISSING,
    "table@v1": State.UNVERIFIED,
    "pusht-table@v1": State.INVALID,
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with running_service(tmp_path / "service") as running:
        yield running


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scene with datasets of a hundredth of their size, except the one whose pull is cut."""
    for name in ("WALKER_RANDOM", "PUSHT_DEMOS_OLD", "PUSHT_DEMOS_NEW", "G1_WALK", "SO101_SIM"):
        dataset = getattr(catalog_files, name)
        monkeypatch.setattr(catalog_files, name, replace(dataset, rows=dataset.rows // 100))


class Demo:
    """The scene's folders and its two boxes."""

    def __init__(self, folder: Path, service: RunningService) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.staging = folder / "staging"
        self.stories: list[str] = []
        self.settings = self._settings(folder / "state", service)
        self.other = self._settings(folder / "staging/state", service)

    def _settings(self, state: Path, service: RunningService) -> Settings:
        environ = {**service.environ, "NOEIRA_STATE": str(state), "XDG_CONFIG_HOME": str(self.staging)}
        return Settings.load(root=self.root, cwd=self.root, environ=environ)

    def build(self, stop: threading.Event | None = None) -> bool:
        with RemoteCatalog(self.settings) as ours, RemoteCatalog(self.other) as theirs:
            return build(
                self.root, CatalogUploads(ours, theirs), staging=self.staging, tell=self.stories.append, stop=stop
            )

    def states(self) -> dict[str, State]:
        seen = look(self.settings, settle=True)
        found = {f"{r.project}/{r.dataset}": r.state for project in seen.projects for r in project.recordings}
        found |= {dataset.id: dataset.state for dataset in seen.datasets}
        return found | {f"{pack.pack}@{pack.version}": pack.state for pack in seen.packs}

    def files(self) -> dict[str, int]:
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.stat().st_mtime_ns for path in paths}


@pytest.fixture
def demo(tmp_path: Path, service: RunningService) -> Demo:
    return Demo(tmp_path, service)


def test_every_state_arises_and_a_second_run_touches_nothing(demo: Demo) -> None:
    assert demo.build()
    assert demo.states() == STATES
    files, told = demo.files(), len(demo.stories)
    assert demo.build()
    assert demo.files() == files
    assert len(demo.stories) == told
    assert demo.states() == STATES


class CutError(Exception):
    """Stands for the end of the process."""


def test_a_run_cut_at_any_step_is_completed_by_the_next(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, cuts = Path.touch, 0

    def cut(path: Path) -> None:
        # Before a marker is there (the step's work is done, nobody knows) and right after it: at every step.
        nonlocal cuts
        cuts += 1
        if cuts % 3 != 1:
            keep(path)
        if cuts % 3 != 0:
            raise CutError

    monkeypatch.setattr(Path, "touch", cut)
    runs = 0
    finished = False
    while not finished:
        runs += 1
        try:
            finished = demo.build()
        except CutError:
            continue
    assert runs > len(list((demo.root / ".demo").iterdir())) / 2
    assert demo.states() == STATES


def test_every_step_can_be_done_again(demo: Demo) -> None:
    assert demo.build()
    for marker in (demo.root / ".demo").iterdir():
        marker.unlink()
    assert demo.build()
    assert demo.states() == STATES


def test_what_the_user_removed_stays_removed(demo: Demo) -> None:
    assert demo.build()
    (demo.root / "data/walker-random-v1.parquet").unlink()
    assert demo.build()
    assert demo.states() == STATES | {"walker-random-v1": State.MISSING}


def test_it_stops_between_steps(demo: Demo) -> None:
    stop = threading.Event()
    stop.set()
    assert not demo.build(stop)
    assert demo.stories == []


def test_the_live_recording_is_one_of_the_scene() -> None:
    assert STATES["/".join(scene.LIVE)] is State.RECORDING
