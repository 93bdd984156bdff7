"""Boxes with a recording each, and one service, for tests of mirroring."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.layout import belongs
from noeira_tui.recordings.mirror import Mirror, Work
from noeira_tui.transfer.facts import ALONE, TransferContext
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_fixture import RunningService

_numbers = count(1)


@dataclass
class MirrorBox:
    """One box: its projects, its state, its connection. A new `mirror()` is a new run of the tool."""

    client: CatalogClient
    place: Path
    project: str
    dataset: str = "trial"
    cancel: CancelToken = field(default_factory=CancelToken)
    progress: Progress = field(default_factory=Progress)
    context: TransferContext = ALONE

    @property
    def folder(self) -> Path:
        return self.place / "projects" / self.project / "datasets" / self.dataset

    def mirror(self) -> Mirror:
        work = Work(self.progress, self.cancel, self.context)
        db = StateDb(self.place / "state")
        return Mirror(self.client, db, self.place / "projects", self.project, self.dataset, work)

    def make_project(self) -> None:
        kv = self.place / "projects" / self.project / "project.kv"
        kv.parent.mkdir(parents=True, exist_ok=True)
        kv.write_text("description=tower\n")

    def record(self, episodes: int = 2, *, seed: int | None = None, finish: bool = True) -> CheckpointingRecorder:
        """A recording made an hour ago, of contents that no other test has."""
        recorder = CheckpointingRecorder(self.folder, seed=next(_numbers) if seed is None else seed)
        for _ in range(episodes):
            recorder.record()
        if finish:
            recorder.finish()
        age(self.folder)
        return recorder


def age(folder: Path, seconds: float = 3600) -> None:
    """Make everything in a folder look as if it had not changed for some time."""
    for path in folder.rglob("*"):
        if path.is_file():
            stamp = path.stat().st_mtime - seconds
            os.utime(path, (stamp, stamp))


def new_box(service: RunningService, place: Path, project: str) -> MirrorBox:
    box = MirrorBox(CatalogClient(service.url, service.key, sleep=lambda seconds: None), place, project)
    box.make_project()
    return box


def new_project() -> str:
    return f"tower-{next(_numbers)}"


def tree(folder: Path) -> dict[str, str]:
    """Everything that belongs to a recording, by path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and belongs(str(path.relative_to(folder)))
    }


def everything(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every name in a folder with its size and times: what a look must not change."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ctime_ns)
        for path in sorted([folder, *folder.rglob("*")])
    }


def on_service(box: MirrorBox, revision: str | None = None) -> dict[str, str | None]:
    """What the service holds, by path: what readers get, or with `working` what was sent so far."""
    answer = box.client.get_recording(box.project, box.dataset, revision)
    return {} if answer is None else {file.path: file.sha256 for file in answer.files}
