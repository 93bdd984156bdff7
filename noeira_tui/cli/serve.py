"""`serve`: the catalog service and its object store, in the foreground."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.core.errors import ConfigError
from noeira_tui.core.paths import absolute

if TYPE_CHECKING:
    from noeira_tui.service.config import ServiceReady

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="D", help="Folder of the service's data.", show_default=False)
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database-url", metavar="U", help="Another database than SQLite.", show_default=False),
]
DATABASE_URL = "NOEIRA_SERVICE_DATABASE_URL"


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "serve")(serve)


def service_dir(cli: Cli, data_dir: Path | None) -> Path:
    """Folder of the service's data: `--data-dir`, else NOEIRA_SERVICE_DATA_DIR, else the platform's data folder."""
    from noeira_tui.overview.ownservice import service_dir as usual

    return usual(os.environ, cli.settings.cwd) if data_dir is None else absolute(data_dir, cli.settings.cwd)


def service_database(cli: Cli, data_dir: Path | None, database_url: str | None) -> str:
    """Address of a service's database: named, else in its folder. Raises ConfigError when there is no such folder."""
    with needs_extra("server", "The service's database"):
        from noeira_tui.service.config import database_url_of

    named = database_url or (os.environ.get(DATABASE_URL, "").strip() if data_dir is None else "")
    if named:
        return named
    folder = service_dir(cli, data_dir)
    if not folder.is_dir():
        raise ConfigError(
            f"There is no service in {folder}.",
            hint="Start it once with `noeira-tui serve`, or name its folder with --data-dir.",
        )
    return database_url_of(folder)


def serve(
    cli: Cli,
    host: Annotated[str | None, typer.Option("--host", metavar="H", help="127.0.0.1 by default.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="P", help="8787 by default; 0 takes a free one.")
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    s3_endpoint: Annotated[
        str | None, typer.Option("--s3-endpoint", metavar="E", help="An S3 store instead of its own.")
    ] = None,
    s3_bucket: Annotated[str | None, typer.Option("--s3-bucket", metavar="B")] = None,
    s3_region: Annotated[str | None, typer.Option("--s3-region", metavar="R", help="`auto` for R2.")] = None,
    s3_style: Annotated[
        str | None, typer.Option("--s3-style", metavar="S", help="Where the bucket is named: path (default) or host.")
    ] = None,
    public_endpoint: Annotated[
        str | None, typer.Option("--public-endpoint", metavar="E", help="The store's address as clients see it.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that answer requests.")
    ] = None,
    log_format: Annotated[str | None, typer.Option("--log-format", metavar="F", help="text (default) or json.")] = None,
) -> int:
    """Run the catalog service with its own object store (or any S3); prints the two lines to paste into .env.

    Every option has a variable, NOEIRA_SERVICE_… (docs/service-settings.md). Example: noeira-tui serve --port 8787
    """
    with needs_extra("server", "The catalog service"):
        from noeira_tui.service.config import ServiceConfig
        from noeira_tui.service.run import serve as run_service

    folder = service_dir(cli, data_dir)
    config = ServiceConfig.load(
        os.environ,
        data_dir=folder,
        host=host,
        port=port,
        workers=workers,
        database_url=database_url,
        s3_endpoint=s3_endpoint,
        s3_bucket=s3_bucket,
        s3_region=s3_region,
        s3_style=s3_style,
        public_endpoint=public_endpoint,
        log_format=log_format,
    )
    cli.output.say(f"starting the catalog service on {folder}")

    def ready(service: ServiceReady) -> None:
        for line in service.lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        cli.output.say(f"ready at {service.url}, objects at {service.store_endpoint}/{service.bucket}")
        cli.output.say(f"the two lines above are kept in {service.client_env}; Ctrl-C stops both")

    run_service(config, ready)
    return 0
