"""`serve`: the catalog service and its object store, in the foreground."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.core.paths import absolute

if TYPE_CHECKING:
    from noeira_tui.service.config import ServiceReady

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="D", help="Folder of the service's data.", show_default=False)
]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", metavar="U", help="Another database than SQLite.", show_default=False)
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "serve")(serve)


def service_dir(cli: Cli, data_dir: Path | None) -> Path:
    """Folder of the service's data: `--data-dir`, else the platform's data folder."""
    if data_dir is not None:
        return absolute(data_dir, cli.settings.cwd)
    from platformdirs import user_data_path

    return user_data_path("noeira-tui") / "service"


def serve(
    cli: Cli,
    host: Annotated[str, typer.Option("--host", metavar="H")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="P", help="0 takes a free one.")] = 8787,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    s3_endpoint: Annotated[str | None, typer.Option("--s3-endpoint", metavar="E", show_default=False)] = None,
    s3_bucket: Annotated[str | None, typer.Option("--s3-bucket", metavar="B", show_default=False)] = None,
    s3_region: Annotated[str | None, typer.Option("--s3-region", metavar="R", show_default=False)] = None,
    public_endpoint: Annotated[str | None, typer.Option("--public-endpoint", metavar="E", show_default=False)] = None,
) -> int:
    """Run the catalog service with its own object store (or any S3); prints the two lines to paste into .env.

    Example: noeira-tui serve --port 8787
    """
    with needs_extra("server", "The catalog service"):
        from noeira_tui.service.config import ServiceConfig
        from noeira_tui.service.run import serve as run_service

    folder = service_dir(cli, data_dir)
    config = ServiceConfig(
        data_dir=folder,
        host=host,
        port=port,
        database_url=database_url,
        s3_endpoint=s3_endpoint,
        s3_bucket=s3_bucket,
        s3_region=s3_region,
        public_endpoint=public_endpoint,
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
