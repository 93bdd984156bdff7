"""The command line: its groups, and errors of use told like every other error."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from noeira_tui import __version__
from noeira_tui.cli import (
    accounts,
    assets,
    catalog,
    dataset,
    demo,
    doctor,
    episodes,
    ingest,
    inspect,
    jobs,
    keys,
    openapp,
    project,
    serve,
    status,
    web,
)
from noeira_tui.cli.command import EnvFileOption, RootOption
from noeira_tui.cli.output import Output
from noeira_tui.core.errors import ConfigError


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="noeira-tui",
        help="What robot-learning data is on this box, what is missing or stale; pull it, push it, mirror it.\n\n"
        "Without a command it opens the app. Example: noeira-tui status --check",
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_entry)
    status.add(app)
    for group in (catalog, project, dataset, assets, episodes, jobs, keys, accounts):
        app.add_typer(group.app())
    inspect.add(app)
    ingest.add(app)
    serve.add(app)
    demo.add(app)
    web.add(app)
    doctor.add(app)
    return app


def _entry(
    ctx: typer.Context,
    read_only: Annotated[bool, typer.Option("--read-only", help="The app without dangerous actions.")] = False,
    root: RootOption = None,
    env_file: EnvFileOption = None,
    version: Annotated[bool, typer.Option("--version", help="The version, and nothing else.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"noeira-tui {__version__}\n")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        raise typer.Exit(openapp.open_app(read_only=read_only, root=root, env_file=env_file))


def run(arguments: list[str]) -> int:
    """Run one call. Wrong use is exit code 2, told as JSON when `--json` was given."""
    try:
        code = build()(arguments, prog_name="noeira-tui", standalone_mode=False)
    except TyperException as err:
        hint = "See `noeira-tui --help`, or a command's own --help."
        Output(json="--json" in arguments).error(ConfigError(err.format_message(), title="Wrong use", hint=hint))
        return err.exit_code
    except typer.Abort:
        return 130
    return code if isinstance(code, int) else 0
