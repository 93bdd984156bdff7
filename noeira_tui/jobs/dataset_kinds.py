"""The kinds of jobs that mirror recordings: push, pull, watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from noeira_tui.core.settings import API_KEY, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.records import JobSpec
from noeira_tui.jobs.specs import spec_of
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.recordings.mirror import Mirror
    from noeira_tui.recordings.outcome import Mirrored


@dataclass(frozen=True)
class DatasetPush:
    """Send what the service lacks of one recording."""

    kind: ClassVar[str] = "dataset-push"
    project: str
    dataset: str
    force: bool = False

    def run(self, work: Work) -> Mirrored:
        from noeira_tui.recordings.push import push

        with _mirror(self, work) as mirror:
            return push(mirror, force=self.force).checked()

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. Raises MissingSettingError when the service is not configured."""
        return _spec(self, settings, "push")


@dataclass(frozen=True)
class DatasetPull:
    """Fetch what is missing or newer of one recording; `create_project` makes its project here first."""

    kind: ClassVar[str] = "dataset-pull"
    project: str
    dataset: str
    create_project: bool = False
    revision: int | None = None
    force: bool = False

    def run(self, work: Work) -> Mirrored:
        from noeira_tui.recordings.fetch import pull_into_project

        with _mirror(self, work) as mirror:
            return pull_into_project(
                mirror, create_project=self.create_project, revision=self.revision, force=self.force
            ).checked()

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. Raises MissingSettingError when the service is not configured."""
        return _spec(self, settings, "pull", str(settings.projects_dir))


@dataclass(frozen=True)
class DatasetWatch:
    """Mirror one recording while it is made."""

    kind: ClassVar[str] = "dataset-watch"
    project: str
    dataset: str
    every_s: float | None = None
    force: bool = False

    def run(self, work: Work) -> Mirrored:
        from noeira_tui.recordings.watch import DEFAULT_EVERY_S, Watch, WatchEvent

        def tell(event: WatchEvent) -> None:
            work.say(event.text)
            work.tell(event)

        with _mirror(self, work) as mirror:
            return Watch(mirror, every_s=self.every_s or DEFAULT_EVERY_S, force=self.force, tell=tell).run().checked()

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached; it takes no slot. Raises MissingSettingError without a service."""
        return _spec(self, settings, "watch", takes_slot=False)


AnyDatasetKind = DatasetPush | DatasetPull | DatasetWatch


@contextmanager
def _mirror(kind: AnyDatasetKind, work: Work) -> Iterator[Mirror]:
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.catalog.retry import PERSISTENT
    from noeira_tui.recordings.mirror import Mirror
    from noeira_tui.recordings.mirror import Work as Shared

    settings = work.settings
    shared = Shared(work.progress, work.cancel, work.context, lambda err: work.say(str(err)))
    with CatalogClient(
        settings.service_url, settings.require(API_KEY), patience=PERSISTENT, sleep=work.cancel.sleep
    ) as client:
        yield Mirror(client, StateDb(settings.state_dir), settings.projects_dir, kind.project, kind.dataset, shared)


def _spec(kind: AnyDatasetKind, settings: Settings, verb: str, folder: str = "", *, takes_slot: bool = True) -> JobSpec:
    target = f"{kind.project}/{kind.dataset}"
    return spec_of(
        kind,
        settings,
        title=f"{verb} {target}",
        target=target,
        service_url=settings.service_url,
        folder=folder,
        takes_slot=takes_slot,
    )
