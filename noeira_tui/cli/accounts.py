"""`accounts`: the accounts of a service of one's own, and what was done in them."""

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
from noeira_tui.core.quantity import show_size

if TYPE_CHECKING:
    from noeira_tui.service.accounts import AccountFacts, AccountStore


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="accounts", help="Accounts of your own catalog service: they see nothing of each other.")
    command(group, "create")(create)
    command(group, "list")(list_)
    command(group, "audit")(audit)
    return group


def create(
    cli: Cli,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> int:
    """Make an account; `keys create --account NAME` gives somebody access to it.

    Example: noeira-tui accounts create arm-lab
    """
    facts = _store(cli, data_dir, database_url).create(name)
    if cli.output.json:
        cli.output.data(_shape(facts))
    else:
        cli.output.line(f"{facts.name} made")
        cli.output.say(f"it has no key yet: noeira-tui keys create KEY-NAME --account {facts.name}")
    return 0


def list_(cli: Cli, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> int:
    """The accounts and what they hold.

    Example: noeira-tui accounts list --json
    """
    accounts = _store(cli, data_dir, database_url).list()
    if cli.output.json:
        cli.output.data([_shape(facts) for facts in accounts])
        return 0
    rows = [
        (
            literal(facts.name),
            format_time(facts.created_at),
            str(facts.keys),
            str(facts.datasets),
            str(facts.projects),
            show_size(facts.size_bytes),
        )
        for facts in accounts
    ]
    head = ("account", "created", "keys", "datasets", "projects", "stored")
    for line in table(head, rows, right=frozenset({2, 3, 4, 5})):
        cli.output.line(line)
    return 0


def audit(
    cli: Cli,
    account: Annotated[str | None, typer.Option("--account", metavar="A", help="Only this account.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The last N events.")] = 100,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> int:
    """Who registered, completed and deleted what, newest first.

    Example: noeira-tui accounts audit --limit 20
    """
    events = _store(cli, data_dir, database_url).events(account, limit)
    if cli.output.json:
        cli.output.data(
            [
                {
                    "number": event.number,
                    "at": format_time(event.at),
                    "account": event.account,
                    "key_id": event.key_id,
                    "action": event.action,
                    "subject": event.subject,
                    "paths": list(event.paths),
                    "size_bytes": event.size_bytes,
                }
                for event in events
            ]
        )
        return 0
    rows = [
        (
            format_time(event.at),
            literal(event.account),
            event.key_id or "this box",
            event.action,
            literal(event.subject),
            ""
            if not event.paths
            else literal(event.paths[0])
            if len(event.paths) == 1
            else f"{len(event.paths)} files",
            show_size(event.size_bytes) if event.size_bytes is not None else "",
        )
        for event in events
    ]
    for line in table(("at", "account", "key", "did", "to", "files", "size"), rows, right=frozenset({6})):
        cli.output.line(line)
    return 0


def _store(cli: Cli, data_dir: Path | None, database_url: str | None) -> AccountStore:
    with needs_extra("server", "The service's database"):
        from noeira_tui.service.accounts import AccountStore

    return AccountStore(service_database(cli, data_dir, database_url))


def _shape(facts: AccountFacts) -> dict[str, object]:
    return {
        "account": facts.name,
        "created_at": format_time(facts.created_at),
        "keys": facts.keys,
        "datasets": facts.datasets,
        "projects": facts.projects,
        "size_bytes": facts.size_bytes,
    }
