"""The service's database: one code path for SQLite and Postgres, short transactions, errors that say where."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.orm import Session

from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.service.tables import Account, Base, SchemaVersion

SCHEMA_VERSION = 1
DEFAULT_ACCOUNT = "default"
_BUSY_TIMEOUT_MS = 30_000
_WRITES = "noeira_writes"


class Database:
    """Sessions on the service's database. May be shared between threads.

    Raises ConfigError for an address that names no known database, StateError for one that cannot be used.
    """

    def __init__(self, url: str) -> None:
        try:
            self._url = make_url(url)
            self.is_sqlite = self._url.get_backend_name() == "sqlite"
            self._engine = create_engine(
                self._url,
                pool_pre_ping=not self.is_sqlite,
                # Errors are logged, and what a statement carries is nobody's business there.
                hide_parameters=True,
                **self._options(),
            )
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as err:
            raise ConfigError(
                f"The database address is not usable: {err}.", hint="Check --database-url; it begins with sqlite:///."
            ) from err
        # Writers of this process take turns here: SQLite would make them poll for each other's lock.
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            _prepare_sqlite(self._engine)

    def _options(self) -> dict[str, Any]:
        return {"pool_size": 48, "max_overflow": 0} if self.is_sqlite else {"pool_size": 20, "max_overflow": 20}

    @property
    def place(self) -> str:
        """The address as it may be shown, without a password."""
        return (self._url.database or "") if self.is_sqlite else self._url.render_as_string(hide_password=True)

    def create(self) -> None:
        """Make tables that are missing. Raises StateError for a database written by a newer version."""
        with self._translated():
            Base.metadata.create_all(self._engine)
            try:
                self._stamp()
            except IntegrityError:
                # Another process made them at the same moment.
                self._stamp()

    def _stamp(self) -> None:
        with self.write() as session:
            version = session.scalar(select(SchemaVersion.version))
            if version is None:
                session.add(SchemaVersion(version=SCHEMA_VERSION))
                session.add(Account(name=DEFAULT_ACCOUNT))
            elif version > SCHEMA_VERSION:
                raise StateError(
                    f"{self.place} was written by a newer version (schema {version}, this one knows {SCHEMA_VERSION}).",
                    title="Service database",
                    hint="Upgrade noeira-tui, or use another --data-dir.",
                )

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session to read with; it sees one state of the database."""
        with Session(self._engine, expire_on_commit=False, autoflush=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in a write transaction: committed at the end, rolled back on any error."""
        engine = self._engine.execution_options(**{_WRITES: True})
        with self._turn, Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Translate database errors of a command line's work into StateError."""
        with self._translated():
            yield

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as err:
            raise StateError(
                f"{self.place} cannot be used: {err.orig}.",
                title="Service database",
                hint="Check the folder, its permissions and the address of the database.",
            ) from err


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        # Transactions are begun below, not by the driver, so that writers can take the lock at once.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout = {_BUSY_TIMEOUT_MS}",
            "journal_mode = WAL",
            # A completed row must also survive a power cut.
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
