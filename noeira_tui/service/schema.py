"""Which state the tables are in, and bringing them to the one this version knows.

Alembic is imported only when there is something to do: every start and every `keys` command looks here.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table, text

from noeira_tui.core.errors import StateError
from noeira_tui.service.tables import Base

HEAD = "0002"
"""The newest step in `migrations/versions`."""

_FIRST = "0001"
_FIRST_STAMP = 1
_LOCK = 0x6E6F65697261
_MIGRATIONS = Path(__file__).parent / "migrations"


def is_current(connection: Connection) -> bool:
    """Whether the database has exactly the tables this version knows."""
    return _step_of(connection) == HEAD


def wait_for_turn(connection: Connection) -> None:
    """Let one process at a time change the tables, until its transaction ends."""
    # SQLite: the transaction was begun with the write lock.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})


def upgrade(connection: Connection, place: str) -> None:
    """Bring the tables up to date inside the connection's transaction; a kill leaves the old ones or the new ones.

    Raises StateError for a database that a newer version wrote, or whose tables are not the ones it claims.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    step = _step_of(connection)
    if step is None and inspect(connection).has_table("schema_version"):
        _check_adoptable(connection, place)
        command.stamp(config, _FIRST)
    elif step is not None and step not in {
        one.revision for one in ScriptDirectory.from_config(config).walk_revisions()
    }:
        raise _newer(place, step)
    command.upgrade(config, "head")
    missing = _missing(connection)
    if missing:
        raise StateError(
            f"{place} lacks {', '.join(missing)}, though its schema says {HEAD}.",
            title="Service database",
            hint="Restore it from a backup.",
        )


def _step_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(select(column("version_num")).select_from(table("alembic_version")))


def _check_adoptable(connection: Connection, place: str) -> None:
    """A database of the time before migrations: refuse a newer one, and add what the last of them added unstamped."""
    stamp = connection.scalar(select(column("version")).select_from(table("schema_version")))
    if stamp is not None and stamp > _FIRST_STAMP:
        raise _newer(place, str(stamp))
    if "unnamed_since" not in {one["name"] for one in inspect(connection).get_columns("blobs")}:
        kind = "TIMESTAMP WITH TIME ZONE" if connection.dialect.name == "postgresql" else "DATETIME"
        connection.execute(text(f"ALTER TABLE blobs ADD COLUMN unnamed_since {kind}"))
        connection.execute(text("CREATE INDEX ix_blobs_unnamed_since ON blobs (unnamed_since)"))


def _missing(connection: Connection) -> list[str]:
    found = inspect(connection)
    there = set(found.get_table_names())
    missing = [f"the table {name}" for name in Base.metadata.tables if name not in there]
    for name, wanted in Base.metadata.tables.items():
        if name in there:
            columns = {one["name"] for one in found.get_columns(name)}
            missing += [f"the column {name}.{one.name}" for one in wanted.columns if one.name not in columns]
    return missing


def _newer(place: str, step: str) -> StateError:
    return StateError(
        f"{place} was written by a newer version (schema {step}, this one knows {HEAD}).",
        title="Service database",
        hint="Upgrade noeira-tui, or use another --data-dir or --database-url.",
    )
