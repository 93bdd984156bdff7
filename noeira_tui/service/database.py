"""The service's database: one code path for SQLite and Postgres, short transactions, errors that say where."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.service import schema
from noeira_tui.service.tables import Account

DEFAULT_ACCOUNT = "default"
_BUSY_TIMEOUT_MS = 30_000
_WRITES = "noeira_writes"
_ALONE_LOCK = 0x73776565706572


class Database:
    """Sessions on the service's database. May be shared between threads.

    Raises ConfigError for an address that names no known database, StateError for one that cannot be used.
    """

    def __init__(self, url: str) -> None:
        try:
            self._url = _with_driver(make_url(url))
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
                f"The database address is not usable: {err}.",
                hint="Check --database-url: sqlite:///FILE, or postgresql://USER@HOST/NAME with the extra `postgres`.",
            ) from err
        # Writers of this process take turns here: SQLite would make them poll for each other's lock.
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            _prepare_sqlite(self._engine)
        file = self._url.database if self.is_sqlite else None
        self._quick = _QuickRows(Path(file)) if file else None

    def _options(self) -> dict[str, Any]:
        if self.is_sqlite:
            return {"pool_size": 48, "max_overflow": 0}
        # A server that is gone must be noticed: a request waits seconds for it, not minutes.
        return {"pool_size": 10, "max_overflow": 30, "pool_timeout": 15, "connect_args": {"connect_timeout": 5}}

    @property
    def place(self) -> str:
        """The address as it may be shown, without a password."""
        return (self._url.database or "") if self.is_sqlite else self._url.render_as_string(hide_password=True)

    def create(self) -> None:
        """Bring the tables up to date, one process at a time. Raises StateError for those of a newer version."""
        with self._translated():
            with self.read() as session:
                if schema.is_current(session.connection()):
                    return
            with self.write() as session:
                schema.wait_for_turn(session.connection())
                # Another process may have done it meanwhile: the steps that are done are not done again.
                schema.upgrade(session.connection(), self.place)
                if session.scalar(select(Account.pk).limit(1)) is None:
                    session.add(Account(name=DEFAULT_ACCOUNT))

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
    def alone(self) -> Iterator[bool]:
        """Whether this process may do, until the end of the context, what one process at a time does.

        On SQLite the lock on the data folder has decided that already.
        """
        if self.is_sqlite:
            yield True
            return
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            taken = bool(connection.scalar(text("SELECT pg_try_advisory_lock(:number)"), {"number": _ALONE_LOCK}))
            try:
                yield taken
            finally:
                if taken:
                    connection.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": _ALONE_LOCK})

    def first_now(self, sql: str, values: Mapping[str, object]) -> tuple[Any, ...] | None:
        """The first row of a query on SQLite, in microseconds and on the event loop too.

        Raises WouldWaitError where the database has to be waited for: a server always, a file while it is locked.
        """
        if self._quick is None:
            raise WouldWaitError
        try:
            return self._quick.first(sql, values)
        except sqlite3.Error as err:
            raise WouldWaitError from err

    def check(self) -> None:
        """Raise SQLAlchemy's DBAPIError unless the database answers."""
        with self.read() as session:
            session.execute(select(1))

    @property
    def connections(self) -> int:
        """How many connections are in use now."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Translate database errors of a command line's work into StateError."""
        with self._translated():
            yield

    def close(self) -> None:
        self._engine.dispose()
        if self._quick is not None:
            self._quick.close()

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


class WouldWaitError(Exception):
    """The database cannot be asked without waiting for it: ask from a thread."""


class _QuickRows:
    """Single rows of a SQLite file by a read-only connection of its own, which never waits for a lock.

    Writers do not hold up readers of a file with a write-ahead log, so a row takes microseconds: less than handing the
    question to a thread. May be shared between threads; they take turns.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def first(self, sql: str, values: Mapping[str, object]) -> tuple[Any, ...] | None:
        """The first row of a query. Raises sqlite3.Error where it would have to wait, or cannot read at all."""
        with self._turn:
            if self._connection is None:
                address = f"{self._path.absolute().as_uri()}?mode=ro"
                self._connection = sqlite3.connect(address, uri=True, timeout=0, check_same_thread=False)
            row = self._connection.execute(sql, values).fetchone()
        return tuple(row) if row is not None else None

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def trouble_of(err: DBAPIError) -> str | None:
    """What keeps the database from answering for now, in words; None when trying again cannot help.

    Only a lock, a lost connection, a server that starts or stops, and a full disk pass by themselves (or by somebody's
    doing): a column that is missing does not, though drivers report that as an operational error too.
    """
    state = getattr(err.orig, "sqlstate", None)
    words = str(err.orig).lower()
    if state == "53100" or "disk is full" in words or "disk i/o error" in words:
        return "The service's database has no room"
    if state is None and ("is locked" in words or "is busy" in words):
        return "The database is busy"
    if state is not None and state.startswith(("40", "55P03", "53")):
        return "The database is busy"
    lost = state is None and isinstance(err, OperationalError) and type(err.orig).__module__.startswith("psycopg")
    if err.connection_invalidated or lost or (state or "").startswith(("08", "57P")):
        return "The database gives no answer"
    return None


def _with_driver(url: URL) -> URL:
    """`postgres://` and `postgresql://`, as people write them, with the driver of the extra `postgres`."""
    return url.set(drivername="postgresql+psycopg") if url.drivername in {"postgres", "postgresql"} else url


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
