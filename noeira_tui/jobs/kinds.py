"""The kinds of jobs: what each needs to know, as a frozen fact that becomes its row's JSON, and what it does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, Union

from noeira_tui.core.errors import ConfigError, JobError, PackError
from noeira_tui.core.settings import Settings
from noeira_tui.jobs.dataset_kinds import DatasetPull, DatasetPush, DatasetWatch
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.pack_kinds import AssetsVerify
from noeira_tui.jobs.records import JobSpec
from noeira_tui.jobs.specs import spec_of
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.assets.pull import PacksPulled
    from noeira_tui.assets.status import PackStatus, PacksVerified
    from noeira_tui.catalog.filepush import Pushed
    from noeira_tui.catalog.remote import Pulled
    from noeira_tui.episodes.facts import Ingested
    from noeira_tui.recordings.outcome import Mirrored


@dataclass(frozen=True)
class CatalogPull:
    """Pull one catalog dataset. `dest` is absolute, ending in a slash for a folder; None for the default place."""

    kind: ClassVar[str] = "catalog-pull"
    dataset_id: str
    dest: str | None = None
    force: bool = False

    def run(self, work: Work) -> Pulled:
        from noeira_tui.catalog.remote import RemoteCatalog
        from noeira_tui.catalog.retry import PERSISTENT

        with RemoteCatalog(
            work.settings, context=work.context, patience=PERSISTENT, warn=lambda err: work.say(str(err))
        ) as catalog:
            return catalog.fetch(
                self.dataset_id, self.dest, force=self.force, progress=work.progress, cancel=work.cancel
            )

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. Raises MissingSettingError when the service is not configured."""
        folder = Path(self.dest).parent if self.dest else settings.data_dir
        return _spec(self, settings, f"pull {self.dataset_id}", self.dataset_id, folder)


@dataclass(frozen=True)
class CatalogPush:
    """Push one file into the catalog. `path` is absolute."""

    kind: ClassVar[str] = "catalog-push"
    path: str
    name: str
    version: str = "v1"
    env_id: str | None = None
    n_rows: int | None = None
    n_episodes: int | None = None
    seed: int | None = None
    source_commit: str | None = None
    columns: str | None = None

    def run(self, work: Work) -> Pushed:
        from noeira_tui.catalog.remote import RemoteCatalog
        from noeira_tui.catalog.retry import PERSISTENT

        with RemoteCatalog(
            work.settings, context=work.context, patience=PERSISTENT, warn=lambda err: work.say(str(err))
        ) as catalog:
            return catalog.push(**asdict(self), progress=work.progress, cancel=work.cancel)

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. Raises MissingSettingError when the service is not configured."""
        target = f"{self.name}-{self.version}"
        return _spec(self, settings, f"push {target}", target, None)


@dataclass(frozen=True)
class AssetsPull:
    """Pull some asset packs, each named by the absolute path of its `assets.kv` and its `name@version`.

    `asks_service` tells that the catalog service has one of them.
    """

    kind: ClassVar[str] = "assets-pull"
    packs: tuple[tuple[str, str], ...]
    force: bool = False
    asks_service: bool = False

    @classmethod
    def of(cls, chosen: Iterable[PackStatus], *, force: bool = False) -> Self:
        """The pull of these packs."""
        chosen = tuple(chosen)
        keys = tuple((str(pack.manifest), pack.title) for pack in chosen)
        return cls(keys, force, any(pack.provider == "noeira" for pack in chosen))

    def run(self, work: Work) -> PacksPulled:
        from noeira_tui.assets.packs import Packs

        packs = Packs(work.settings, warn=lambda err: work.say(str(err)))
        wanted = {(manifest, title) for manifest, title in self.packs}
        declared = {(str(pack.manifest), pack.title) for pack in packs.declared()}
        if wanted and not wanted & declared:
            manifest, title = min(wanted)
            raise PackError(f"{title} is not declared in {manifest} any more.", hint="See `noeira-tui assets status`.")
        for manifest, title in sorted(wanted - declared):
            work.say(f"{title} is not declared in {manifest} any more.")
        return packs.pull(
            chosen=wanted,
            force=self.force,
            context=work.context,
            progress=work.progress,
            cancel=work.cancel,
            say=work.say,
        )

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached."""
        title = self.packs[0][1] if len(self.packs) == 1 else f"{len(self.packs)} packs"
        target = ", ".join(title for _, title in self.packs)
        service_url: str | None = None
        if self.asks_service:
            try:
                service_url = settings.service_url
            except ConfigError:
                # Only the packs that need it will fail, and say so.
                service_url = None
        return spec_of(
            self,
            settings,
            title=f"pull {title}",
            target=target,
            service_url=service_url,
            folder=str(settings.cache_dir),
        )


AnyKind = (
    CatalogPull | CatalogPush | AssetsPull | AssetsVerify | DatasetPush | DatasetPull | DatasetWatch | EpisodesIngest
)
"""The work of a job."""
AnyOutcome = Union["Pulled", "Pushed", "PacksPulled", "PacksVerified", "Mirrored", "Ingested"]
"""What it gives."""
_KINDS: dict[str, type[AnyKind]] = {
    kind.kind: kind
    for kind in (
        CatalogPull,
        CatalogPush,
        AssetsPull,
        AssetsVerify,
        DatasetPush,
        DatasetPull,
        DatasetWatch,
        EpisodesIngest,
    )
}
PUSHES = frozenset({CatalogPush.kind, DatasetPush.kind})
"""Kinds that send what only this box has."""


def _spec(kind: CatalogPull | CatalogPush, settings: Settings, title: str, target: str, folder: Path | None) -> JobSpec:
    return spec_of(
        kind,
        settings,
        title=title,
        target=target,
        service_url=settings.service_url,
        folder="" if folder is None else str(folder),
    )


def kind_of(spec: JobSpec) -> AnyKind:
    """The work a row describes. Raises JobError for a row this version cannot read."""
    found = _KINDS.get(spec.kind)
    if found is None:
        raise JobError(f"This version knows no jobs of kind {spec.kind!r}.", hint="Use the version that made it.")
    try:
        return found(**json.loads(spec.params))
    except (ValueError, TypeError) as err:
        raise JobError(f"The parameters of this {spec.kind} job cannot be read: {err}.") from err


def outcome_json(outcome: AnyOutcome) -> str:
    """A kind's outcome as the row's JSON."""
    return json.dumps(asdict(outcome), default=str)
