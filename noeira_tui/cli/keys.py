"""`keys`: the API keys of a service of one's own; the database has only their hashes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.catalog.wire import format_time
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.cli.literal import literal
from noeira_tui.cli.serve import DatabaseUrl, DataDir, service_database
from noeira_tui.cli.table import table
from noeira_tui.core.errors import ConfigError

if TYPE_CHECKING:
    from noeira_tui.service.keys import KeyFacts, KeyStore


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="keys", help="API keys of your own catalog service.")
    command(group, "create")(create)
    command(group, "list")(list_)
    command(group, "revoke")(revoke)
    return group


def create(
    cli: Cli,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    scope: Annotated[str, typer.Option("--scope", help="read, write or admin.")] = "write",
    project: Annotated[str | None, typer.Option("--project", help="Only this project.", show_default=False)] = None,
    account: Annotated[str, typer.Option("--account", metavar="A", help="The account it belongs to.")] = "default",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> int:
    """Make a key and print it: it is shown this once.

    Example: noeira-tui keys create laptop --scope read
    """
    if scope not in {"read", "write", "admin"}:
        raise ConfigError(f"--scope is {scope!r}; it is read, write or admin.", title="Wrong use")
    facts, secret = _store(cli, data_dir, database_url).create(name, scope, project, account)
    if cli.output.json:
        cli.output.data({**_shape(facts), "key": secret})
    else:
        cli.output.line(secret)
        cli.output.say(f"key {facts.id} for {literal(name)}, scope {facts.scope}; it is not shown again")
    return 0


def list_(
    cli: Cli,
    account: Annotated[str | None, typer.Option("--account", metavar="A", help="Only of this account.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> int:
    """The keys, without their secrets.

    Example: noeira-tui keys list --json
    """
    keys = _store(cli, data_dir, database_url).list(account)
    if cli.output.json:
        cli.output.data([_shape(key) for key in keys])
        return 0
    rows = [
        (
            key.id,
            literal(key.account),
            literal(key.name),
            str(key.scope),
            literal(key.project or "all"),
            format_time(key.created_at),
            "never" if key.last_used_at is None else format_time(key.last_used_at),
            "revoked" if key.revoked else "",
        )
        for key in keys
    ]
    for line in table(("id", "account", "name", "scope", "project", "created", "last used", ""), rows):
        cli.output.line(line)
    return 0


def revoke(
    cli: Cli,
    key_id: Annotated[str, typer.Argument(metavar="ID")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> int:
    """Revoke a key; it is refused from now on.

    Example: noeira-tui keys revoke 3f2a
    """
    facts = _store(cli, data_dir, database_url).revoke(key_id)
    if cli.output.json:
        cli.output.data(_shape(facts))
    else:
        cli.output.line(f"{facts.id} {literal(facts.name)} revoked")
    return 0


def _store(cli: Cli, data_dir: Path | None, database_url: str | None) -> KeyStore:
    with needs_extra("server", "The service's database"):
        from noeira_tui.service.keys import KeyStore

    return KeyStore(service_database(cli, data_dir, database_url))


def _shape(key: KeyFacts) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "scope": str(key.scope),
        "project": key.project,
        "created_at": format_time(key.created_at),
        "last_used_at": None if key.last_used_at is None else format_time(key.last_used_at),
        "revoked": key.revoked,
    }
