"""What a fake box has to free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.assets.keep import CachedPack
from noeira_tui.core.errors import VerificationError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.overview.freeing import Proven, ProvenFile, ProvenRecording
from noeira_tui.overview.picture import DatasetView, RecordingView
from noeira_tui.overview.space import OldJobs, name_of
from noeira_tui.transfer.facts import FileStamp

if TYPE_CHECKING:
    from tests.tui.fake_box import FakeBox

NOWHERE = Path("/data/robots")


@dataclass
class FakeSpace:
    """What a fake box has to free."""

    box: FakeBox

    def can_free(self, view: DatasetView | RecordingView) -> str | None:
        if view.state not in {State.CURRENT, State.UNVERIFIED}:
            return f"It is {view.state}: the service does not hold these bytes."
        return self.box.refusals.get(name_of(view))

    def prove(
        self, view: DatasetView | RecordingView, *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> Proven:
        self.box._record(("prove", name_of(view)))
        if progress is not None:
            progress.expect(size_bytes=100)
            progress.advance(43)
        if self.box.hold_proof is not None and cancel is not None:
            while not self.box.hold_proof.wait(0.01):
                cancel.check()
        if name_of(view) in self.box.unproven:
            raise VerificationError("It is not what the service has.", expected="", actual="", hint="Push it first.")
        if isinstance(view, RecordingView):
            stamps = tuple((f"data/file-{number:03}.parquet", None) for number in range(view.files))
            return ProvenRecording(view.project, view.dataset, view.folder or NOWHERE, view.size_bytes or 0, stamps, ())
        return ProvenFile(view.id, view.path or NOWHERE, FileStamp(0, 0, view.size_bytes or 0, 0, 0), "")

    def free(self, proven: Proven) -> None:
        self.box._record(("free", proven.name))

    def unused_cache(self) -> tuple[CachedPack, ...]:
        self.box._record(("unused_cache",))
        return self.box.cache

    def prune_cache(self, chosen: Sequence[CachedPack]) -> int:
        self.box._record(("prune_cache", tuple(held.sha256 for held in chosen)))
        return sum(held.size_bytes for held in chosen)

    def old_jobs(self) -> OldJobs:
        ids = tuple(row.id for row in self.box.rows if row.state in {JobState.DONE, JobState.CANCELLED})
        return OldJobs(ids, 1200 * len(ids))

    def forget_jobs(self, old: OldJobs) -> int:
        self.box._record(("forget_jobs", old.ids))
        self.box.set_jobs(*(row for row in self.box.rows if row.id not in old.ids))
        return len(old.ids)
