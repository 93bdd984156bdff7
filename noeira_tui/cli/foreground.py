"""Work of a command: in this process with a bar, or as a job that goes on alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, overload

from noeira_tui.cli import livebar
from noeira_tui.cli.command import Cli, stoppable
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import process
from noeira_tui.jobs.dataset_kinds import DatasetPull, DatasetPush, DatasetWatch
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.kinds import AnyKind, AssetsPull, CatalogPull, CatalogPush
from noeira_tui.jobs.pack_kinds import AssetsVerify
from noeira_tui.jobs.runner import run_foreground
from noeira_tui.jobs.store import JobStore
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.assets.pull import PacksPulled
    from noeira_tui.assets.status import PacksVerified
    from noeira_tui.catalog.filepush import Pushed
    from noeira_tui.catalog.remote import Pulled
    from noeira_tui.episodes.facts import Ingested
    from noeira_tui.jobs.kinds import AnyOutcome
    from noeira_tui.recordings.outcome import Mirrored
    from noeira_tui.recordings.watch import WatchEvent


@overload
def foreground(cli: Cli, kind: CatalogPull, title: str) -> Pulled: ...
@overload
def foreground(cli: Cli, kind: CatalogPush, title: str) -> Pushed: ...
@overload
def foreground(cli: Cli, kind: AssetsPull, title: str) -> PacksPulled: ...
@overload
def foreground(cli: Cli, kind: AssetsVerify, title: str) -> PacksVerified: ...
@overload
def foreground(cli: Cli, kind: EpisodesIngest, title: str) -> Ingested: ...
@overload
def foreground(
    cli: Cli, kind: DatasetPush | DatasetPull | DatasetWatch, title: str, tell: Callable[[WatchEvent], None] = ...
) -> Mirrored: ...
def foreground(
    cli: Cli, kind: AnyKind, title: str, tell: Callable[[WatchEvent], None] = lambda event: None
) -> AnyOutcome:
    """Do the work here, shown on stderr and recorded as a job; Ctrl-C keeps what was transferred.

    `tell` hears the events of a watch.
    """
    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, title, progress):
        return run_foreground(cli.settings, kind, Work(cli.settings, progress, cancel, say=cli.output.say, tell=tell))


def detached(cli: Cli, kind: AnyKind) -> int:
    """Start the work as a job of its own and print its id."""
    store = JobStore(StateDb(cli.settings.state_dir))
    record = process.start(store, kind.spec(cli.settings))
    if cli.output.json:
        cli.output.data({"job": record.id})
    else:
        cli.output.line(f"job {record.id}: {record.spec.title}; `noeira-tui jobs follow {record.id}` shows it")
    return 0
