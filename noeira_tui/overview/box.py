"""`Box`: what the app may ask of this box and do on it. Every call blocks; call them from threads of your own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.errors import ConfigError, NoeiraError, PackError, StateError
from noeira_tui.core.paths import is_file, require_segments
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import TO_FETCH, State
from noeira_tui.jobs import process
from noeira_tui.jobs.dataset_kinds import DatasetPull, DatasetPush, DatasetWatch
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.kinds import AnyKind, AssetsPull, CatalogPull, CatalogPush
from noeira_tui.jobs.pack_kinds import AssetsVerify
from noeira_tui.jobs.records import JobRecord, Request
from noeira_tui.jobs.store import JobStore
from noeira_tui.jobs.work import Work
from noeira_tui.overview.look import look
from noeira_tui.overview.packjobs import follow_verification, packs_of
from noeira_tui.overview.picture import DatasetView, Overview, RecordingView
from noeira_tui.overview.space import Space
from noeira_tui.recordings.tablesbeside import TablesBeside

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.overview.packfacts import PackFacts

REREAD_S = 1.0
"""The jobs table is read at least this often, whatever the time of its file says: runners die without writing."""
_LOG_TAIL_BYTES = 256 * 1024


class Box:
    """This box, for an interface: the picture, the jobs, and the actions. May be shared between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._store = JobStore(StateDb(settings.state_dir))
        self._tables = TablesBeside()
        self._seen: tuple[object, float, object] | None = None

    def use(self, settings: Settings) -> None:
        """Go on with these settings, after one of them was changed; running jobs keep theirs."""
        self.settings = settings
        self._store = JobStore(StateDb(settings.state_dir))

    def look(self, *, ask_service: bool = True) -> Overview:
        """The whole picture; without `ask_service` from the last answers only, which is fast."""
        with self._tables.open() as tables:
            return look(self.settings, ask=ask_service, tables=tables)

    def jobs(self) -> tuple[JobRecord, ...]:
        """All jobs, newest first. Raises StateError."""
        return self._store.list()

    def jobs_version(self) -> object:
        """Something that changes when any job's row does, within a second at most. Raises StateError."""
        store, now = self._store, time.monotonic()
        stamp = (store.folder, *store.stamp())
        if self._seen is not None and self._seen[0] == stamp and now - self._seen[1] < REREAD_S:
            # Asked four times a second: a file that was not written needs no opening.
            return self._seen[2]
        store.reap()
        # Another state folder has other jobs, whatever its number.
        version = (store.folder, store.version())
        self._seen = (stamp, now, version)
        return version

    def can_pull(self, dataset: DatasetView) -> str | None:
        """None when a pull makes sense, else why not, in words."""
        if self.settings.get(URL) is None:
            return "No service is configured."
        reasons = {
            State.PENDING: "Its upload never completed: there is nothing to pull yet.",
            State.CURRENT: "It is here and current: nothing to pull.",
            State.LOCAL: "The service does not have it.",
        }
        if dataset.state in reasons:
            return reasons[dataset.state]
        if dataset.status is None and dataset.state is not State.UNKNOWN:
            return "The service does not list it."
        return self._busy_with(dataset.id)

    def can_push(self, dataset: DatasetView) -> str | None:
        """None when a push makes sense, else why not, in words."""
        if self.settings.get(URL) is None:
            return "No service is configured."
        if dataset.path is None or dataset.local_bytes is None:
            return "There is no file of it here to push."
        if dataset.path.is_dir():
            return "A catalog dataset is one file; this is a folder."
        if dataset.state is State.CURRENT:
            return "The service has the same contents already."
        if dataset.state is State.STALE:
            return "The service has newer contents; a push would undo them."
        return self._busy_with(dataset.id)

    def pull(self, dataset_id: str, *, force: bool = False, dest: Path | None = None) -> JobRecord:
        """Start a pull as a job of its own. Raises NoeiraError when it cannot start."""
        return self.start(CatalogPull(dataset_id, None if dest is None else str(dest), force))

    def push(self, dataset: DatasetView) -> JobRecord:
        """Push a dataset's file under the name and version of its row. Raises ConfigError when it has none."""
        if dataset.name is None or dataset.version is None:
            raise ConfigError(f"{dataset.id} is not in the catalog: it needs a name and a version.")
        return self.push_as(dataset, dataset.name, dataset.version)

    def push_as(self, dataset: DatasetView, name: str, version: str) -> JobRecord:
        """Push a dataset's file as `<name>-<version>`. Raises ConfigError for a bad name or version."""
        require_segments(name=name, version=version)
        if dataset.path is None:
            raise ConfigError(f"There is no file of {dataset.id} here.")
        return self.start(CatalogPush(str(dataset.path), name, version))

    # Recordings

    def can_pull_recording(self, view: RecordingView) -> str | None:
        """None when a pull makes sense, else why not, in words."""
        if self.settings.get(URL) is None:
            return "No service is configured."
        if not view.on_service:
            return "The service does not have it."
        reasons = {
            State.PENDING: "None of its files was uploaded completely: there is nothing to pull yet.",
            State.CURRENT: "It is here and current: nothing to pull.",
            State.RECORDING: "It is being recorded right now: a pull would write between the recorder's files.",
        }
        if view.state in reasons:
            return reasons[view.state]
        if view.state is State.AHEAD and not view.behind:
            return "Only this box has newer files: nothing to pull. Push them."
        return self._busy_with(f"{view.project}/{view.dataset}")

    def can_push_recording(self, view: RecordingView) -> str | None:
        """None when a push makes sense, else why not, in words."""
        reason = self._no_sending(view)
        if reason is not None:
            return reason
        if view.state is State.CURRENT:
            return "The service has the same contents already."
        if view.state is State.STALE:
            return "The service has newer contents; there is nothing to push."
        return self._busy_with(f"{view.project}/{view.dataset}")

    def can_watch(self, view: RecordingView) -> str | None:
        """None when a watch can be switched on or off, else why not, in words."""
        if self._watch_of(view) is not None:
            return None
        return self._no_sending(view) or self._busy_with(f"{view.project}/{view.dataset}")

    def pull_recording(self, view: RecordingView, *, create_project: bool = False, force: bool = False) -> JobRecord:
        """Fetch what is missing or newer; `create_project` makes its project here first. Raises NoeiraError."""
        return self.start(DatasetPull(view.project, view.dataset, create_project=create_project, force=force))

    def push_recording(self, view: RecordingView, *, force: bool = False) -> JobRecord:
        """Send what the service lacks; `force` replaces what differs there. Raises NoeiraError."""
        return self.start(DatasetPush(view.project, view.dataset, force=force))

    def watch(self, view: RecordingView) -> JobRecord:
        """Mirror a recording while it is made; the watch that runs already, if one does. Raises NoeiraError."""
        return self._watch_of(view) or self.start(DatasetWatch(view.project, view.dataset))

    def unwatch(self, view: RecordingView) -> JobRecord | None:
        """End the watch of a recording; None when there was none. Raises JobError when it ended by itself just now."""
        found = self._watch_of(view)
        if found is not None:
            self.cancel(found.id)
        return found

    # Asset packs

    def can_pull_pack(self, pack: PackStatus) -> str | None:
        """None when a pull makes sense, else why not, in words."""
        if pack.state is State.CURRENT:
            return "It is here and current: nothing to pull."
        if pack.state is State.INVALID:
            return f"Its declaration is broken: {pack.detail}"
        return self._works_on(pack)

    def can_verify_pack(self, pack: PackStatus) -> str | None:
        """None when there is something to verify, else why not, in words."""
        return self._works_on(pack) if pack.files else "Nothing of it is installed: there is nothing to verify."

    def pull_packs(self, packs: Sequence[PackStatus] | None = None, *, force: bool = False) -> JobRecord:
        """Fetch and install these packs in one job, else all that are declared and missing, partial or stale.

        Raises PackError when there is nothing to fetch, NoeiraError when the job cannot start.
        """
        chosen = tuple(packs) if packs is not None else self._packs_to_fetch()
        if not chosen:
            raise PackError("Every declared pack is here.", title="Nothing to fetch")
        return self.start(AssetsPull.of(chosen, force=force))

    def verify_packs(
        self, packs: Sequence[PackStatus], *, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> tuple[PackStatus, ...]:
        """Hash every installed file of these packs, as a job that goes on without us; what they are for certain.

        Waits for the job; cancelling stops it. Without a usable state folder it is done here. Raises CancelledError,
        JobError when it failed.
        """
        progress, cancel = progress or Progress(), cancel or CancelToken()
        work = AssetsVerify.of(packs)
        try:
            record = self.start(work)
        except StateError:
            return work.run(Work(self.settings, progress, cancel)).packs
        return follow_verification(self._store, record, progress, cancel)

    def pack_details(self, pack: PackStatus) -> PackFacts:
        """Where a pack comes from, with which credential, and who shares its files. Never raises for the pack."""
        from noeira_tui.overview.packfacts import pack_facts

        return pack_facts(pack, self.settings)

    def row_faults(self, view: RecordingView) -> Mapping[str, str]:
        """What is wrong with the rows of a recording's data files here, by path: their footers against the episodes.

        Never raises for the recording; raises BesideError when the process ended that reads them.
        """
        return self._tables.row_faults(view.folder) if view.folder is not None and view.here else {}

    # Episodes

    def ingest(self, uris: Sequence[str], *, catalog: str | None = None) -> JobRecord:
        """Register and score the episodes of datasets, in one job, in the `catalog` of episodes or this root's.

        Raises NoeiraError when it cannot start.
        """
        return self.start(EpisodesIngest.of(uris, self.settings, catalog=catalog))

    # Space

    @property
    def space(self) -> Space:
        """What can be freed here, and freeing it."""
        return Space(self.settings, self._store, self._busy_with)

    # Jobs

    def start(self, kind: AnyKind) -> JobRecord:
        """Start work as a job of its own. Raises NoeiraError when it cannot start; then there is no job."""
        return process.start(self._store, kind.spec(self.settings), keep_failed=False)

    def cancel(self, job_id: int) -> None:
        """Stop a job: ask, wait, then kill. Raises JobError when it is over."""
        process.cancel(self._store, job_id)

    def pause(self, job_id: int) -> JobRecord:
        """Ask a job to stand still; its slot is free meanwhile. Raises JobError when it is over."""
        return self._store.ask(job_id, Request.PAUSE)

    def resume(self, job_id: int) -> JobRecord:
        """Let a paused job go on. Raises JobError when it is over."""
        return self._store.ask(job_id, Request.NONE)

    def retry(self, job_id: int) -> JobRecord:
        """Start a failed, cancelled or interrupted job again. Raises JobError."""
        return process.retry(self._store, job_id, self._service_url())

    def log(self, job_id: int) -> str:
        """The end of a job's log; empty when it has none."""
        try:
            with self._store.log_path(job_id).open("rb") as stream:
                stream.seek(0, 2)
                stream.seek(max(0, stream.tell() - _LOG_TAIL_BYTES))
                return stream.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as err:
            raise StateError(f"The log of job {job_id} cannot be read: {err.strerror}.") from err

    def close(self) -> None:
        """Nothing is kept open between calls."""

    def _service_url(self) -> str | None:
        try:
            return self.settings.service_url
        except NoeiraError:
            return None

    def _no_sending(self, view: RecordingView) -> str | None:
        if self.settings.get(URL) is None:
            return "No service is configured."
        if not view.here:
            return "It is not on this box: there is nothing to send."
        definition = self.settings.projects_dir / view.project / "project.kv"
        if not is_file(definition):
            return f"Its project has no project.kv yet; one line in {definition} will do, such as description=…"
        return None

    def _packs_to_fetch(self) -> tuple[PackStatus, ...]:
        from noeira_tui.assets.packs import Packs

        return tuple(pack for pack in Packs(self.settings).states() if pack.state in TO_FETCH)

    def _live_jobs(self) -> list[JobRecord]:
        """The live jobs of this root; none when they cannot be read."""
        try:
            return [job for job in self._store.list() if job.is_live and job.spec.root == self.settings.root]
        except StateError:
            return []

    def _works_on(self, pack: PackStatus) -> str | None:
        """The job that works on a pack just now, in words."""
        key = (str(pack.manifest), pack.title)
        for job in self._live_jobs():
            if key in packs_of(job.spec):
                return f"Job {job.id} ({job.spec.title}) is {job.state}."
        return None

    def _watch_of(self, view: RecordingView) -> JobRecord | None:
        target = f"{view.project}/{view.dataset}"
        live = (job for job in self._live_jobs() if job.spec.kind == DatasetWatch.kind and job.spec.target == target)
        return next(live, None)

    def _busy_with(self, target: str) -> str | None:
        live = [job for job in self._live_jobs() if job.spec.target == target]
        return f"Job {live[0].id} ({live[0].spec.title}) is {live[0].state}." if live else None
