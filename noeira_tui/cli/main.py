"""The command line: its groups, and errors of use told like every other error."""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

from noeira_tui import __version__
from noeira_tui.cli.command import EnvFileOption, RootOption
from noeira_tui.cli.output import Output
from noeira_tui.core.errors import ConfigError

COMMANDS = (
    "status",
    "catalog",
    "project",
    "dataset",
    "assets",
    "episodes",
    "jobs",
    "keys",
    "accounts",
    "inspect",
    "ingest",
    "serve",
    "demo",
    "web",
    "doctor",
)
"""Commands and groups of them in the order of the help, each in the module of its name."""
_GROUPS = frozenset({"catalog", "project", "dataset", "assets", "episodes", "jobs", "keys", "accounts"})


def build(names: Collection[str] = COMMANDS) -> typer.Typer:
    """The command line; with `names` only those commands, so that a call does not import what it does not use."""
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
    for name in names:
        module = import_module(f"noeira_tui.cli.{name}")
        if name in _GROUPS:
            app.add_typer(module.app())
        else:
            module.add(app)
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
        from noeira_tui.cli.openapp import open_app

        raise typer.Exit(open_app(read_only=read_only, root=root, env_file=env_file))


def run(arguments: list[str]) -> int:
    """Run one call. Wrong use is exit code 2, told as JSON when `--json` was given."""
    try:
        called = arguments[0] if arguments else ""
        names = (called,) if called in COMMANDS else COMMANDS
        code = build(names)(arguments, prog_name="noeira-tui", standalone_mode=False)
    except TyperException as err:
        hint = "See `noeira-tui --help`, or a command's own --help."
        Output(json="--json" in arguments).error(ConfigError(err.format_message(), title="Wrong use", hint=hint))
        return err.exit_code
    except typer.Abort:
        return 130
    return code if isinstance(code, int) else 0
