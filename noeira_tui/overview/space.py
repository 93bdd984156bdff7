"""`Space`: what can be freed on this box, and freeing it. Every call blocks; all are safe to call from any thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import URL, Settings
from noeira_tui.core.states import UNSENT, State
from noeira_tui.jobs.records import JobRecord, JobState
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.picture import DatasetView, RecordingView

if TYPE_CHECKING:
    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.overview.freeing import Proven

_OVER = frozenset({JobState.DONE, JobState.CANCELLED})
"""What ended like this needs no second look; failed jobs keep their row and log for a retry."""


@dataclass(frozen=True)
class OldJobs:
    """Jobs that are over and done with, and what their logs take."""

    ids: tuple[int, ...]
    size_bytes: int


class Space:
    """Copies that the service holds, the cache of asset packs, logs of old jobs."""

    def __init__(self, settings: Settings, store: JobStore, busy: Callable[[str], str | None]) -> None:
        self._settings = settings
        self._store = store
        self._busy = busy

    def can_free(self, view: DatasetView | RecordingView) -> str | None:
        """None when it is worth proving that the service holds the same bytes, else why not, in words."""
        if self._settings.get(URL) is None:
            return "No service is configured: nothing else holds these bytes."
        here = view.local_bytes is not None if isinstance(view, DatasetView) else view.here
        if not here:
            return "There is no copy of it here."
        if view.state in UNSENT or view.state is State.RECORDING:
            return f"It is {view.state}: the service does not hold these bytes. Push them."
        reasons = {
            State.STALE: "The service has other contents by now: these bytes are nowhere else. Pull the new ones.",
            State.UNKNOWN: "The service could not be asked: nothing is proven.",
            State.PENDING: "Its upload never completed: the service does not hold these bytes. Push them.",
            State.INVALID: "It cannot be read: nothing can be proven of it.",
        }
        if view.state in reasons:
            return reasons[view.state]
        if isinstance(view, DatasetView) and view.path is not None and view.path.is_dir():
            return "A catalog dataset is one file; this is a folder."
        return self._busy(name_of(view))

    def prove(
        self, view: DatasetView | RecordingView, *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> Proven:
        """Hash the copy here and hear the same digests from the service. Raises NoeiraError when they differ."""
        from noeira_tui.overview.freeing import prove_file, prove_recording

        progress, cancel = progress or Progress(), cancel or CancelToken()
        if isinstance(view, DatasetView):
            return prove_file(self._settings, view.id, progress, cancel)
        return prove_recording(self._settings, view.project, view.dataset, progress, cancel)

    def free(self, proven: Proven) -> None:
        """Remove what was proven. Raises DestinationError when it changed meanwhile."""
        from noeira_tui.overview.freeing import free

        free(self._settings, proven)

    def unused_cache(self) -> tuple[CachedPack, ...]:
        """What the cache of asset packs holds that nothing uses. Raises PackError."""
        from noeira_tui.assets.packs import Packs

        return tuple(held for held in Packs(self._settings).cached() if held.may_go)

    def prune_cache(self, chosen: Sequence[CachedPack]) -> int:
        """Remove that, unless somebody uses it by now; the bytes freed. Raises PackError."""
        from noeira_tui.assets.packs import Packs

        return sum(pack.size_bytes for pack in Packs(self._settings).prune(chosen))

    def old_jobs(self) -> OldJobs:
        """The jobs that are over and done with. Raises StateError."""
        ended = [job for job in self._store.list() if job.state in _OVER]
        return OldJobs(tuple(job.id for job in ended), sum(self._log_bytes(job) for job in ended))

    def forget_jobs(self, old: OldJobs) -> int:
        """Remove their rows and logs; how many went. Raises StateError."""
        return len(self._store.remove(old.ids))

    def _log_bytes(self, job: JobRecord) -> int:
        try:
            return self._store.log_path(job.id).stat().st_size
        except OSError:
            return 0


def name_of(view: DatasetView | RecordingView) -> str:
    """What jobs call it."""
    return view.id if isinstance(view, DatasetView) else f"{view.project}/{view.dataset}"
