"""The kind of job that ingests episodes, and the same as one call of the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.paths import absolute
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.redact import redact
from noeira_tui.core.settings import Settings
from noeira_tui.jobs.records import JobSpec
from noeira_tui.jobs.specs import spec_of
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.episodes.facts import Ingested

_SHOWN = 60


@dataclass(frozen=True)
class EpisodesIngest:
    """Ingest datasets, each at an absolute path or an address, into the catalog of episodes at another."""

    kind: ClassVar[str] = "episodes-ingest"
    uris: tuple[str, ...]
    catalog: str
    scheduler: str | None = None
    workers: int | None = None

    @classmethod
    def of(
        cls,
        uris: Sequence[str],
        settings: Settings,
        *,
        catalog: str | None = None,
        scheduler: str | None = None,
        workers: int | None = None,
    ) -> EpisodesIngest:
        """The ingest of datasets as a user names them; without a `catalog` into the one of this root."""
        if workers is not None and workers < 1:
            raise ConfigError("--workers is a number of at least 1.")
        places = tuple(dict.fromkeys(_place(uri, settings) for uri in uris))
        return cls(places, catalog_place(catalog, settings), scheduler, workers)

    @property
    def has_secrets(self) -> bool:
        """Whether an address has something in it that may be a signature or a password: no job row may hold that."""
        return any(redact(uri) != uri for uri in self.uris)

    def run(self, work: Work) -> Ingested:
        """Raises IngestFailedError when some episodes failed; the others are in the catalog."""
        from noeira_tui.episodes.facts import IngestFailedError

        # A command or a job: the process is there for nothing else.
        outcome = self.ingest(work.settings, is_alone=True, progress=work.progress, cancel=work.cancel, say=work.say)
        if outcome.failed:
            for one in outcome.failures[:_SHOWN]:
                work.say(f"{one.uri}{'' if one.episode is None else f', episode {one.episode}'}: {one.error}")
            raise IngestFailedError(outcome)
        return outcome

    def ingest(
        self,
        settings: Settings,
        *,
        executor: Executor | None = None,
        is_alone: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> Ingested:
        """Do it; what failed is in the outcome. `is_alone`: this process exists for it only."""
        from noeira_tui.episodes.ingest import ingest as work
        from noeira_tui.jobs.addresses import resolvers

        return work(
            self.uris,
            catalog=self.catalog,
            workers=self.workers,
            scheduler=self.scheduler,
            executor=executor,
            is_alone=is_alone,
            resolvers=resolvers(settings),
            progress=progress,
            cancel=cancel,
            say=say,
        )

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. Raises MissingSettingError when a dataset's service is not configured, and
        ConfigError for an address that may have a secret in it."""
        if self.has_secrets:
            raise ConfigError(
                "An address with a query or a password in it is not written into a job.",
                hint="Ingest it in the foreground, or by an address that needs none, with credentials in the settings.",
            )
        name = self.uris[0] if len(self.uris) == 1 else f"{len(self.uris)} datasets"
        return spec_of(
            self,
            settings,
            title=f"ingest {name.rstrip('/').rpartition('/')[2] or name}",
            target=self.uris[0] if len(self.uris) == 1 else self.catalog,
            service_url=settings.service_url if any(uri.startswith("noeira://") for uri in self.uris) else None,
        )


def ingest(
    uris: Sequence[str | Path] | str | Path,
    *,
    catalog: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    executor: Executor | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Ingested:
    """Register and score every episode of datasets in a catalog of episodes: `noeira_tui.ingest`.

    `uris` are paths and addresses (`s3://`, `https://`, `noeira://`, …). `catalog` is a folder or an `s3://` address,
    and is `episodes/` under the root when it is not given. The work is done by `executor`, else by the Dask cluster at
    `scheduler`, else by `workers` processes, else in this process; with processes call it from below
    `if __name__ == "__main__":`. Episodes that fail are in the result's `failures`, and the others go on.

    Raises ConfigError, DatasetError and NetworkError for the catalog.
    """
    given = [uris] if isinstance(uris, str | Path) else uris
    found = Settings.load() if settings is None else settings
    kind = EpisodesIngest.of(
        [str(uri) for uri in given],
        found,
        catalog=None if catalog is None else str(catalog),
        scheduler=scheduler,
        workers=workers,
    )
    return kind.ingest(found, executor=executor, progress=progress, cancel=cancel)


def catalog_place(catalog: str | None, settings: Settings) -> str:
    """Where the catalog of episodes is: the one that was named, else `episodes/` under the root."""
    return str(settings.root / "episodes") if catalog is None else _place(catalog, settings)


def _place(uri: str, settings: Settings) -> str:
    from noeira_tui.datasets.source import scheme_of

    if not uri.strip():
        raise ConfigError("An address is empty.", hint="Name a folder or an address such as s3://bucket/dataset.")
    return str(absolute(Path(uri), settings.cwd)) if scheme_of(uri) is None else uri
