"""The sample box: projects, catalog datasets and packs in every state, on this box and on a service.

Each step is done once (a marker remembers it) and may be interrupted anywhere: doing it again completes it. What a user
changes or removes afterwards stays as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.demo import catalog_files, packs
from noeira_tui.demo.catalog_files import Rollouts
from noeira_tui.demo.lerobot import LeRobotWriter, write_recording
from noeira_tui.demo.motion import PUSHT, SO101
from noeira_tui.demo.uploads import send_recording
from noeira_tui.transfer.part import partial_bytes

if TYPE_CHECKING:
    from noeira_tui.catalog.remote import RemoteCatalog

LIVE = ("so101-tower", "cube-in-bowl")
"""Project and name of the recording that the background recorder goes on with."""

_PROJECTS = {
    "so101-tower": "Stack cubes into a tower with an SO-101",
    "pusht": "Push the T, by hand and by policy",
}
_WANTED = {"so101-tower": ("walker-random-v1",), "pusht": ("g1-walk-v2", "pusht-demos-v3")}
_PARTIAL_SHARE = 0.4
_NOTED_WITHIN_S = 3.0


@dataclass(frozen=True)
class CatalogUploads:
    """The two boxes of the scene: `ours` pulls into the root, `theirs` has pushed what the service holds.

    They differ in what they remember; with one memory, what others pushed would count as ours.
    """

    ours: RemoteCatalog
    theirs: RemoteCatalog


def build(
    root: Path,
    client: CatalogUploads,
    *,
    staging: Path,
    tell: Callable[[str], None] = lambda text: None,
    stop: threading.Event | None = None,
) -> bool:
    """Lay out `root` and fill the service; `staging` takes files on their way. Returns False when `stop` was set."""
    scene = _Scene(root, client, staging)
    steps: tuple[tuple[str, str, Callable[[], None]], ...] = (
        ("projects", "writing two projects", scene.projects),
        ("trial-01", "recording so101-tower/trial-01 and sending it", scene.trial_01),
        ("trial-02", "recording so101-tower/trial-02 and sending half of it", scene.trial_02),
        ("live", "beginning so101-tower/cube-in-bowl", scene.live),
        ("local", "recording pusht/keyboard-01", scene.keyboard_01),
        ("remote", "recording pusht/teleop-01 on another box", scene.teleop_01),
        ("packs", "declaring asset packs", scene.packs),
        ("walker", "catalog: walker-random-v1 (pushed and pulled)", scene.walker_random),
        ("pusht", "catalog: pusht-demos-v3 (pulled, then pushed again by another box)", scene.pusht_demos),
        ("broken", "catalog: walker-broken-v1 (an upload that never completed)", scene.walker_broken),
        ("so101-sim", "catalog: so101-sim-v1 (only on the service)", scene.so101_sim),
        ("so101-grasp", "catalog: so101-grasp-v1 (a pull that was interrupted)", scene.so101_grasp),
        ("g1-walk", "catalog: g1-walk-v2 (150 MB, wanted here and missing)", scene.g1_walk),
    )
    markers = root / ".demo"
    markers.mkdir(parents=True, exist_ok=True)
    for name, story, step in steps:
        if stop is not None and stop.is_set():
            return False
        marker = markers / name
        if not marker.exists():
            tell(story)
            step()
            marker.touch()
    return True


@dataclass(frozen=True)
class _StopAt:
    """A rate limit that stops a transfer to `dest`, as its user would, once so many bytes are there."""

    dest: Path
    size_bytes: int
    progress: Progress
    user: CancelToken

    def take(self, size_bytes: int, cancel: CancelToken) -> None:
        if self.progress.snapshot().bytes_done >= self.size_bytes:
            # A transfer takes note of what it has once a second: what is not noted yet would be fetched again.
            until = time.monotonic() + _NOTED_WITHIN_S
            while not partial_bytes(self.dest) and time.monotonic() < until:
                cancel.sleep(0.05)
            self.user.cancel()
        cancel.check()


@dataclass(frozen=True)
class _Scene:
    root: Path
    client: CatalogUploads
    staging: Path

    def projects(self) -> None:
        for name, description in _PROJECTS.items():
            folder = self.root / "projects" / name
            folder.mkdir(parents=True, exist_ok=True)
            wanted = "".join(f"dataset={dataset}\n" for dataset in _WANTED[name])
            (folder / "project.kv").write_text(f"# A sample project.\ndescription={description}\n{wanted}")
            self.client.theirs.client.put_project(name, description)
        (self.root / "data").mkdir(exist_ok=True)

    def trial_01(self) -> None:
        folder = self._recording("so101-tower", "trial-01")
        write_recording(folder, SO101, episodes=8, seed=100)
        send_recording(self.client.theirs.client, folder)

    def trial_02(self) -> None:
        """A push that was interrupted: the service has the videos of two episodes and no table yet."""
        folder = self._recording("so101-tower", "trial-02")
        write_recording(folder, SO101, episodes=4, seed=200)
        send_recording(
            self.client.theirs.client, folder, only=lambda path: path.endswith(("file-000.mp4", "file-001.mp4"))
        )

    def live(self) -> None:
        writer = LeRobotWriter(self._recording(*LIVE), SO101)
        for number in range(writer.episodes, 3):
            writer.record(40, seed=300 + number)

    def keyboard_01(self) -> None:
        write_recording(self._recording("pusht", "keyboard-01"), PUSHT, episodes=3, seed=400)

    def teleop_01(self) -> None:
        folder = self.staging / "projects/pusht/datasets/teleop-01"
        write_recording(folder, PUSHT, episodes=6, seed=500)
        send_recording(self.client.theirs.client, folder)

    def packs(self) -> None:
        for archive in (packs.so101_meshes(), packs.table_textures()):
            path = self.staging / f"{archive.name}.tar.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.data)
            self.client.theirs.push(path, name=archive.name, version=archive.version)
            path.unlink()
        for environment, text in {"so101": packs.so101_manifest(), "pusht": packs.pusht_manifest()}.items():
            folder = self.root / "envs" / environment
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "assets.kv").write_text(text)
        packs.unpack_by_hand(packs.table_textures(), self.root / "envs/so101/assets/table")

    def walker_random(self) -> None:
        self._push(catalog_files.WALKER_RANDOM)
        self.client.ours.pull(catalog_files.WALKER_RANDOM.id)

    def pusht_demos(self) -> None:
        self._push(catalog_files.PUSHT_DEMOS_OLD)
        self.client.ours.pull(catalog_files.PUSHT_DEMOS_OLD.id)
        self._push(catalog_files.PUSHT_DEMOS_NEW)

    def walker_broken(self) -> None:
        from noeira_tui.catalog.wire import NewDataset

        self.client.theirs.client.register(
            NewDataset("walker-broken", "v1", env_id="Walker2d-v5", n_rows=50_000, n_episodes=50, seed=9)
        )

    def so101_sim(self) -> None:
        self._push(catalog_files.SO101_SIM)

    def so101_grasp(self) -> None:
        from noeira_tui.catalog.remote import RemoteCatalog
        from noeira_tui.transfer.facts import TransferContext

        self._push(catalog_files.SO101_GRASP)
        size = self.client.ours.describe(catalog_files.SO101_GRASP.id).size_bytes or 0
        dest = self.client.ours.settings.data_dir / f"{catalog_files.SO101_GRASP.id}.parquet"
        progress, user = Progress(), CancelToken()
        limit = _StopAt(dest, int(size * _PARTIAL_SHARE), progress, user)
        with RemoteCatalog(self.client.ours.settings, context=TransferContext(limit=limit)) as catalog:
            try:
                catalog.pull(catalog_files.SO101_GRASP.id, dest, progress=progress, cancel=user)
            except CancelledError:
                return

    def g1_walk(self) -> None:
        self._push(catalog_files.G1_WALK)

    def _recording(self, project: str, name: str) -> Path:
        return self.root / "projects" / project / "datasets" / name

    def _push(self, dataset: Rollouts) -> None:
        path = self.staging / f"{dataset.name}.parquet"
        catalog_files.write_rollouts(path, dataset)
        self.client.theirs.push(
            path,
            name=dataset.name,
            version=dataset.version,
            env_id=dataset.env_id,
            n_rows=dataset.rows,
            n_episodes=dataset.episodes,
            seed=dataset.seed,
            source_commit=dataset.source_commit,
            columns="observation,action,reward,done,episode_index,frame_index",
        )
        path.unlink()
