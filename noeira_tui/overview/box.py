"""`Box`: what the app may ask of this box and do on it. Every call blocks; call them from threads of your own."""

from __future__ import annotations

from pathlib import Path

from noeira_tui.core.errors import ConfigError, NoeiraError, StateError
from noeira_tui.core.paths import is_segment
from noeira_tui.core.settings import URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs import process
from noeira_tui.jobs.kinds import AnyKind, CatalogPull, CatalogPush
from noeira_tui.jobs.records import JobRecord
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.look import look
from noeira_tui.overview.picture import DatasetView, Overview

_LOG_TAIL_BYTES = 256 * 1024


class Box:
    """This box, for an interface: the picture, the jobs, and the actions. May be shared between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._store = JobStore(StateDb(settings.state_dir))

    def look(self, *, ask_service: bool = True) -> Overview:
        """The whole picture; without `ask_service` from the last answers only, which is fast."""
        return look(self.settings, ask=ask_service)

    def jobs(self) -> tuple[JobRecord, ...]:
        """All jobs, newest first. Raises StateError."""
        return self._store.list()

    def jobs_version(self) -> object:
        """Something that changes when any job's row does. Raises StateError."""
        self._store.reap()
        return self._store.version()

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
        for what, text in (("name", name), ("version", version)):
            if not is_segment(text):
                raise ConfigError(
                    f"The {what} {text!r} cannot be used.",
                    hint="Use letters, digits, '.', '_' and '-', beginning with a letter or a digit.",
                )
        if dataset.path is None:
            raise ConfigError(f"There is no file of {dataset.id} here.")
        return self.start(CatalogPush(str(dataset.path), name, version))

    def start(self, kind: AnyKind) -> JobRecord:
        """Start work as a job of its own. Raises NoeiraError when it cannot start."""
        return process.start(self._store, kind.spec(self.settings))

    def cancel(self, job_id: int) -> None:
        """Stop a job: ask, wait, then kill. Raises JobError when it is over."""
        process.cancel(self._store, job_id)

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

    def _busy_with(self, target: str) -> str | None:
        try:
            live = [job for job in self._store.list() if job.is_live and job.spec.target == target]
        except StateError:
            return None
        return f"Job {live[0].id} ({live[0].spec.title}) is {live[0].state}." if live else None
