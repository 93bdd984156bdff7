"""`ingest`: every episode of some datasets registered and scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import episode_shapes, livebar
from noeira_tui.cli.command import Cli, command, stoppable
from noeira_tui.cli.extras import require
from noeira_tui.cli.foreground import detached, foreground
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_size
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.episodes.facts import Ingested

CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="DIR_OR_URI",
        help="The catalog of episodes: a folder or s3://bucket/prefix. Default: episodes/ under the root.",
        show_default=False,
    ),
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "ingest")(ingest)


def ingest(
    cli: Cli,
    uris: Annotated[
        list[str], typer.Argument(metavar="URI …", help="Folders, s3://, https://, hf://, noeira://datasets/ID, …")
    ],
    catalog: CatalogOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask cluster, such as tcp://10.0.0.5:8786."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Processes that score; 1 is this one. Default: 1, for large local data one a core.",
            min=1,
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Go on as a job; prints its id.")] = False,
) -> int:
    """Register and score every episode, reading states and actions by ranges, never the videos. Again is free.

    Example: noeira-tui ingest s3://bucket/datasets/pusht --workers 4
    """
    # Found out before anything is done, and not imported before processes were started that do the same.
    require("episodes", "ingest", "deltalake", "xxhash")
    from noeira_tui.episodes.facts import IngestFailedError

    kind = EpisodesIngest.of(uris, cli.settings, catalog=catalog, scheduler=scheduler, workers=workers)
    if detach:
        return detached(cli, kind)
    try:
        outcome = _unrecorded(cli, kind) if kind.has_secrets else foreground(cli, kind, kind.spec(cli.settings).title)
    except IngestFailedError as err:
        outcome = err.outcome
    _tell(cli, outcome)
    return 1 if outcome.failed else 0


def _unrecorded(cli: Cli, kind: EpisodesIngest) -> Ingested:
    """The work without a job's row, which would keep what is secret in an address."""
    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, "ingest", progress):
        return kind.run(Work(cli.settings, progress, cancel, say=cli.output.say))


def _tell(cli: Cli, outcome: Ingested) -> None:
    if cli.output.json:
        cli.output.data(episode_shapes.ingested(outcome))
        return
    rate = f", {outcome.ingested / outcome.elapsed_s:,.0f} episodes/s" if outcome.ingested and outcome.elapsed_s else ""
    cli.output.line(
        f"{outcome.ingested:,} episodes ingested ({outcome.frames:,} frames), {outcome.skipped:,} were there, "
        f"{outcome.failed:,} failed; {show_size(outcome.bytes_read)} read in {outcome.requests:,} requests, "
        f"{outcome.elapsed_s:.2f} s{rate}"
    )
