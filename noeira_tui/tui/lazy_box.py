"""The real box, imported at its first use: in a thread of the app, after the first paint."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.core.progress import CancelToken, Progress
    from noeira_tui.core.settings import Settings
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.box import Box
    from noeira_tui.overview.packfacts import PackFacts
    from noeira_tui.overview.picture import DatasetView, Overview, RecordingView
    from noeira_tui.overview.space import Space


class LazyBox:
    """Implements `BoxLike` for settings; the transfer, catalog and job packages are loaded when they are needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._box: Box | None = None

    @property
    def _real(self) -> Box:
        with self._lock:
            if self._box is None:
                from noeira_tui.overview.box import Box

                self._box = Box(self.settings)
            return self._box

    def use(self, settings: Settings) -> None:
        with self._lock:
            self.settings = settings
            if self._box is not None:
                self._box.use(settings)

    def look(self, *, ask_service: bool = True) -> Overview:
        return self._real.look(ask_service=ask_service)

    def jobs(self) -> tuple[JobRecord, ...]:
        return self._real.jobs()

    def jobs_version(self) -> object:
        return self._real.jobs_version()

    def can_pull(self, dataset: DatasetView) -> str | None:
        return self._real.can_pull(dataset)

    def can_push(self, dataset: DatasetView) -> str | None:
        return self._real.can_push(dataset)

    def pull(self, dataset_id: str, *, force: bool = False) -> JobRecord:
        return self._real.pull(dataset_id, force=force)

    def push(self, dataset: DatasetView) -> JobRecord:
        return self._real.push(dataset)

    def push_as(self, dataset: DatasetView, name: str, version: str) -> JobRecord:
        return self._real.push_as(dataset, name, version)

    def can_pull_recording(self, view: RecordingView) -> str | None:
        return self._real.can_pull_recording(view)

    def can_push_recording(self, view: RecordingView) -> str | None:
        return self._real.can_push_recording(view)

    def can_watch(self, view: RecordingView) -> str | None:
        return self._real.can_watch(view)

    def pull_recording(self, view: RecordingView, *, create_project: bool = False, force: bool = False) -> JobRecord:
        return self._real.pull_recording(view, create_project=create_project, force=force)

    def push_recording(self, view: RecordingView, *, force: bool = False) -> JobRecord:
        return self._real.push_recording(view, force=force)

    def watch(self, view: RecordingView) -> JobRecord:
        return self._real.watch(view)

    def unwatch(self, view: RecordingView) -> JobRecord | None:
        return self._real.unwatch(view)

    def can_pull_pack(self, pack: PackStatus) -> str | None:
        return self._real.can_pull_pack(pack)

    def can_verify_pack(self, pack: PackStatus) -> str | None:
        return self._real.can_verify_pack(pack)

    def pull_packs(self, packs: Sequence[PackStatus] | None = None, *, force: bool = False) -> JobRecord:
        return self._real.pull_packs(packs, force=force)

    def verify_packs(
        self, packs: Sequence[PackStatus], *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> tuple[PackStatus, ...]:
        return self._real.verify_packs(packs, progress=progress, cancel=cancel)

    def pack_details(self, pack: PackStatus) -> PackFacts:
        return self._real.pack_details(pack)

    def row_faults(self, view: RecordingView) -> Mapping[str, str]:
        return self._real.row_faults(view)

    def ingest(self, uris: Sequence[str], *, catalog: str | None = None) -> JobRecord:
        return self._real.ingest(uris, catalog=catalog)

    @property
    def space(self) -> Space:
        return self._real.space

    def pause(self, job_id: int) -> JobRecord:
        return self._real.pause(job_id)

    def resume(self, job_id: int) -> JobRecord:
        return self._real.resume(job_id)

    def cancel(self, job_id: int) -> None:
        self._real.cancel(job_id)

    def retry(self, job_id: int) -> JobRecord:
        return self._real.retry(job_id)

    def log(self, job_id: int) -> str:
        return self._real.log(job_id)

    def close(self) -> None:
        with self._lock:
            if self._box is not None:
                self._box.close()
